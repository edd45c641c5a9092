//! Profile updates: tells users at once when someone they talk to changes their name, handle or avatar.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt, stream};
use godwit_protocol::UserId;
use godwit_protocol::limits::{USER_UPDATE_CONVERSATIONS_MAX, USER_UPDATE_MEMBERS_MAX, USER_UPDATE_TOLD_MAX};
use godwit_protocol::socket::Event;

use crate::conversations::Conversations;
use crate::model::ConversationState;
use crate::ports::{Delivery, Store, StoreError};

/// Concurrent lookups.
const ASKED_AT_ONCE_MAX: usize = 16;

#[derive(Debug)]
pub struct Profiles {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) delivery: Arc<dyn Delivery>,
}

impl Profiles {
    /// Tells the users who share a conversation that is not large with this user, unless one of the two has blocked the
    /// other. A user who misses the event sees the new profile at the next load.
    pub(crate) async fn announce(&self, user: UserId) {
        if let Err(error) = self.tell(user).await {
            tracing::warn!(%user, %error, "could not announce a changed profile");
        }
    }

    async fn tell(&self, user: UserId) -> Result<(), StoreError> {
        let known = self.acquainted(user).await?;
        let unblocked = stream::iter(known).map(|other| async move {
            Ok::<_, StoreError>((!self.store.is_blocked(user, other).await?).then_some(other))
        });
        let told: Vec<UserId> = unblocked
            .buffered(ASKED_AT_ONCE_MAX)
            .try_filter_map(|other| async move { Ok(other) })
            .try_collect()
            .await?;
        // Reads the profile again: of two concurrent changes, both announce the later one.
        if let Some(user) = self.store.user(user).await?.filter(|_| !told.is_empty()) {
            self.delivery.deliver(&told, &Event::UserUpdated(user.to_public()));
        }
        Ok(())
    }

    /// The other members of the conversations with the latest activity.
    async fn acquainted(&self, user: UserId) -> Result<BTreeSet<UserId>, StoreError> {
        let mut rows = self.store.pinned(user).await?;
        for archived in [false, true] {
            let missing = USER_UPDATE_CONVERSATIONS_MAX.saturating_sub(rows.len());
            if missing > 0 {
                rows.extend(self.store.inbox(user, archived, None, missing).await?);
            }
        }
        rows.truncate(USER_UPDATE_CONVERSATIONS_MAX);
        let mut known = BTreeSet::new();
        for live in self.conversations.get_all(rows.iter().map(|row| row.conversation).collect()).await? {
            let members = live.map(|live| live.read(told_members)).unwrap_or_default();
            for member in members.into_iter().filter(|member| *member != user) {
                if known.len() == USER_UPDATE_TOLD_MAX {
                    return Ok(known);
                }
                known.insert(member);
            }
        }
        Ok(known)
    }
}

/// The members of the conversation, unless it is large.
fn told_members(state: &ConversationState) -> Vec<UserId> {
    let is_told = state.is_whole()
        && state.details.deleted_at.is_none()
        && state.members.len() <= USER_UPDATE_MEMBERS_MAX;
    let members = state.members.iter().filter(|member| is_told && !member.unlisted);
    members.map(|member| member.user_id).collect()
}
