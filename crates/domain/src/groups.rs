//! Groups and channels: making them, their members, roles, details, bans and invite links. Who can be added is in
//! [`adding`].

mod adding;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use godwit_protocol::conversations::{
    Conversation as WireConversation, ConversationKind, HistoryVisibility, NewConversation as NewGroup, Role,
    UpdateConversation,
};
use godwit_protocol::groups::{
    AddedMember, Ban as WireBan, CreateInvite, Invite as WireInvite, InvitePreview, Member as WireMember,
};
use godwit_protocol::limits::{
    LARGE_CONVERSATIONS_PER_USER_MAX, MEMBERS_ADDED_AT_ONCE_MAX, MEMBERS_MAX, PAGE_BYTES_MAX,
};
use godwit_protocol::{ConversationId, ErrorCode, InviteId, Seq, UserId};

use crate::account_log::AccountLog;
use crate::actions::rules::{self, Actor};
use crate::actions::{Action, Appending, Deed, MessagePolicy, Refusal};
use crate::allowances::{Allowances, Amounts};
use crate::bounds::{Budget, cut};
use crate::conversations::{Conversations, Live};
use crate::inbox::{Inbox, InboxError, Opened};
use crate::model::details::{
    default_permissions, parse_description, parse_image, parse_name, updated_permissions,
};
use crate::model::{
    Ban, Change, ClientId, ConversationState, Created, DetailsChange, FanOut, InvalidField, Invite,
    InviteToken, Kind, Member, SearchPrefix, User,
};
use crate::people::People;
use crate::ports::{Clock, Delivery, Store, StoreError};
use crate::projection::beginning;
use crate::sight::Discretion;

/// Members that are looked through for one page when only some of them are asked for.
const MEMBERS_LOOKED_THROUGH_MAX: usize = 2_000;

#[derive(Debug)]
pub struct Groups {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) people: Arc<People>,
    pub(crate) allowances: Arc<Allowances>,
    pub(crate) appending: Arc<Appending>,
    pub(crate) account_log: Arc<AccountLog>,
    pub(crate) delivery: Arc<dyn Delivery>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) policy: MessagePolicy,
}

/// A group that was made, and those who could not be added.
#[derive(Debug, Clone, PartialEq)]
pub struct MadeGroup {
    pub opened: Opened,
    pub members: Vec<AddedMember>,
}

/// Which members are asked for.
#[derive(Debug, Clone, Default)]
pub struct MemberFilter {
    pub role: Option<Role>,
    /// A handle, or a word of a name, begins with it.
    pub name: Option<SearchPrefix>,
}

impl From<InboxError> for Refusal {
    fn from(error: InboxError) -> Self {
        match error {
            InboxError::NotFound | InboxError::NoSuchUser | InboxError::NotWithSelf => Self::NotFound,
            InboxError::Blocked => Self::Blocked,
            InboxError::TooManyPinned => Self::ListFull,
            InboxError::Invalid(error) => Self::Invalid(error),
            InboxError::Store(error) => error.into(),
        }
    }
}

