//! Tells a user's devices about changes of the account.

use std::sync::Arc;

use godwit_protocol::UserId;
use godwit_protocol::socket::Event;
use godwit_protocol::sync as wire;

use crate::conversations::Conversations;
use crate::model::{AccountChange, AccountEntry};
use crate::ports::{Delivery, Store, StoreError};
use crate::sight::Sight;

#[derive(Debug)]
pub struct AccountLog {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) delivery: Arc<dyn Delivery>,
}

impl AccountLog {
    /// Sends the entries to the open sockets of each user. The entries are stored already: a device that misses one gets it
    /// from `sync`.
    pub(crate) async fn announce(&self, entries: &[(UserId, AccountEntry)]) {
        for (user, entry) in entries {
            match self.to_wire(*user, entry).await {
                Ok(Some(entry)) => self.delivery.deliver(&[*user], &Event::Account(entry)),
                Ok(None) => {}
                Err(error) => tracing::warn!(%user, %error, "an account entry could not be announced"),
            }
        }
    }

    /// The entry with its current details. `None` if its subject no longer exists.
    pub(crate) async fn to_wire(
        &self,
        user: UserId,
        entry: &AccountEntry,
    ) -> Result<Option<wire::AccountEntry>, StoreError> {
        use wire::AccountChange as Wire;
        let change = match entry.change {
            AccountChange::ConversationListed(conversation_id) => {
                Wire::ConversationListed { conversation_id }
            }
            AccountChange::ConversationGone(conversation_id, reason) => {
                Wire::ConversationGone { conversation_id, reason }
            }
            AccountChange::SettingsChanged(conversation_id) => {
                let settings = self.store.settings(user, conversation_id).await?;
                let Some(live) = self.conversations.get(conversation_id).await? else { return Ok(None) };
                let Some(member) = self.conversations.member(&live, user).await? else { return Ok(None) };
                Wire::MembershipUpdated { conversation_id, membership: member.to_wire(&settings) }
            }
            AccountChange::ReadMoved(conversation_id) => {
                let Some(live) = self.conversations.get(conversation_id).await? else { return Ok(None) };
                let Some(member) = self.conversations.member(&live, user).await? else { return Ok(None) };
                let span = Sight::unread_span(&member);
                let sight = Sight::of(&*self.store, conversation_id, &member, span).await?;
                let unread = live.read(|state| sight.unread(state, &member));
                Wire::ReadMoved { conversation_id, read: member.cursor.read, unread }
            }
            AccountChange::MessageHidden(message_id) => {
                let Some((conversation_id, _)) = self.store.locate(message_id).await? else {
                    return Ok(None);
                };
                Wire::MessageHidden { conversation_id, message_id }
            }
            AccountChange::MessageStarred(message_id) => Wire::MessageStarred { message_id },
            AccountChange::MessageUnstarred(message_id) => Wire::MessageUnstarred { message_id },
            AccountChange::ScheduledUpdated(scheduled_id) => Wire::ScheduledUpdated { scheduled_id },
            AccountChange::ScheduledGone(scheduled_id) => Wire::ScheduledGone { scheduled_id },
            AccountChange::UserBlocked(user_id) => Wire::UserBlocked { user_id },
            AccountChange::UserUnblocked(user_id) => Wire::UserUnblocked { user_id },
            AccountChange::ProfileUpdated => Wire::ProfileUpdated,
            AccountChange::DeviceAdded(device_id) => Wire::DeviceAdded { device_id },
            AccountChange::DeviceRemoved(device_id) => Wire::DeviceRemoved { device_id },
        };
        Ok(Some(wire::AccountEntry { seq: entry.seq, at: entry.at, change }))
    }
}
