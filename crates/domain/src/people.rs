//! Finding and blocking people.

use std::sync::Arc;

use godwit_protocol::limits::BLOCKS_PER_USER_MAX;
use godwit_protocol::people::{User as WireUser, UserDetails};
use godwit_protocol::{Timestamp, UserId};
use thiserror::Error;

use crate::account_log::AccountLog;
use crate::bounds::cut;
use crate::conversations::Conversations;
use crate::model::{AccountChange, AccountNote, SearchPrefix, User, UserPair};
use crate::ports::{BlockOutcome, Clock, Delivery, Peers, Store, StoreError};
use crate::presence::Presence;

#[derive(Debug)]
pub struct People {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) account_log: Arc<AccountLog>,
    pub(crate) presence: Arc<Presence>,
    pub(crate) delivery: Arc<dyn Delivery>,
    pub(crate) peers: Arc<dyn Peers>,
    pub(crate) clock: Arc<dyn Clock>,
}

#[derive(Debug, Error)]
pub enum PeopleError {
    #[error("no such user")]
    NotFound,
    #[error("users cannot block themselves")]
    NotWithSelf,
    #[error("the list of blocked users is full")]
    TooManyBlocks,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl People {
    pub async fn user(&self, by: UserId, id: UserId) -> Result<UserDetails, PeopleError> {
        let user = self.existing(id).await?;
        let presence = self.presence.of(by, &user).await?;
        let (blocked, _) = self.store.blocks_between(by, id).await?;
        Ok(UserDetails { user: user.to_public(), presence, blocked })
    }

    /// The users with these ids, without ids that do not exist, sorted by id.
    pub async fn users(&self, ids: &[UserId]) -> Result<Vec<WireUser>, StoreError> {
        let mut users = self.store.users(ids).await?;
        users.retain(|user| user.disabled_at.is_none());
        users.sort_unstable_by_key(|user| user.id);
        users.dedup_by_key(|user| user.id);
        Ok(users.iter().map(User::to_public).collect())
    }

    /// Users whose handle, or a word of whose name, begins with the text. Returns a page after `after`, and the cursor of
    /// the next page.
    pub async fn search(
        &self,
        prefix: &SearchPrefix,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<(Vec<WireUser>, Option<UserId>), StoreError> {
        let users = self.store.search_users(prefix, after, limit).await?;
        let next = if users.len() == limit { users.last().map(|user| user.id) } else { None };
        Ok(user_page(&users, next))
    }

    /// Blocks a user. When this returns, nothing more is delivered from one of the two to the other.
    pub async fn block(&self, by: UserId, other: UserId) -> Result<(), PeopleError> {
        let pair = UserPair::new(by, other).ok_or(PeopleError::NotWithSelf)?;
        self.existing(other).await?;
        let note = self.note(by, AccountChange::UserBlocked(other));
        match self.store.block(by, other, note, BLOCKS_PER_USER_MAX).await? {
            BlockOutcome::Full => return Err(PeopleError::TooManyBlocks),
            BlockOutcome::WasBlocked => {}
            BlockOutcome::Blocked(entry) => self.account_log.announce(&[(by, entry)]).await,
        }
        self.delivery.stop_watching(by, other).await;
        self.delivery.stop_watching(other, by).await;
        if let Some(direct) = self.store.direct_of(pair).await? {
            if let Some(live) = self.conversations.known(direct) {
                live.queue.settle().await;
            }
            self.peers.settle(direct).await;
        }
        Ok(())
    }

    pub async fn unblock(&self, by: UserId, other: UserId) -> Result<(), PeopleError> {
        let note = self.note(by, AccountChange::UserUnblocked(other));
        if let Some(entry) = self.store.unblock(by, other, note).await? {
            self.account_log.announce(&[(by, entry)]).await;
        }
        Ok(())
    }

    /// The users whom a user blocks. Returns a page after `after`, and the cursor of the next page.
    pub async fn blocked(
        &self,
        by: UserId,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<(Vec<WireUser>, Option<UserId>), StoreError> {
        let ids = self.store.blocked_by(by, after, limit).await?;
        let next = if ids.len() == limit { ids.last().copied() } else { None };
        let mut users = self.store.users(&ids).await?;
        users.sort_unstable_by_key(|user| user.id);
        Ok(user_page(&users, next))
    }

    async fn existing(&self, id: UserId) -> Result<User, PeopleError> {
        let user = self.store.user(id).await?.filter(|user| user.disabled_at.is_none());
        user.ok_or(PeopleError::NotFound)
    }

    fn note(&self, user_id: UserId, change: AccountChange) -> AccountNote {
        let at: Timestamp = self.clock.now();
        AccountNote { user_id, at, change }
    }
}

/// Users as others see them, truncated to the size of a page, and the cursor of the next page.
fn user_page(users: &[User], next: Option<UserId>) -> (Vec<WireUser>, Option<UserId>) {
    let mut shown: Vec<WireUser> = users.iter().map(User::to_public).collect();
    let is_cut = cut(&mut shown);
    let last = shown.last().map(|user| user.id);
    (shown, if is_cut { last } else { next })
}
