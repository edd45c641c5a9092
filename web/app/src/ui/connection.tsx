import { CloseCode, type StopReason } from "@godwit/sdk";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { t } from "../i18n/index.js";
import { useSession } from "./context.js";

/** A lost connection is reported only if it is not restored within this time. */
const QUIET_MS = 3_000;

/** The state of the connection, if there is a problem. */
export function ConnectionLine() {
  const connection = useSession().connection.value;
  const { state } = connection;
  const away = state === "offline" || state === "connecting";
  const isLong = useSignal(false);
  /** Keeps the text stable during repeated attempts. */
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

/** Whether another window of the same account replaced this one. */
function isReplaced(reason: StopReason): boolean {
  return reason.by === "server" && reason.closeCode === CloseCode.REPLACED;
}
