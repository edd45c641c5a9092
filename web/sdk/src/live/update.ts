/** The updates for the application. */

import type {
  AccountEntry,
  Conversation,
  ConversationId,
  CursorEvent,
  ErrorCode,
  Gone,
  LogEntry,
  Message,
  PresenceEvent,
  Seq,
  TypingEvent,
  User,
} from "../api.js";
import { GodwitError } from "../errors.js";
import type { UnsentMessage } from "./sending.js";

/** One item of the stream of a live session, discriminated by `type`. */
export type Update =
  /**
   * A change in a conversation. Each entry of a conversation arrives exactly once, and its `seq` is the previous one plus
   * one (but see `reset`). The user's own messages arrive too, even if the call that sent them failed.
   */
  | { type: "entry"; conversationId: ConversationId; entry: LogEntry }
  /**
   * The current state of a conversation that is new, or that changed while this client was away. It has no cursors of its
   * members: those that moved follow as `cursor`, and a conversation that is requested on its own has all of them. The
   * entries up to its `head` that the application does not have follow, unless this is a first start at the head.
   */
  | { type: "conversation"; conversation: Conversation }
  /** A conversation has left the inbox. */
  | { type: "gone"; gone: Gone }
  /**
   * The missing entries are no longer available: discard the conversation and load it again. The entries after `seq`
   * follow.
   */
  | { type: "reset"; conversationId: ConversationId; seq: Seq }
  /** A reset of everything: the updates of a first start follow. */
  | { type: "reset_all" }
  /** All changes from before the connection have been delivered. Comes again after each check for lost events. */
  | { type: "caught_up" }
  /** Another change for the user. Each arrives once, in order; after an absence only the latest of each subject. */
  | { type: "account"; entry: AccountEntry }
  /** A member has received or read further. Cursors only move forward: ignore one that is older than the known one. */
  | { type: "cursor"; cursor: CursorEvent }
  /** Expires after `ttl_ms` unless it is repeated. Dropped if the application is behind. */
  | { type: "typing"; typing: TypingEvent }
  /** Dropped if the application is behind. */
  | { type: "presence"; presence: PresenceEvent }
  /**
   * A user has changed their handle, name or avatar. Dropped if the application is behind; another `caught_up` then
   * follows. Changes while the client was away are not reported: load the users that you show again after `caught_up`.
   */
  | { type: "user_updated"; user: User }
  /** A message is queued: from a call, or adopted from the storage after a reload or from a closed tab. */
  | { type: "sending"; unsent: UnsentMessage }
  /** The message is durable. It also comes as an entry, before or after this. */
  | { type: "sent"; clientId: string; message: Message }
  /** The server refused the message for good. It is kept until the application retries or drops it. */
  | { type: "refused"; unsent: UnsentMessage }
  | { type: "connection"; connection: Connection };

/** The state of the connection. */
export type Connection =
  | { state: "connecting" }
  /** Signed in. Missed changes are being read. */
  | { state: "online" }
  /** Another attempt follows. */
  | { state: "offline"; retryInMs: number; cause: string }
  /** No other attempt follows. Always the last update. */
  | { state: "stopped"; reason: StopReason };

/** Why a live session ended for good. */
export type StopReason =
  /** The application closed the session. */
  | { by: "application" }
  /** The session of the user has ended: sign in again. `code` is that of the refusal, if there was one. */
  | { by: "sign_out"; code: ErrorCode | "unknown" | undefined }
  /** The server does not want this client to reconnect; see the close code. */
  | { by: "server"; closeCode: number; cause: string };

/** The live session has ended. Unsent messages are kept for the next session. */
export class StoppedError extends GodwitError {
  override readonly name = "StoppedError";
  readonly temporary = false;

  constructor(readonly reason: StopReason) {
    super(`the session has ended: by ${reason.by}`);
  }
}