impl Groups {
    /// Makes a group or a channel. Who cannot be added is left out, and is named in the answer.
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
        let addable = self.addable(by, None, &others).await?;
        let mut member_ids: Vec<UserId> = addable.users.iter().copied().collect();
        member_ids.push(by);
        member_ids.sort_unstable();
        member_ids.dedup();
        let is_large = member_ids.len() > self.policy.fan_out_members_max as usize;
        let created = Created {
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
            fan_out: if is_large { FanOut::OnRead } else { FanOut::OnWrite },
            member_ids,
        };
        let new = beginning(self.store.ids(), kind, created)?;
        let amounts = Amounts { groups: 1, ..addable.amounts() };
        self.allowances.spend(by, amounts).await?;
        // Everybody sees a conversation from its first entry on.
        let followers: Vec<(UserId, Seq)> = new.effects.list.iter().map(|user| (*user, Seq::ZERO)).collect();
        let made = self.store.create(new, key.as_ref()).await?;
        let Some(notes) = &made.made else {
            // Another call with the same key was faster.
            self.allowances.give_back(by, amounts).await?;
            return self.made_before(by, made.id, &others).await;
        };
        if is_large {
            self.delivery.follow(&followers, made.id);
        }
        self.account_log.announce(notes).await;
        let opened = Opened { conversation: self.inbox.conversation(by, made.id).await?, made: true };
        Ok(MadeGroup { opened, members: results(&others, &addable.refused, |_| None) })
    }

    /// The answer to a call that was made before: who was added then, whatever has happened since.
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
        // Who could be added by now was not.
        let later = |user| (!added.contains(&user)).then_some(ErrorCode::NeedsInvite);
        Ok(MadeGroup { opened, members: results(others, &refused, later) })
    }

    /// Changes name, description, image, permissions, settings.
    pub async fn update(
        &self,
        by: UserId,
        id: ConversationId,
        update: &UpdateConversation,
    ) -> Result<WireConversation, Refusal> {
        let (live, _) = self.conversations.of_member(by, id).await?;
        let change = DetailsChange::parse(update, live.read(|state| state.details.permissions))?;
        self.appending.act(by, id, Action::Update(Box::new(change))).await?;
        Ok(self.inbox.conversation(by, id).await?)
    }

    /// Deletes a conversation for all its members.
    pub async fn delete_for_all(&self, by: UserId, id: ConversationId) -> Result<(), Refusal> {
        self.appending.act(by, id, Action::DeleteConversation).await?;
        Ok(())
    }

    /// Adds users, and says what became of each, in the order asked.
    pub async fn add_members(
        &self,
        by: UserId,
        id: ConversationId,
        users: &[UserId],
    ) -> Result<Vec<AddedMember>, Refusal> {
        if users.is_empty() {
            return Err(InvalidField::new("user_ids", "must not be empty").into());
        }
        at_most("user_ids", users.len())?;
        let (live, member) = self.conversations.of_member(by, id).await?;
        self.check(&live, &member, Deed::AddMembers)?;
        let addable = self.addable(by, Some(&live), users).await?;
        if addable.users.is_empty() {
            return Ok(results(users, &addable.refused, |_| None));
        }
        let amounts = addable.amounts();
        self.allowances.spend(by, amounts).await?;
        let user_ids = addable.users.iter().copied().collect();
        let acted = self.appending.act(by, id, Action::AddMembers { user_ids }).await;
        let mut added = BTreeSet::new();
        for entry in acted.iter().flat_map(|done| &done.entries) {
            if let Change::MembersAdded { user_ids, .. } = &entry.change {
                added.extend(user_ids.iter().copied());
            }
        }
        // What is not known may have been done.
        if !acted.as_ref().is_err_and(Refusal::is_failure) {
            self.allowances.give_back(by, amounts.minus(addable.amounts_of(&added))).await?;
        }
        acted?;
        let mut unadded = HashMap::new();
        for user in addable.users.difference(&added) {
            let reason = if live.read(|state| state.details.is_banned(*user)) {
                ErrorCode::Banned
            } else if self.conversations.member(&live, *user).await?.is_some() {
                ErrorCode::AlreadyMember
            } else if live.read(|state| state.details.member_count as usize) >= MEMBERS_MAX {
                ErrorCode::TooManyMembers
            } else {
                // They have changed their mind since it was looked whether they can be added.
                ErrorCode::NeedsInvite
            };
            unadded.insert(*user, reason);
        }
        Ok(results(users, &addable.refused, |user| unadded.get(&user).copied()))
    }

    pub async fn remove_member(&self, by: UserId, id: ConversationId, user: UserId) -> Result<(), Refusal> {
        self.appending.act(by, id, Action::RemoveMember(user)).await?;
        Ok(())
    }

    /// Keeps a user out until the ban is lifted: they are removed, and cannot join or be added.
    pub async fn ban(&self, by: UserId, id: ConversationId, user: UserId) -> Result<(), Refusal> {
        // Who may not see the conversation is not told who exists either.
        self.conversations.of_member(by, id).await?;
        if self.store.user(user).await?.is_none() {
            return Err(Refusal::NotFound);
        }
        self.appending.act(by, id, Action::Ban(user)).await?;
        Ok(())
    }

    pub async fn unban(&self, by: UserId, id: ConversationId, user: UserId) -> Result<(), Refusal> {
        self.appending.act(by, id, Action::Unban(user)).await?;
        Ok(())
    }

    /// Who is banned, those after `after`, and where to go on.
    pub async fn bans(
        &self,
        by: UserId,
        id: ConversationId,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<(Vec<WireBan>, Option<UserId>), Refusal> {
        let (live, member) = self.conversations.of_member(by, id).await?;
        self.check(&live, &member, Deed::ManageBans)?;
        let bans: Vec<Ban> = live.read(|state| {
            let later = state.details.bans.iter().filter(|ban| after.is_none_or(|after| ban.user_id > after));
            later.take(limit).copied().collect()
        });
        let mut next = if bans.len() == limit { bans.last().map(|last| last.user_id) } else { None };
        let ids: Vec<UserId> = bans.iter().map(|ban| ban.user_id).collect();
        let users: HashMap<UserId, User> =
            self.store.users(&ids).await?.into_iter().map(|user| (user.id, user)).collect();
        let shown = bans.iter().filter_map(|ban| {
            let user = users.get(&ban.user_id)?.to_public();
            Some(WireBan { user, banned_by: ban.by, banned_at: ban.at })
        });
        let mut shown: Vec<WireBan> = shown.collect();
        if cut(&mut shown) {
            next = shown.last().map(|last| last.user.id);
        }
        Ok((shown, next))
    }

    pub async fn set_role(
        &self,
        by: UserId,
        id: ConversationId,
        user: UserId,
        role: Role,
    ) -> Result<(), Refusal> {
        self.appending.act(by, id, Action::SetRole(user, role)).await?;
        Ok(())
    }

    pub async fn transfer_ownership(
        &self,
        by: UserId,
        id: ConversationId,
        to: UserId,
    ) -> Result<(), Refusal> {
        self.appending.act(by, id, Action::TransferOwnership(to)).await?;
        Ok(())
    }

    /// Joins a conversation that anybody may join.
    pub async fn join(&self, by: UserId, id: ConversationId) -> Result<WireConversation, Refusal> {
        self.enter(by, id, None).await
    }

    /// Leaves; with `block` for good: nobody can add the user again, and whoever did is blocked.
    pub async fn leave(&self, by: UserId, id: ConversationId, block: bool) -> Result<(), Refusal> {
        if block {
            return self.leave_for_good(by, id).await;
        }
        self.appending.act(by, id, Action::Leave).await?;
        Ok(())
    }

    /// Members after `after`, and where to go on. A page can have fewer than asked for.
    pub async fn members(
        &self,
        by: UserId,
        id: ConversationId,
        filter: &MemberFilter,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<(Vec<WireMember>, Option<UserId>), Refusal> {
        let (live, _) = self.conversations.of_member(by, id).await?;
        let (is_whole, kind) = live.read(|state| (state.is_whole(), state.conversation.kind));
        let (mut found, mut after, mut looked_through) = (Vec::<WireMember>::new(), after, 0);
        let mut budget = Budget::new(PAGE_BYTES_MAX);
        loop {
            let members = self.some_members(&live, filter.role, after, limit).await?;
            let is_last = members.len() < limit;
            looked_through += members.len();
            let ids: Vec<UserId> = members.iter().map(|member| member.user_id).collect();
            let users: HashMap<UserId, User> =
                self.store.users(&ids).await?.into_iter().map(|user| (user.id, user)).collect();
            let shown = ids.into_iter().filter(|_| is_whole);
            let discretion = Discretion::of(&*self.store, by, kind, shown).await?;
            for member in members {
                if found.len() == limit {
                    return Ok((found, after));
                }
                let user = users.get(&member.user_id).filter(|user| filter.matches(&member, user));
                let shown = user.map(|user| WireMember {
                    user: user.to_public(),
                    role: member.role,
                    joined_at: member.joined_at,
                    cursor: discretion.cursor(by, &member).filter(|_| is_whole),
                });
                if !budget.take(&shown) && !found.is_empty() {
                    return Ok((found, after));
                }
                after = Some(member.user_id);
                found.extend(shown);
            }
            if is_last {
                return Ok((found, None));
            }
            if found.len() == limit || looked_through >= MEMBERS_LOOKED_THROUGH_MAX {
                return Ok((found, after));
            }
        }
    }

    /// Makes an invite link, or gives back the one that was made with the same client id; and whether it did that.
    pub async fn create_invite(
        &self,
        by: UserId,
        id: ConversationId,
        request: CreateInvite,
        token: InviteToken,
    ) -> Result<(WireInvite, bool), Refusal> {
        let CreateInvite { expires_at, uses_max, .. } = request;
        let client_id = request.client_id.as_deref().map(ClientId::parse).transpose()?;
        Invite::check_terms(expires_at, uses_max, self.clock.now())?;
        let action = Action::CreateInvite { token, client_id: client_id.clone(), expires_at, uses_max };
        let done = self.appending.act(by, id, action).await?;
        if let Some(Change::InviteCreated { invite }) = done.entries.first().map(|entry| &entry.change) {
            return Ok((invite.to_wire(id, true), false));
        }
        let (live, _) = self.conversations.of_member(by, id).await?;
        // It may have been made by way of another server.
        self.conversations.reload(&live).await?;
        let is_same = |invite: &&Invite| invite.created_by == by && invite.client_id == client_id;
        let now = self.clock.now();
        let made = live.read(|state| {
            let made = state.details.invites.iter().find(is_same);
            made.map(|invite| invite.to_wire(id, invite.is_usable(now)))
        });
        // It was revoked a moment ago.
        made.map(|made| (made, true)).ok_or(Refusal::NotFound)
    }

    /// The invite links that are not over: all of them for who manages them, the own ones for others.
    pub async fn invites(&self, by: UserId, id: ConversationId) -> Result<Vec<WireInvite>, Refusal> {
        let (live, member) = self.conversations.of_member(by, id).await?;
        self.check(&live, &member, Deed::OwnInvites)?;
        let sees_all = self.check(&live, &member, Deed::ManageInvites).is_ok();
        let now = self.clock.now();
        let invites: Vec<Invite> = live.read(|state| {
            let invites = state.details.invites.iter().filter(|invite| invite.is_usable(now));
            invites.filter(|invite| sees_all || invite.created_by == by).cloned().collect()
        });
        let inviting = self.inviting(&live, invites.iter().map(|invite| invite.created_by)).await?;
        Ok(invites.iter().map(|invite| invite.to_wire(id, inviting.contains(&invite.created_by))).collect())
    }

    pub async fn revoke_invite(
        &self,
        by: UserId,
        id: ConversationId,
        invite: InviteId,
    ) -> Result<(), Refusal> {
        self.appending.act(by, id, Action::RevokeInvite(invite)).await?;
        Ok(())
    }

    /// What somebody sees who has a link. Who is a member sees it also when nobody else can join by it any more.
    pub async fn preview(&self, by: UserId, token: &InviteToken) -> Result<InvitePreview, Refusal> {
        let id = self.store.invited_to(token).await?.ok_or(Refusal::InviteInvalid)?;
        let live = self.conversations.get(id).await?.ok_or(Refusal::InviteInvalid)?;
        let member = self.conversations.member(&live, by).await?.is_some();
        let now = self.clock.now();
        let (invite, is_banned) = live.read(|state| {
            let mut invites = state.details.invites.iter();
            let invite = invites.find(|invite| invite.token == *token && invite.is_usable(now));
            (invite.cloned(), state.details.is_banned(by))
        });
        let inviting = self.inviting(&live, invite.iter().map(|invite| invite.created_by)).await?;
        let invite = invite.filter(|invite| !is_banned && inviting.contains(&invite.created_by));
        if invite.is_none() && !member {
            return Err(Refusal::InviteInvalid);
        }
        live.read(|state| {
            let details = &state.details;
            Ok(InvitePreview {
                conversation_id: id,
                kind: state.conversation.wire_kind(),
                name: details.name.to_string(),
                description: details.description.as_deref().map(str::to_owned),
                image: details.image.as_deref().map(str::to_owned),
                member_count: details.member_count,
                member,
                expires_at: invite.as_ref().and_then(|invite| invite.expires_at),
            })
        })
    }

    /// Joins by a link.
    pub async fn join_by_invite(&self, by: UserId, token: InviteToken) -> Result<WireConversation, Refusal> {
        let id = self.store.invited_to(&token).await?.ok_or(Refusal::InviteInvalid)?;
        match self.enter(by, id, Some(token)).await {
            Err(Refusal::NotFound) => Err(Refusal::InviteInvalid),
            entered => entered,
        }
    }

    async fn enter(
        &self,
        by: UserId,
        id: ConversationId,
        invite: Option<InviteToken>,
    ) -> Result<WireConversation, Refusal> {
        // Who is a member already joins nothing more.
        let is_member = match self.conversations.get(id).await? {
            Some(live) => self.conversations.member(&live, by).await?.is_some(),
            None => false,
        };
        if !is_member && self.is_in_too_many(by).await? {
            return Err(Refusal::TooManyConversations);
        }
        self.appending.act(by, id, Action::Join { invite }).await?;
        self.welcome_back(by, id).await?;
        Ok(self.inbox.conversation(by, id).await?)
    }

    /// Those of these users whose invite links work: members who may still invite, and are not disabled.
    async fn inviting(
        &self,
        live: &Live,
        makers: impl Iterator<Item = UserId>,
    ) -> Result<HashSet<UserId>, StoreError> {
        let makers: HashSet<UserId> = makers.collect();
        let makers: Vec<UserId> = makers.into_iter().collect();
        if makers.is_empty() {
            return Ok(HashSet::new());
        }
        let (kind, permissions) = live.read(|state| (state.conversation.kind, state.details.permissions));
        let mut inviting = HashSet::new();
        for user in self.store.users(&makers).await? {
            let role = self.conversations.member(live, user.id).await?.map(|member| member.role);
            if user.disabled_at.is_none() && rules::may_invite(kind, permissions, role) {
                inviting.insert(user.id);
            }
        }
        Ok(inviting)
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
        // Those that were deleted for all are still among them.
        let large = self.conversations.large_of(user).await?;
        let is_there = |live: &Live| live.read(|state| state.details.deleted_at.is_none());
        let count = large.iter().filter(|(_, live)| is_there(live)).count();
        Ok(count >= LARGE_CONVERSATIONS_PER_USER_MAX)
    }

    /// Members in the order of their ids. Owners and admins are known without looking through the others.
    async fn some_members(
        &self,
        live: &Live,
        role: Option<Role>,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<Member>, StoreError> {
        let comes_after = |user: UserId| after.is_none_or(|after| user > after);
        if live.read(ConversationState::is_whole) {
            return Ok(live.read(|state| {
                let members = state.members.iter().filter(|member| comes_after(member.user_id));
                members.take(limit).cloned().collect()
            }));
        }
        let Some(role) = role.filter(|role| *role != Role::Member) else {
            return self.store.members(live.id(), after, limit).await;
        };
        let staff = live.read(|state| state.details.staff.clone()).into_iter();
        let staff = staff.filter(|(user, of)| *of == role && comes_after(*user)).take(limit);
        let mut members = Vec::new();
        for (user, _) in staff {
            members.extend(self.conversations.stored_member(live.id(), user).await?);
        }
        Ok(members)
    }
}

impl MemberFilter {
    fn matches(&self, member: &Member, user: &User) -> bool {
        self.role.is_none_or(|role| member.role == role)
            && self.name.as_ref().is_none_or(|prefix| user.is_found_by(prefix))
    }
}

fn at_most(field: &'static str, count: usize) -> Result<(), InvalidField> {
    if count > MEMBERS_ADDED_AT_ONCE_MAX {
        return Err(InvalidField::new(field, format!("must have at most {MEMBERS_ADDED_AT_ONCE_MAX} users")));
    }
    Ok(())
}

/// What became of each, in the order asked.
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
