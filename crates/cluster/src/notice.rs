//! Notices: changes that every node must confirm before the caller gets an answer.

use godwit_delivery::Hub;
use godwit_domain::model::Concealed;
use godwit_domain::peers::FromPeers;
use godwit_protocol::socket::CloseCode;
use godwit_protocol::{ConversationId, DeviceId, Seq, UserId};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Notice {
    CloseDevice {
        user: UserId,
        device: DeviceId,
        code: u16,
    },
    CloseUser {
        user: UserId,
        code: u16,
    },
    StopWatching {
        watcher: UserId,
        watched: UserId,
    },
    Unfollow {
        users: Vec<UserId>,
        conversation: ConversationId,
    },
    /// This entry took access or rights away from some users.
    Withdrawn(ConversationId, Seq),
    /// A user has deleted something for themselves.
    Concealed {
        conversation: ConversationId,
        user: UserId,
        concealed: Concealed,
    },
    /// Finish the pending appends to this conversation first.
    Settle(ConversationId),
    SettleAll,
}

impl Notice {
    /// Applies the notice. Returns when it is in effect on this node.
    pub(crate) async fn obey(&self, hub: &Hub, app: &FromPeers) {
        // An unknown code comes from a newer node, and still means that the socket must be closed.
        let reason = |code: u16| CloseCode::from_code(code).unwrap_or(CloseCode::SignedOut);
        match self {
            Self::CloseDevice { user, device, code } => hub.close_device(*user, *device, reason(*code)),
            Self::CloseUser { user, code } => hub.close_user(*user, reason(*code)),
            Self::StopWatching { watcher, watched } => hub.stop_watching(*watcher, *watched),
            Self::Unfollow { users, conversation } => hub.unfollow(users, *conversation),
            Self::Withdrawn(conversation, seq) => app.head(*conversation, *seq),
            Self::Concealed { conversation, user, concealed } => {
                app.concealed(*conversation, *user, *concealed);
                // For a conversation that is fanned out on read, only the hub knows which entries followers may
                // see.
                hub.conceal(&[(*user, concealed.cleared.next())], *conversation);
            }
            Self::Settle(conversation) => app.settle(*conversation).await,
            Self::SettleAll => app.settle_all().await,
        }
    }
}
