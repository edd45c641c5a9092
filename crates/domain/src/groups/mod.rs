//! Groups and channels.
//!
//! - this file: creating, changing and deleting them
//! - [`adding`]: who can be added; leaving for good
//! - [`members`]: members and their roles, joining and leaving; [`bans`]; [`invites`]

mod adding;
mod bans;
mod invites;
mod members;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use godwit_protocol::conversations::{
    Conversation as WireConversation, ConversationKind, HistoryVisibility, NewConversation as NewGroup,
    UpdateConversation,
};
use godwit_protocol::groups::AddedMember;
use godwit_protocol::limits::{LARGE_CONVERSATIONS_PER_USER_MAX, MEMBERS_ADDED_AT_ONCE_MAX};
use godwit_protocol::{ConversationId, ErrorCode, Seq, UserId};

use self::adding::Addable;
pub use self::members::MemberFilter;
use crate::account_log::AccountLog;
use crate::actions::rules::{self, Actor};
use crate::actions::{Action, Actions, Deed, MessagePolicy, Refusal};
use crate::allowances::{Allowances, Amounts};
use crate::consent::Consent;
use crate::conversations::{Conversations, Live};
use crate::following::Following;
use crate::inbox::{Inbox, InboxError, Opened};
use crate::model::details::{
    default_permissions, parse_description, parse_image, parse_name, updated_permissions,
};
use crate::model::{Change, ClientId, Created, DetailsChange, FanOut, InvalidField, Kind, Member};
use crate::own_writes::OwnWrites;
use crate::people::People;
use crate::ports::{Clock, Store, StoreError};
use crate::projection::beginning;

#[derive(Debug)]
pub struct Groups {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) people: Arc<People>,
    pub(crate) consent: Consent,
    pub(crate) allowances: Arc<Allowances>,
    pub(crate) own_writes: Arc<OwnWrites>,
    pub(crate) actions: Arc<Actions>,
    pub(crate) account_log: Arc<AccountLog>,
    pub(crate) following: Arc<Following>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) policy: MessagePolicy,
}

/// A new group, and the users who could not be added.
#[derive(Debug, Clone, PartialEq)]
pub struct MadeGroup {
    pub opened: Opened,
    pub members: Vec<AddedMember>,
}

impl From<InboxError> for Refusal {
    fn from(error: InboxError) -> Self {
        match error {
            InboxError::NotFound | InboxError::NoSuchUser | InboxError::NotWithSelf => Self::NotFound,
            InboxError::Blocked => Self::Blocked,
            InboxError::Disabled => Self::Disabled,
            InboxError::TooManyPinned => Self::ListFull,
            InboxError::TooOften { reason, retry_after_secs } => Self::TooOften { reason, retry_after_secs },
            InboxError::Invalid(error) => Self::Invalid(error),
            InboxError::Store(error) => error.into(),
        }
    }
}

impl Groups {
    /// Creates a group or a channel. Users who cannot be added are left out, and the answer names them.
    pub async fn create(&self, by: UserId, channel: bool, request: NewGroup) -> Result<MadeGroup, Refusal> {
        let key = request.client_id.as_deref().map(ClientId::parse).transpose()?;
        at_most("member_ids", request.member_ids.len())?;
        let (kind, wire_kind) = if channel {
            (Kind::Channel, ConversationKind::Channel)
        } else {
            (Kind::Group, ConversationKind::Group)
        };
        let others: Vec<UserId> = request.member_ids.into_iter().filter(|user| *user != by).collect();
        if let Some(key) = &key
            && let Some(made) = self.store.made_with(by, key).await?
        {
            return self.made_before(by, made, &others).await;
        }
        let mut addable = self.addable(by, None, &others).await?;
        let mut created = Created {
            by,
            kind: wire_kind,
            name: parse_name(&request.name)?,
            description: request.description.as_deref().map(parse_description).transpose()?,
            image: request.image.as_deref().map(parse_image).transpose()?,
            permissions: updated_permissions(
                default_permissions(!channel),
                request.permissions.unwrap_or_default(),
            ),
            history: request.history.unwrap_or(HistoryVisibility::All),
            fan_out: FanOut::OnWrite,
            member_ids: Vec::new(),
        };
        let amounts = Amounts { groups: 1, ..addable.amounts() };
        self.allowances.spend(by, amounts).await?;
        let amounts = amounts.minus(self.look_again(by, &mut addable).await?);
        created.member_ids = addable.users.iter().copied().chain([by]).collect();
        created.member_ids.sort_unstable();
        let is_large = created.member_ids.len() > self.policy.fan_out_members_max as usize;
        if is_large {
            created.fan_out = FanOut::OnRead;
        }
        let new = beginning(self.store.ids(), kind, created)?;
        // Everyone sees a conversation from its first entry on.
        let followers: Vec<(UserId, Seq)> = new.effects.list.iter().map(|user| (*user, Seq::ZERO)).collect();
        let create = move |store: Arc<dyn Store>| async move { store.create(new, key.as_ref()).await };
        let made = self.own_writes.write(by, create).await?;
        let Some(notes) = &made.made else {
            // A concurrent call with the same key has created it first.
            self.allowances.give_back(by, amounts).await?;
            return self.made_before(by, made.id, &others).await;
        };
        if is_large && let Err(error) = self.following.follow(&followers, made.id).await {
            tracing::warn!(conversation = %made.id, %error, "could not look up new members; closed their sockets");
        }
        self.account_log.announce(notes).await;
        let opened = Opened { conversation: self.inbox.conversation(by, made.id).await?, made: true };
        Ok(MadeGroup { opened, members: results(&others, &addable.refused, |_| None) })
    }

