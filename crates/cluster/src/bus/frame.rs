//! A frame: the hints that one node sends another in one message.
//!
//! ```text
//! version (1 byte) │ Frame in postcard │ tag (signature over the receiver and all bytes before)
//! ```

use std::sync::Arc;

use bytes::Bytes;
use godwit_delivery::LessFrame;
use godwit_domain::conversations::StateChange;
use godwit_domain::ports::CursorMove;
use godwit_protocol::{ConversationId, Seq, UserId};
use serde::{Deserialize, Serialize};

use crate::node::NodeId;
use crate::notice::Notice;
use crate::seal::{Seal, TAG_BYTES};

/// The first byte of a frame. A receiver counts a frame of another version as lost.
const VERSION: u8 = 3;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Frame {
    pub(crate) from: NodeId,
    /// Rises by one with each frame from this sender to this receiver. A gap means that a frame was lost.
    pub(crate) number: u64,
    /// Rises with each frame of this sender to any node. A frame whose serial is not above the last one is a replay.
    pub(crate) serial: u64,
    pub(crate) told: Vec<Told>,
}

/// One hint. Socket frames in it are ready to be sent: the receiver reads only to whom they go.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Told {
    /// The new head of a conversation.
    Head(ConversationId, Seq),
    Appended(Arc<StateChange>),
    CursorMoved(CursorMove),
    /// For every socket of these users.
    Frames {
        to: Vec<UserId>,
        frames: Vec<Bytes>,
    },
    /// For the followers of the conversation.
    Followed {
        conversation: ConversationId,
        /// The `seq` of the entry in the first frame. The others follow without gaps.
        first: Seq,
        frames: Vec<Bytes>,
        /// For each frame, the reduced one for users who may not see the subject.
        less: Vec<Option<LessFrame>>,
    },
    /// For the sockets that watch the user.
    Presence {
        user: UserId,
        frame: Bytes,
    },
    Follow {
        /// Each user with the first entry that they see.
        users: Vec<(UserId, Seq)>,
        conversation: ConversationId,
    },
    /// The registry entry of the sender has changed: read it.
    Look,
    /// A notice that could not be sent directly.
    Notice(Notice),
    /// From a node to itself: everything published before this has arrived.
    Echo(u64),
}

impl Frame {
    /// Encodes and signs the frame for a node.
    pub(crate) fn encode(&self, to: NodeId, seal: &Seal) -> Vec<u8> {
        // Encoding these types cannot fail.
        let mut bytes = postcard::to_extend(self, vec![VERSION]).unwrap_or_default();
        bytes.extend(seal.of_frame(to, &bytes));
        bytes
    }

    /// Verifies the signature before it decodes anything.
    pub(crate) fn decode(bytes: &[u8], me: NodeId, seal: &Seal) -> Result<Self, Undecoded> {
        let (signed, tag) = bytes.split_last_chunk::<TAG_BYTES>().ok_or(Undecoded::Unsigned)?;
        if !seal.is_of_frame(tag, me, signed) {
            return Err(Undecoded::Unsigned);
        }
        match signed.split_first() {
            Some((&VERSION, frame)) => postcard::from_bytes(frame).map_err(|_| Undecoded::Foreign),
            _ => Err(Undecoded::Foreign),
        }
    }
}

/// Why a frame cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Undecoded {
    /// No server of this installation has signed it for this node.
    Unsigned,
    /// Another version has encoded it.
    Foreign,
}

impl Told {
    /// The approximate encoded size, to keep frames below their limit.
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
        let (seal, me) = (Seal::new(&[7; 32], ""), NodeId::random());
        let frame = Frame { from: NodeId::random(), number: 5, serial: 9, told };
        let bytes = frame.encode(me, &seal);
        assert_eq!(
            Frame::decode(&bytes, NodeId::random(), &seal),
            Err(Undecoded::Unsigned),
            "for another node"
        );
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_eq!(Frame::decode(&changed, me, &seal), Err(Undecoded::Unsigned), "byte {at}");
        }
        for broken in [&[][..], &[2, 1, 2], &[0; 40], &bytes[..bytes.len() - 1]] {
            assert_eq!(Frame::decode(broken, me, &seal), Err(Undecoded::Unsigned));
        }
        let mut newer = vec![VERSION + 1, 7, 7];
        newer.extend(seal.of_frame(me, &newer));
        assert_eq!(Frame::decode(&newer, me, &seal), Err(Undecoded::Foreign));
        assert_eq!(Frame::decode(&bytes, me, &seal), Ok(frame));
    }
}
