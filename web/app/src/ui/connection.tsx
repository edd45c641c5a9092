import { CloseCode, type StopReason } from "@godwit/sdk";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { t } from "../i18n/index.js";
import { useSession } from "./context.js";

/** A connection that is lost and made again within this time needs no word. */
const QUIET_MS = 3_000;

/** How it stands with the connection, when there is something to say. */
export function ConnectionLine() {
  const connection = useSession().connection.value;
  const { state } = connection;
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
    connection.state === "stopped"
      ? t(isReplaced(connection.reason) ? "connection.replaced" : "connection.stopped")
      : away && isLong.value
        ? t(hasFailed.value ? "connection.offline" : "connection.connecting")
        : "";
  return (
    <div class={`connection ${text === "" ? "" : "connection-shown"}`} data-state={state} role="status">
      {text}
    </div>
  );
}

/** Another window of the same account took its place. */
function isReplaced(reason: StopReason): boolean {
  return reason.by === "server" && reason.closeCode === CloseCode.REPLACED;
}
