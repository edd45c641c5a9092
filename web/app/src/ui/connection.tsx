import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { t } from "../i18n/index.js";
import { useSession } from "./context.js";

/** A connection that is lost and made again within this time needs no word. */
const QUIET_MS = 3_000;

/** How it stands with the connection, when there is something to say. */
export function ConnectionLine() {
  const { state } = useSession().connection.value;
  const away = state === "offline" || state === "connecting";
  const isLong = useSignal(false);
  /** While it is tried again and again, the line stays as it is. */
  const hasFailed = useSignal(false);
  useEffect(() => {
    if (!away) {
      return;
    }
    const timer = setTimeout(() => (isLong.value = true), QUIET_MS);
    return () => {
      clearTimeout(timer);
      isLong.value = false;
      hasFailed.value = false;
    };
  }, [away]);
  useEffect(() => {
    hasFailed.value ||= state === "offline";
  }, [state]);

  const text =
    state === "stopped"
      ? t("connection.stopped")
      : away && isLong.value
        ? t(hasFailed.value ? "connection.offline" : "connection.connecting")
        : "";
  return (
    <div class={`connection ${text === "" ? "" : "connection-shown"}`} data-state={state} role="status">
      {text}
    </div>
  );
}
