//! Lets connected members of a large conversation follow it: followers get what is delivered there.

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
    /// Lets users follow a conversation of which they were members, each from the first entry that they saw then.
    ///
    /// A removal since then found nobody to unfollow, and a member who cleared the conversation was not concealed anything.
    /// So the memberships are read once more when the users follow. Whatever happens after that read finds them following.
    /// The sockets of users who cannot be looked up are closed: their clients connect again, and neither miss what is
    /// delivered nor get what is not theirs.
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
