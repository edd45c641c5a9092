//! Consent to being added to groups and channels.
//!
//! One function decides it, twice for each request: when a use case checks whom it can add, and on what holds when the
//! users are added. In between, a user may have changed who may add them, blocked another user or left for good.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt, stream};
use godwit_protocol::accounts::MayBeAddedBy;
use godwit_protocol::{ConversationId, ErrorCode, UserId};

use crate::conversations::Conversations;
use crate::model::{User, UserPair};
use crate::ports::{Store, StoreError};

/// Direct conversations that are looked up at the same time.
const LOOKED_UP_AT_ONCE_MAX: usize = 16;

#[derive(Debug, Clone)]
pub(crate) struct Consent {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) conversations: Arc<Conversations>,
}

/// The consent of users to being added by another user.
#[derive(Debug, Default)]
pub(crate) struct Consents {
    /// The users who cannot be added.
    pub(crate) refused: HashMap<UserId, ErrorCode>,
    /// Users who let only contacts add them, and have written to the user who adds them.
    pub(crate) contacts: HashSet<UserId>,
}

impl Consent {
    /// Whether `by` can add each of these users to a conversation, or to a new one. Three reads, and one for each user who
    /// lets only contacts add them.
    pub(crate) async fn of(
        &self,
        by: UserId,
        to: Option<ConversationId>,
        users: &[UserId],
    ) -> Result<Consents, StoreError> {
        let users: Vec<UserId> = users.iter().copied().filter(|user| *user != by).collect();
        if users.is_empty() {
            return Ok(Consents::default());
        }
        let (found, blocked, blockers) = tokio::try_join!(
            self.store.users(&users),
            self.store.blocked_among(by, &users),
            self.store.blockers_among(by, &users)
        )?;
        let blocked: HashSet<UserId> = blocked.into_iter().chain(blockers).collect();
        let asked = found.iter().filter(|user| user.may_be_added_by == MayBeAddedBy::Contacts);
        let contacts = self.contacts_among(by, asked.map(|user| user.id).collect()).await?;
        let found: HashMap<UserId, User> = found.into_iter().map(|user| (user.id, user)).collect();
        let refused = users.into_iter().filter_map(|id| {
            let user = found.get(&id).filter(|user| user.disabled_at.is_none());
            let Some(user) = user else { return Some((id, ErrorCode::NotFound)) };
            if blocked.contains(&id) {
                return Some((id, ErrorCode::Blocked));
            }
            (!user.lets_add(to, contacts.contains(&id))).then_some((id, ErrorCode::NeedsInvite))
        });
        Ok(Consents { refused: refused.collect(), contacts })
    }

    /// The subset of the users who have ever sent `by` a message. Receiving a message does not make its sender a contact.
    pub(crate) async fn contacts_among(
        &self,
        by: UserId,
        users: Vec<UserId>,
    ) -> Result<HashSet<UserId>, StoreError> {
        let looked_up = stream::iter(users).map(|user| async move {
            Ok::<_, StoreError>(self.has_written_to(by, user).await?.then_some(user))
        });
        let looked_up = looked_up.buffer_unordered(LOOKED_UP_AT_ONCE_MAX);
        looked_up.try_filter_map(async |user| Ok(user)).try_collect().await
    }

    async fn has_written_to(&self, by: UserId, user: UserId) -> Result<bool, StoreError> {
        let Some(pair) = UserPair::new(by, user) else { return Ok(false) };
        let Some(direct) = self.store.direct_of(pair).await? else { return Ok(false) };
        let live = self.conversations.get(direct).await?;
        Ok(live.is_some_and(|live| live.read(|state| state.details.writers.contains(&user))))
    }
}

impl User {
    /// Whether the user lets another one add them to this conversation, or to a new one.
    fn lets_add(&self, to: Option<ConversationId>, is_contact: bool) -> bool {
        let lets = match self.may_be_added_by {
            MayBeAddedBy::Everybody => true,
            MayBeAddedBy::Contacts => is_contact,
            MayBeAddedBy::Nobody => false,
        };
        lets && !to.is_some_and(|id| self.refused_groups.contains(&id))
    }
}
