/** What the application is told. */

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

/** One item of the stream of a live session; `switch (update.type)` tells what is in it. */
export type Update =
  /**
   * A change in a conversation. In one conversation each comes exactly once, and `seq` is the one before plus one (but
   * see `reset`). Own messages come here too, whatever became of the call that sent them.
   */
  | { type: "entry"; conversationId: ConversationId; entry: LogEntry }
  /**
   * A conversation that is new or changed while this client was away, as it is now, without the cursors of its members:
   * those that moved follow as `cursor`, and one that is opened has them all. The entries up to its `head` that the
   * application does not have follow, unless it is a first start that begins at the head.
   */
  | { type: "conversation"; conversation: Conversation }
  /** A conversation went away. */
  | { type: "gone"; gone: Gone }
  /**
   * The entries that are missing cannot be had any more: drop what is known of the conversation and load it anew. The
   * entries after `seq` follow.
   */
  | { type: "reset"; conversationId: ConversationId; seq: Seq }
  /** The same for everything: what follows is as on a first start. */
  | { type: "reset_all" }
  /** What changed before the connection was made has all been given. Comes again after each look for lost events. */
  | { type: "caught_up" }
  /** Something else changed for the user. Each change comes once, in order; after an absence only the latest of each. */
  | { type: "account"; entry: AccountEntry }
  /** A member has received or read further. Cursors only move forward: an older one than known means nothing. */
  | { type: "cursor"; cursor: CursorEvent }
  /** Void after `ttl_ms` unless it comes again. Dropped when the application is behind. */
  | { type: "typing"; typing: TypingEvent }
  /** Dropped when the application is behind. */
  | { type: "presence"; presence: PresenceEvent }
  /**
   * Somebody has another handle, name or picture. Dropped when the application is behind, and then `caught_up` comes
   * again; not told of what happened while it was away. So after each `caught_up` look up again whom you show.
   */
  | { type: "user_updated"; user: User }
  /** A message is on its way: sent from here, or found in storage after a reload or in a tab that is gone. */
  | { type: "sending"; unsent: UnsentMessage }
  /** The message is durable. It also comes as an entry, before or after this. */
  | { type: "sent"; clientId: string; message: Message }
  /** The server refused the message for good. It is kept until it is retried or dropped. */
  | { type: "refused"; unsent: UnsentMessage }
  | { type: "connection"; connection: Connection };

/** How it stands with the connection. */
export type Connection =
  | { state: "connecting" }
  /** Signed in. What was missed is being read. */
  | { state: "online" }
  /** Another attempt follows. */
  | { state: "offline"; retryInMs: number; cause: string }
  /** No other attempt follows. Always the last update. */
  | { state: "stopped"; reason: StopReason };

/** Why a live session ended for good. */
export type StopReason =
  /** The application closed it. */
  | { by: "application" }
  /** The session of the user has ended: sign in again. With the code of the refusal, if there was one. */
  | { by: "sign_out"; code: ErrorCode | "unknown" | undefined }
  /** The server does not want this client to come back: the close code says why. */
  | { by: "server"; closeCode: number; cause: string };

/** The live session has ended. What was not sent is kept, and goes with the next session. */
export class StoppedError extends GodwitError {
  override readonly name = "StoppedError";
  readonly temporary = false;

  constructor(readonly reason: StopReason) {
    super(`the session has ended: by ${reason.by}`);
  }
}
