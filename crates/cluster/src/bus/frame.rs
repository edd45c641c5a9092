//! What a node is told through Redis.

use std::sync::Arc;

use bytes::Bytes;
use godwit_delivery::LessFrame;
use godwit_domain::conversations::StateChange;
use godwit_domain::ports::CursorMove;
use godwit_protocol::{ConversationId, Seq, UserId};
use serde::{Deserialize, Serialize};

use crate::node::NodeId;
use crate::notice::Notice;

/// The first byte of a frame. A node that gets one of another version takes it for lost.
const VERSION: u8 = 1;

/// Everything that a node has for another one at a moment.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Frame {
    pub(crate) from: NodeId,
    /// One more than that of the frame before from this node to that one. What is skipped was lost.
    pub(crate) number: u64,
    pub(crate) told: Vec<Told>,
}

/// Frames for sockets are as they go out: the node that gets them looks at who they are for and no further.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Told {
    /// A conversation has come to this entry.
    Head(ConversationId, Seq),
    Appended(Arc<StateChange>),
    CursorMoved(CursorMove),
    /// For every socket of these users.
    Frames {
        to: Vec<UserId>,
        frames: Vec<Bytes>,
    },
    /// For those who follow the conversation.
    Followed {
        conversation: ConversationId,
        frames: Vec<Bytes>,
        /// For each of them what those get who cannot see what it is about.
        less: Vec<Option<LessFrame>>,
    },
    /// For those who watch the user.
    Presence {
        user: UserId,
        frame: Bytes,
    },
    Follow {
        /// Each with the first entry that they see.
        users: Vec<(UserId, Seq)>,
        conversation: ConversationId,
    },
    /// Something that the node says of itself has changed.
    Look,
    /// It could not be told directly.
    Notice(Notice),
    /// Of the node to itself: what was published before has come.
    Echo(u64),
}

impl Frame {
    pub(crate) fn encode(&self) -> Vec<u8> {
        // Nothing in it can fail to be written.
        postcard::to_extend(self, vec![VERSION]).unwrap_or_default()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (version, frame) = bytes.split_first()?;
        if *version == VERSION { postcard::from_bytes(frame).ok() } else { None }
    }
}

impl Told {
    /// About how long it is, for frames not to get too long.
    pub(crate) fn size_bytes(&self) -> usize {
        const EACH: usize = 24;
        let of_frames = |frames: &[Bytes]| frames.iter().map(|frame| frame.len() + EACH).sum::<usize>();
        EACH + match self {
            Self::Frames { to, frames } => to.len() * EACH + of_frames(frames),
            Self::Followed { frames, less, .. } => {
                let of_less = |less: &LessFrame| less.frame.len() + less.unless.size_bytes() + EACH;
                of_frames(frames) + less.iter().flatten().map(of_less).sum::<usize>()
            }
            Self::Presence { frame, .. } => frame.len(),
            Self::Follow { users, .. } => users.len() * EACH,
            Self::Appended(change) => 512 + change.members.len() * 64,
            Self::Head(..) | Self::CursorMoved(_) | Self::Look | Self::Notice(_) | Self::Echo(_) => EACH,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_written_and_read_back() {
        let told = vec![
            Told::Head(ConversationId::new(7), Seq::new(3)),
            Told::Frames { to: vec![UserId::new(1)], frames: vec![Bytes::from_static(b"{}")] },
            Told::Echo(9),
        ];
        let frame = Frame { from: NodeId::random(), number: 5, told };
        let bytes = frame.encode();
        assert_eq!(Frame::decode(&bytes), Some(frame));
        for broken in [&[][..], &[9, 1, 2], &bytes[..bytes.len() - 1]] {
            assert_eq!(Frame::decode(broken), None);
        }
    }
}
