//! What the application is told.

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
    /// A change in a conversation. In one conversation each comes exactly once, and `seq` is the one before plus one
    /// (but see [`Update::Reset`]). Own messages come here too, whatever became of the call that sent them.
    Entry(EntryEvent),
    /// A conversation that is new or changed while this client was away, as it is now, without the cursors of its members:
    /// those that moved follow as [`Update::Cursor`], and one that is opened has them all. The entries up to its `head` that
    /// the application does not have follow, unless it is a first start that begins at the head.
    Conversation(Box<Conversation>),
    /// A conversation went away.
    Gone(Gone),
    /// The entries that are missing cannot be had any more: drop what is known of the conversation and load it anew. The
    /// entries after `seq` follow.
    Reset {
        conversation_id: ConversationId,
        seq: Seq,
    },
    /// The same for everything: what follows is as on a first start.
    ResetAll,
    /// What changed before the connection was made has all been given. Comes again after each look for lost events.
    CaughtUp,
    /// Something else changed for the user. Each change comes once, in order; while the client was away only the latest
    /// of each thing.
    Account(AccountEntry),
    /// A member has received or read further. Cursors only move forward: an older one than known means nothing.
    Cursor(CursorEvent),
    /// Dropped when the application is behind.
    Typing(TypingEvent),
    /// Dropped when the application is behind.
    Presence(PresenceEvent),
    /// Somebody has another handle, name or picture. When the application is behind only the latest of each user is given. Not
    /// told of what happened while the client was away: after [`Update::CaughtUp`] look up again whom you show.
    UserUpdated(User),
    Connection(Connection),
}

/// How it stands with the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Connection {
    Connecting,
    /// Signed in. What was missed is being read.
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
    /// The application closed it.
    ByApplication,
    /// The session of the user has ended: sign in again. With the code of the refusal, if there was one.
    SignedOut(Option<ErrorCode>),
    /// The server does not want this client to come back.
    Refused(CloseCode),
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByApplication => f.write_str("it was closed from here"),
            Self::SignedOut(None) => f.write_str("signed out"),
            Self::SignedOut(Some(code)) => write!(f, "signed out ({code})"),
            Self::Refused(code) => f.write_str(code.reason()),
        }
    }
}
