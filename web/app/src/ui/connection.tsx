import { t } from "../i18n/index.js";
import { useSession } from "./context.js";

/** How it stands with the connection, when there is something to say. */
export function ConnectionLine() {
  const { state } = useSession().connection.value;
  const text =
    state === "offline"
      ? t("connection.offline")
      : state === "connecting"
        ? t("connection.connecting")
        : state === "stopped"
          ? t("connection.stopped")
          : "";
  return (
    <div class={`connection connection-${state}`} role="status">
      {text}
    </div>
  );
}