    /// Leaves out the users who have become impossible to add since they were checked, right before the group is created.
    /// Gives back the allowances for them, and returns these.
    async fn look_again(&self, by: UserId, addable: &mut Addable) -> Result<Amounts, Refusal> {
        let users: Vec<UserId> = addable.users.iter().copied().collect();
        let unneeded = addable.refuse(self.consent.of(by, None, &users).await?.refused);
        self.allowances.give_back(by, unneeded).await?;
        Ok(unneeded)
    }

    /// The answer to a retry: the users who were added by the first call, whatever has happened since.
    async fn made_before(
        &self,
        by: UserId,
        id: ConversationId,
        others: &[UserId],
    ) -> Result<MadeGroup, Refusal> {
        let opened = Opened { conversation: self.inbox.conversation(by, id).await?, made: false };
        let first = self.store.entries(id, Seq::ZERO, 1).await?.pop();
        let added: HashSet<UserId> = match first.map(|item| item.entry.change) {
            Some(Change::Created(created)) => created.member_ids.into_iter().collect(),
            _ => HashSet::new(),
        };
        let left_out: Vec<UserId> = others.iter().copied().filter(|user| !added.contains(user)).collect();
        let refused = self.addable(by, None, &left_out).await?.refused;
        // A user who could be added by now was not added then.
        let later = |user| (!added.contains(&user)).then_some(ErrorCode::NeedsInvite);
        Ok(MadeGroup { opened, members: results(others, &refused, later) })
    }

    /// Changes name, description, image, permissions and settings.
    pub async fn update(
        &self,
        by: UserId,
        id: ConversationId,
        update: &UpdateConversation,
    ) -> Result<WireConversation, Refusal> {
        let (live, _) = self.conversations.of_member(by, id).await?;
        let change = DetailsChange::parse(update, live.read(|state| state.details.permissions))?;
        self.actions.act(by, id, Action::Update(Box::new(change))).await?;
        Ok(self.inbox.conversation(by, id).await?)
    }

    /// Deletes a conversation for all its members.
    pub async fn delete_for_all(&self, by: UserId, id: ConversationId) -> Result<(), Refusal> {
        self.actions.act(by, id, Action::DeleteConversation).await?;
        Ok(())
    }

    fn check(&self, live: &Live, member: &Member, deed: Deed) -> Result<(), Refusal> {
        let (kind, permissions) = live.read(|state| (state.conversation.kind, state.details.permissions));
        let actor = Actor { role: Some(member.role), blocked: false };
        rules::check(kind, permissions, actor, deed)
    }

    async fn is_in_too_many(&self, user: UserId) -> Result<bool, StoreError> {
        if self.store.fanned_out_on_read(user).await?.len() < LARGE_CONVERSATIONS_PER_USER_MAX {
            return Ok(false);
        }
        // Includes conversations that were deleted for all.
        let large = self.conversations.large_of(user).await?;
        let is_there = |live: &Live| live.read(|state| state.details.deleted_at.is_none());
        let count = large.iter().filter(|(_, live)| is_there(live)).count();
        Ok(count >= LARGE_CONVERSATIONS_PER_USER_MAX)
    }
}

fn at_most(field: &'static str, count: usize) -> Result<(), InvalidField> {
    if count > MEMBERS_ADDED_AT_ONCE_MAX {
        return Err(InvalidField::new(field, format!("must have at most {MEMBERS_ADDED_AT_ONCE_MAX} users")));
    }
    Ok(())
}

/// The outcome for each user, in the order of the request.
fn results(
    users: &[UserId],
    refused: &HashMap<UserId, ErrorCode>,
    later: impl Fn(UserId) -> Option<ErrorCode>,
) -> Vec<AddedMember> {
    let result = |user: &UserId| {
        let error = refused.get(user).copied().or_else(|| later(*user));
        AddedMember { user_id: *user, added: error.is_none(), error }
    };
    users.iter().map(result).collect()
}
