//! The inbox: a user's list of conversations.
//!
//! - this file: opening conversations
//! - [`listing`]: pages in the order of activity and in the order of change; conversations that have left the inbox
//! - [`settings`]: pinning, muting, archiving, drafts; deleting for oneself
//! - [`showing`]: a conversation as one of its members sees it

mod listing;
mod settings;
mod showing;

use std::sync::Arc;

use godwit_protocol::conversations::Conversation as WireConversation;
use godwit_protocol::{ConversationId, UserId};
use thiserror::Error;

use crate::account_log::AccountLog;
use crate::allowances::{Allowances, Amounts, Overspent};
use crate::concealing::Concealing;
use crate::conversations::{AccessError, Conversations};
use crate::model::{Created, InvalidField, Kind, UserPair};
use crate::own_writes::{NotWritten, OwnWrites};
use crate::ports::{ActivityPosition, Clock, Store, StoreError};
use crate::projection::beginning;

use self::showing::Listed;
pub(crate) use self::showing::Marks;

/// What opening a conversation with a stranger takes of the daily allowance.
const ONE_STRANGER: Amounts = Amounts { members: 0, strangers: 1, groups: 0 };

#[derive(Debug)]
pub struct Inbox {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) account_log: Arc<AccountLog>,
    pub(crate) concealing: Arc<Concealing>,
    pub(crate) allowances: Arc<Allowances>,
    pub(crate) own_writes: Arc<OwnWrites>,
    pub(crate) clock: Arc<dyn Clock>,
}

#[derive(Debug, Error)]
pub enum InboxError {
    #[error("no such conversation")]
    NotFound,
    #[error("no such user")]
    NoSuchUser,
    #[error("a conversation needs another user")]
    NotWithSelf,
    #[error("one of you has blocked the other")]
    Blocked,
    #[error("the account is disabled")]
    Disabled,
    #[error("the maximum number of conversations is pinned")]
    TooManyPinned,
    #[error("{reason}")]
    TooOften { reason: String, retry_after_secs: u32 },
    #[error(transparent)]
    Invalid(#[from] InvalidField),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<AccessError> for InboxError {
    fn from(error: AccessError) -> Self {
        match error {
            AccessError::NotFound => Self::NotFound,
            AccessError::Store(error) => Self::Store(error),
        }
    }
}

impl From<NotWritten> for InboxError {
    fn from(error: NotWritten) -> Self {
        match error {
            NotWritten::Disabled => Self::Disabled,
            NotWritten::Store(error) => Self::Store(error),
        }
    }
}

impl From<Overspent> for InboxError {
    fn from(overspent: Overspent) -> Self {
        let reason = overspent.to_string();
        match overspent {
            Overspent::Over { retry_after_secs, .. } => Self::TooOften { reason, retry_after_secs },
            Overspent::Store(error) => error.into(),
        }
    }
}

/// The position after a page of the inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InboxPosition {
    /// After this many pinned conversations.
    Pinned(u32),
    Ordered(ActivityPosition),
}

/// A conversation that was found or created.
#[derive(Debug, Clone, PartialEq)]
pub struct Opened {
    pub conversation: WireConversation,
    pub made: bool,
}

impl Inbox {
    /// Finds or creates the direct conversation with another user. A block does not hide an existing conversation: its
    /// history stays readable.
    pub async fn open_direct(&self, by: UserId, other: UserId) -> Result<Opened, InboxError> {
        let pair = UserPair::new(by, other).ok_or(InboxError::NotWithSelf)?;
        let (id, made) = match self.store.direct_of(pair).await? {
            Some(id) => (id, false),
            None => self.make_direct(by, other, pair).await?,
        };
        Ok(Opened { conversation: self.conversation(by, id).await?, made })
    }

    pub async fn conversation(&self, by: UserId, id: ConversationId) -> Result<WireConversation, InboxError> {
        let (live, member) = self.conversations.of_member(by, id).await?;
        let settings = self.store.settings(by, id).await?;
        let shown =
            self.complete(by, vec![Listed { live, member, settings, opened: true }], Marks::All).await?;
        shown.into_iter().next().ok_or(InboxError::NotFound)
    }

    async fn make_direct(
        &self,
        by: UserId,
        other: UserId,
        pair: UserPair,
    ) -> Result<(ConversationId, bool), InboxError> {
        let peer = self.store.user(other).await?.filter(|user| user.disabled_at.is_none());
        if peer.is_none() {
            return Err(InboxError::NoSuchUser);
        }
        if self.store.is_blocked(by, other).await? {
            return Err(InboxError::Blocked);
        }
        // The other user has never written, because there is no conversation yet.
        self.allowances.spend(by, ONE_STRANGER).await?;
        let new = beginning(self.store.ids(), Kind::Direct(pair), Created::direct(by, pair))?;
        let open = move |store: Arc<dyn Store>| async move { store.open_direct(pair, new).await };
        let opened = self.own_writes.write(by, open).await?;
        match &opened.made {
            Some(notes) => self.account_log.announce(notes).await,
            // A concurrent call has created it first.
            None => self.allowances.give_back(by, ONE_STRANGER).await?,
        }
        Ok((opened.id, opened.made.is_some()))
    }
}
