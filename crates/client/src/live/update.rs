//! The updates for the application.

use std::fmt;
use std::time::Duration;

use godwit_protocol::conversations::Conversation;
use godwit_protocol::people::User;
use godwit_protocol::socket::{CloseCode, CursorEvent, EntryEvent, PresenceEvent, TypingEvent};
use godwit_protocol::sync::{AccountEntry, Gone};
use godwit_protocol::{ConversationId, ErrorCode, Seq};

/// One item of the stream of a [`Live`](crate::Live) session.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Update {
    /// A change in a conversation. Each entry of a conversation arrives exactly once, and its `seq` is the previous one plus
    /// one (but see [`Update::Reset`]). The user's own messages arrive too, even if the call that sent them failed.
    Entry(EntryEvent),
    /// The current state of a conversation that is new, or that changed while this client was away. It has no cursors of its
    /// members: those that moved follow as [`Update::Cursor`], and an opened conversation has all of them. The entries up to
    /// its `head` that the application does not have follow, unless this is a first start that begins at the head.
    Conversation(Box<Conversation>),
    /// A conversation has left the inbox.
    Gone(Gone),
    /// The missing entries are no longer available: discard the conversation and load it again. The entries after `seq`
    /// follow.
    Reset {
        conversation_id: ConversationId,
        seq: Seq,
    },
    /// A reset of everything: the updates of a first start follow.
    ResetAll,
    /// All changes from before the connection have been delivered. Comes again after each check for lost events.
    CaughtUp,
    /// Another change for the user. Each change arrives once, in order; of the changes while the client was away, only the
    /// latest of each subject.
    Account(AccountEntry),
    /// A member has received or read further. Cursors only move forward: ignore one that is older than the known one.
    Cursor(CursorEvent),
    /// Dropped if the application is behind.
    Typing(TypingEvent),
    /// Dropped if the application is behind.
    Presence(PresenceEvent),
    /// A user has changed their handle, name or avatar. If the application is behind, it gets only the latest profile of
    /// each user. Changes while the client was away are not reported: load the users that you show again after
    /// [`Update::CaughtUp`].
    UserUpdated(User),
    Connection(Connection),
}

/// The state of the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Connection {
    Connecting,
    /// Signed in. Missed changes are being read.
    Online,
    /// Another attempt follows.
    Offline {
        retry_in: Duration,
        cause: String,
    },
    /// No other attempt follows. Always the last update.
    Stopped(StopReason),
}

/// Why a live session ended for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The application closed the session.
    ByApplication,
    /// The session of the user has ended: sign in again. Contains the code of the refusal, if there was one.
    SignedOut(Option<ErrorCode>),
    /// The server does not want this client to reconnect.
    Refused(CloseCode),
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByApplication => f.write_str("closed by the application"),
            Self::SignedOut(None) => f.write_str("signed out"),
            Self::SignedOut(Some(code)) => write!(f, "signed out ({code})"),
            Self::Refused(code) => f.write_str(code.reason()),
        }
    }
}
