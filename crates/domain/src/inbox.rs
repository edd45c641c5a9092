//! The inbox: opening, listing and setting conversations.

use std::collections::HashMap;
use std::sync::Arc;

use godwit_protocol::conversations::{
    Conversation as WireConversation, ConversationKind, LastMessage as WireLastMessage, Membership,
    UpdateMembership,
};
use godwit_protocol::{ConversationId, Seq, UserId};
use thiserror::Error;

use crate::account_log::AccountLog;
use crate::conversations::{AccessError, Conversations, Live};
use crate::model::{
    AccountChange, AccountNote, Change, Conversation, Entry, InvalidField, Kind, Settings, SettingsChange,
    User, UserPair, field,
};
use crate::ports::{Clock, InboxPosition, InboxRow, NewDirect, Store, StoreError};

#[derive(Debug)]
pub struct Inbox {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) account_log: Arc<AccountLog>,
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

/// A conversation that was found or made.
#[derive(Debug, Clone, PartialEq)]
pub struct Opened {
    pub conversation: WireConversation,
    pub made: bool,
}

impl Inbox {
    /// Finds the direct conversation with another user, or makes it. One that exists is found also where one has blocked
    /// the other: its history stays readable.
    pub async fn open_direct(&self, by: UserId, other: UserId) -> Result<Opened, InboxError> {
        let pair = UserPair::new(by, other).ok_or(InboxError::NotWithSelf)?;
        let (id, made) = match self.store.direct_of(pair).await? {
            Some(id) => (id, false),
            None => self.make_direct(by, other, pair).await?,
        };
        Ok(Opened { conversation: self.conversation(by, id).await?, made })
    }

    pub async fn conversation(&self, by: UserId, id: ConversationId) -> Result<WireConversation, InboxError> {
        let live = self.conversations.of_member(by, id).await?;
        let settings = self.store.settings(by, id).await?;
        let rows = self.complete(by, vec![(live, settings)]).await?;
        rows.into_iter().next().ok_or(InboxError::NotFound)
    }

    /// One page, and where the next one begins.
    pub async fn page(
        &self,
        by: UserId,
        archived: bool,
        after: Option<InboxPosition>,
        limit: usize,
    ) -> Result<(Vec<WireConversation>, Option<InboxPosition>), InboxError> {
        let rows = self.store.inbox(by, archived, after, limit).await?;
        let next = if rows.len() == limit { rows.last().map(InboxRow::position) } else { None };
        Ok((self.show(by, &rows).await?, next))
    }

    /// Pins, mutes, archives.
    pub async fn update_membership(
        &self,
        by: UserId,
        id: ConversationId,
        update: UpdateMembership,
    ) -> Result<Membership, InboxError> {
        let live = self.conversations.of_member(by, id).await?;
        let now = self.clock.now();
        if let Some(Some(until)) = update.muted_until {
            field::future("muted_until", until, now)?;
        }
        let change = SettingsChange {
            pinned: update.pinned,
            archived: update.archived,
            muted_until: update.muted_until,
        };
        let note = AccountNote { user_id: by, at: now, change: AccountChange::SettingsChanged(id) };
        let (settings, entry) = self.store.change_settings(by, id, change, note).await?;
        self.account_log.announce(&[(by, entry)]).await;
        live.read(|state| state.member(by).map(|member| member.to_wire(settings))).ok_or(InboxError::NotFound)
    }

    /// Rows of the store as their owner sees them.
    pub(crate) async fn show(
        &self,
        by: UserId,
        rows: &[InboxRow],
    ) -> Result<Vec<WireConversation>, StoreError> {
        let mut live = Vec::with_capacity(rows.len());
        for row in rows {
            match self.conversations.get(row.conversation).await? {
                Some(conversation) => live.push((conversation, row.settings)),
                None => {
                    tracing::error!(conversation = %row.conversation, "an inbox row without its conversation");
                }
            }
        }
        self.complete(by, live).await
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
        let id = ConversationId::new(self.store.ids().next()?);
        let created = Entry {
            seq: Seq::ZERO.next(),
            id: self.store.ids().next()?,
            ordinal: 0,
            change: Change::Created {
                by,
                kind: ConversationKind::Direct,
                member_ids: vec![pair.low(), pair.high()],
            },
        };
        let conversation =
            Conversation { id, kind: Kind::Direct(pair), created_by: by, created_at: created.at() };
        let opened = self.store.open_direct(pair, NewDirect { conversation, created }).await?;
        if let Some(notes) = &opened.made {
            self.account_log.announce(notes).await;
        }
        Ok((opened.id, opened.made.is_some()))
    }

    async fn complete(
        &self,
        by: UserId,
        conversations: Vec<(Arc<Live>, Settings)>,
    ) -> Result<Vec<WireConversation>, StoreError> {
        let peers: Vec<UserId> = conversations
            .iter()
            .map(|(live, _)| match live.read(|state| state.conversation.kind) {
                Kind::Direct(pair) => pair.other(by),
            })
            .collect();
        let users: HashMap<UserId, User> =
            self.store.users(&peers).await?.into_iter().map(|user| (user.id, user)).collect();
        Ok(conversations
            .iter()
            .zip(peers)
            .filter_map(|((live, settings), peer)| describe(live, by, *settings, users.get(&peer)))
            .collect())
    }
}

/// A conversation as one of its members sees it; none for others.
fn describe(live: &Live, by: UserId, settings: Settings, peer: Option<&User>) -> Option<WireConversation> {
    live.read(|state| {
        let member = state.member(by)?;
        let last_message = state.head.last_message.as_ref().map(|last| WireLastMessage {
            id: last.id,
            seq: last.seq,
            sender_id: last.sender_id,
            kind: last.kind,
            preview: last.preview.to_string(),
            created_at: last.id.timestamp(),
            status: state.status(last.seq, last.sender_id),
        });
        let peer = peer.map(User::to_public);
        Some(WireConversation {
            id: state.conversation.id,
            kind: state.conversation.wire_kind(),
            name: peer.as_ref().map(|p| p.display_name.clone()).unwrap_or_default(),
            image: peer.as_ref().and_then(|p| p.avatar.clone()),
            peer,
            created_at: state.conversation.created_at,
            last_activity_at: state.last_activity_at(),
            head: state.head.seq,
            last_message,
            unread: state.unread(by),
            me: member.to_wire(settings),
            cursors: state.wire_cursors(),
        })
    })
}
