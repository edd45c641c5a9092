//! Lets connected members of a large conversation follow it, so that they get its entries and events.

use std::sync::Arc;

use futures_util::stream::{self, StreamExt};
use godwit_protocol::socket::CloseCode;
use godwit_protocol::{ConversationId, Seq, UserId};

use crate::conversations::Conversations;
use crate::ports::{Delivery, StoreError};

/// Memberships that are looked up at once.
pub(crate) const LOOKED_UP_AT_ONCE_MAX: usize = 16;

#[derive(Debug)]
pub(crate) struct Following {
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) delivery: Arc<dyn Delivery>,
}

impl Following {
    /// Lets users follow a conversation. The caller has read that they are members, and the first entry that each sees.
    ///
    /// A user may have been removed, or have cleared the conversation, between that read and this call, while they were not
    /// followers yet:
    ///
    /// ```text
    /// caller:   read members ──────────────────────▶ follow ──▶ read members again ──▶ unfollow, conceal
    /// removal:                 unfollow (no effect)          later removals find a follower
    /// ```
    ///
    /// So this reads the memberships again after the users follow, and corrects what has changed. If that read fails for a
    /// user, it closes the user's sockets: the client reconnects and catches up.
    pub(crate) async fn follow(
        &self,
        users: &[(UserId, Seq)],
        conversation: ConversationId,
    ) -> Result<(), StoreError> {
        self.delivery.follow(users, conversation);
        let looked_up = stream::iter(users.to_vec()).map(|(user, from)| async move {
            (user, from, self.conversations.stored_member(conversation, user).await)
        });
        let looked_up: Vec<_> = looked_up.buffer_unordered(LOOKED_UP_AT_ONCE_MAX).collect().await;
        let (mut gone, mut see_less, mut outcome) = (Vec::new(), Vec::new(), Ok(()));
        for (user, from, member) in looked_up {
            match member {
                Ok(Some(member)) if member.history_from() == from => {}
                Ok(Some(member)) => see_less.push((user, member.history_from())),
                Ok(None) => gone.push(user),
                Err(error) => {
                    self.delivery.close_user(user, CloseCode::Internal).await;
                    outcome = Err(error);
                }
            }
        }
        self.delivery.conceal(&see_less, conversation);
        if !gone.is_empty() {
            self.delivery.unfollow(gone, conversation).await;
        }
        outcome
    }
}
