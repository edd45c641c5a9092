//! What an action makes of a conversation.

use std::collections::{HashMap, HashSet};

use godwit_protocol::conversations::{HistoryVisibility, Role};
use godwit_protocol::limits::{
    BANS_PER_CONVERSATION_MAX, EDITS_PER_MESSAGE_MAX, INVITES_PER_CONVERSATION_MAX, MEMBERS_MAX,
    PINS_PER_CONVERSATION_MAX, REACTIONS_DISTINCT_MAX, STAFF_MAX,
};
use godwit_protocol::{InviteId, MessageId, Seq, Timestamp, UserId};

use super::action::{Action, NewMessage, Refusal};
use super::rules::{self, Actor, Deed, MessagePolicy};
use crate::model::{
    Change, ClientId, DetailsChange, FanOut, Invite, InviteToken, JoiningTerms, LogItem, Member, Mentions,
    Message, MessageState, ReactionChange, Target,
};
use crate::projection::Fold;

/// Members that one entry adds.
const MEMBERS_PER_ENTRY_MAX: usize = 256;

/// What an action is decided on: the conversation with everything that was decided before in the same batch.
pub(super) struct Case<'a, 'b> {
    pub(super) fold: &'a Fold<'b>,
    pub(super) policy: &'a MessagePolicy,
    pub(super) now: Timestamp,
    /// In a direct conversation: one of the two has blocked the other.
    pub(super) blocked: bool,
    /// Those whose accounts are disabled, of the ones who act or have made the links by which somebody joins.
    pub(super) disabled: &'a HashSet<UserId>,
    /// Those who do not want to be added, by whom they would be.
    pub(super) unwilling: &'a HashSet<(UserId, UserId)>,
    /// The reactions that users have now.
    pub(super) reactions: &'a HashMap<(Seq, UserId), Box<str>>,
    /// The id of the first entry.
    pub(super) id: u64,
}

/// What becomes of reactions: one change for all of them, and whether each was taken.
pub(super) struct Reactions {
    pub(super) change: Option<Change>,
    pub(super) outcomes: Vec<Result<(), Refusal>>,
}

impl Case<'_, '_> {
    /// The changes that an action makes, none where it is so already.
    pub(super) fn decide(&self, actor: UserId, action: &Action) -> Result<Vec<Change>, Refusal> {
        if self.fold.details().deleted_at.is_some() {
            return Err(Refusal::NotFound);
        }
        match action {
            Action::Send(message) => self.send(actor, message),
            Action::Unsendable { refusal, .. } => {
                self.check(actor, Deed::Send)?;
                Err((**refusal).clone())
            }
            Action::Edit { target, text, mentions } => self.edit(actor, *target, text, mentions),
            Action::Delete { target } => self.delete(actor, *target),
            Action::Expire { targets } => Ok(self.expire(targets)),
            Action::React { target, reaction } => {
                let Reactions { change, outcomes } = self.react(*target, &[(actor, reaction.clone())]);
                outcomes.into_iter().collect::<Result<(), Refusal>>()?;
                Ok(change.into_iter().collect())
            }
            Action::AddMembers { user_ids } => self.add_members(actor, user_ids),
            Action::Join { invite } => self.join(actor, invite.as_ref()),
            Action::Leave => self.leave(actor),
            Action::RemoveMember(user) => self.remove(actor, *user),
            Action::Ban(user) => self.ban(actor, *user),
            Action::Unban(user) => self.unban(actor, *user),
            Action::SetRole(user, role) => self.set_role(actor, *user, *role),
            Action::TransferOwnership(user) => self.transfer(actor, *user),
            Action::Update(change) => self.update(actor, change),
            Action::Pin(target) => self.pin(actor, *target),
            Action::Unpin(target) => self.unpin(actor, *target),
            Action::CreateInvite { token, client_id, expires_at, uses_max } => {
                self.create_invite(actor, token, client_id.as_ref(), *expires_at, *uses_max)
            }
            Action::RevokeInvite(id) => self.revoke_invite(actor, *id),
            Action::DeleteConversation => {
                self.check(actor, Deed::DeleteConversation)?;
                Ok(vec![Change::ConversationDeleted { by: actor }])
            }
        }
    }

    /// Several reactions to one message at once.
    pub(super) fn react(&self, target: Target, wanted: &[(UserId, Option<Box<str>>)]) -> Reactions {
        let mut state = MessageState::default();
        let mut current = HashMap::<UserId, Option<Box<str>>>::new();
        let mut changes: Vec<ReactionChange> = Vec::new();
        let mut outcomes = Vec::with_capacity(wanted.len());
        for (user, reaction) in wanted {
            let item = match self.check(*user, Deed::React).and_then(|_| self.visible(*user, target)) {
                Ok(item) => item,
                Err(refusal) => {
                    outcomes.push(Err(refusal));
                    continue;
                }
            };
            if current.is_empty() {
                state.reactions.clone_from(&item.state.reactions);
            }
            let from =
                current.entry(*user).or_insert_with(|| self.reactions.get(&(target.seq, *user)).cloned());
            if *from == *reaction {
                outcomes.push(Ok(()));
                continue;
            }
            let change = ReactionChange { user_id: *user, from: from.clone(), to: reaction.clone() };
            let mut after = state.clone();
            after.react(std::slice::from_ref(&change));
            if after.reactions.len() > REACTIONS_DISTINCT_MAX {
                outcomes.push(Err(Refusal::TooManyReactions));
                continue;
            }
            state = after;
            from.clone_from(reaction);
            match changes.iter_mut().find(|earlier| earlier.user_id == *user) {
                Some(earlier) => earlier.to.clone_from(reaction),
                None => changes.push(change),
            }
            outcomes.push(Ok(()));
        }
        changes.retain(|change| change.from != change.to);
        let is_change = !changes.is_empty();
        let change = Change::Reacted { target, changes, counts: state.reactions };
        Reactions { change: is_change.then_some(change), outcomes }
    }

    fn check(&self, actor: UserId, deed: Deed) -> Result<&Member, Refusal> {
        if self.disabled.contains(&actor) {
            return Err(Refusal::Disabled);
        }
        let member = self.fold.member(actor);
        let actor = Actor { role: member.map(|member| member.role), blocked: self.blocked };
        let kind = self.fold.conversation().kind;
        rules::check(kind, self.fold.details().permissions, actor, deed)?;
        member.ok_or(Refusal::NotFound)
    }

    /// A message that a member can see, and that is still there.
    fn visible(&self, user: UserId, target: Target) -> Result<&LogItem, Refusal> {
        let member = self.check(user, Deed::Read)?;
        let item = self.fold.message(target.seq).filter(|_| target.seq >= member.history_from());
        let item = item.filter(|item| item.entry.message().is_some()).ok_or(Refusal::NotFound)?;
        if item.is_gone(self.now) { Err(Refusal::MessageGone) } else { Ok(item) }
    }

    fn sent_by(&self, user: UserId, target: Target) -> Result<(&LogItem, &Message), Refusal> {
        let item = self.visible(user, target)?;
        let (message, _) = item.message().ok_or(Refusal::NotFound)?;
        Ok((item, message))
    }

    fn send(&self, actor: UserId, new: &NewMessage) -> Result<Vec<Change>, Refusal> {
        let member = self.check(actor, Deed::Send)?;
        if let Some(reply) = new.reply {
            let is_seen = |target: Target| {
                self.fold.message(target.seq).is_some_and(|item| !item.is_gone(self.now))
                    && target.seq >= member.history_from()
            };
            if !is_seen(reply.to) {
                return Err(Refusal::ReplyNotFound);
            }
        }
        let ttl = self.fold.details().message_ttl_secs;
        let sent_at = MessageId::new(self.id).timestamp();
        Ok(vec![Change::Message(Message {
            id: MessageId::new(self.id),
            sender_id: actor,
            client_id: new.client_id.clone(),
            body: new.body.clone(),
            reply: new.reply,
            forwarded_from: new.forwarded_from,
            mentions: self.allowed_mentions(member, &new.mentions),
            expires_at: ttl.map(|secs| sent_at.plus_millis(i64::from(secs) * 1_000)),
        })])
    }

    /// Members only, each once; and where they are very many not everybody can call them all.
    fn allowed_mentions(&self, sender: &Member, mentions: &Mentions) -> Mentions {
        let is_large = self.fold.details().fan_out == FanOut::OnRead;
        let mut users = Vec::with_capacity(mentions.users.len());
        for user in &mentions.users {
            if !users.contains(user) && self.fold.member(*user).is_some() {
                users.push(*user);
            }
        }
        Mentions { users, all: mentions.all && (!is_large || sender.role != Role::Member) }
    }

    fn edit(
        &self,
        actor: UserId,
        target: Target,
        text: &str,
        mentions: &Mentions,
    ) -> Result<Vec<Change>, Refusal> {
        let (item, message) = self.sent_by(actor, target)?;
        let is_own = message.sender_id == actor;
        let member = self.check(actor, if is_own { Deed::EditOwn } else { Deed::EditOther })?;
        if !is_own && !self.policy.admins_may_edit {
            return Err(Refusal::Forbidden);
        }
        // The words of a forward are somebody else's.
        if !message.body.is_editable() || message.forwarded_from.is_some() {
            return Err(Refusal::NotEditable);
        }
        let age_ms = self.now.millis_since(message.id.timestamp());
        if self.policy.edit_window_ms.is_some_and(|window| age_ms > window) {
            return Err(Refusal::EditWindowOver);
        }
        if message.current_text(&item.state) == Some(text) {
            return Ok(Vec::new());
        }
        if item.state.edits.len() >= EDITS_PER_MESSAGE_MAX {
            return Err(Refusal::TooManyEdits);
        }
        let mentions = self.allowed_mentions(member, mentions);
        Ok(vec![Change::Edited { by: actor, target, text: Some(text.into()), mentions }])
    }

    fn delete(&self, actor: UserId, target: Target) -> Result<Vec<Change>, Refusal> {
        let message = match self.sent_by(actor, target) {
            Ok((_, message)) => message,
            // Who deletes it twice, or too late, has what they wanted.
            Err(Refusal::MessageGone) => return Ok(Vec::new()),
            Err(refusal) => return Err(refusal),
        };
        let is_own = message.sender_id == actor;
        self.check(actor, if is_own { Deed::DeleteOwn } else { Deed::DeleteOther })?;
        Ok(vec![Change::Deleted { by: actor, target }])
    }

    fn expire(&self, targets: &[Target]) -> Vec<Change> {
        let is_due = |target: &&Target| {
            self.fold.message(target.seq).is_some_and(|item| {
                let expires_at = item.entry.message().and_then(|message| message.expires_at);
                item.state.gone.is_none() && expires_at.is_some_and(|at| at <= self.now)
            })
        };
        let targets: Vec<Target> = targets.iter().filter(is_due).copied().collect();
        if targets.is_empty() { Vec::new() } else { vec![Change::Expired { targets }] }
    }

    fn add_members(&self, actor: UserId, users: &[UserId]) -> Result<Vec<Change>, Refusal> {
        self.check(actor, Deed::AddMembers)?;
        let room = MEMBERS_MAX.saturating_sub(self.fold.details().member_count as usize);
        let mut new: Vec<UserId> = Vec::new();
        for user in users {
            let is_kept_out =
                self.fold.details().is_banned(*user) || self.unwilling.contains(&(actor, *user));
            if self.fold.member(*user).is_none() && !is_kept_out && !new.contains(user) {
                new.push(*user);
            }
        }
        if room == 0 && !new.is_empty() {
            return Err(Refusal::TooManyMembers);
        }
        new.truncate(room);
        let mut count = self.fold.details().member_count;
        let mut crossed = false;
        Ok(new
            .chunks(MEMBERS_PER_ENTRY_MAX)
            .enumerate()
            .map(|(place, users)| {
                count += users.len() as u32;
                let terms = self.terms(place as u64, count, crossed);
                crossed |= terms.crosses_to.is_some();
                Change::MembersAdded { by: actor, user_ids: users.to_vec(), terms }
            })
            .collect())
    }

    /// What those see who come with the entry at this place of the change, and whether that makes it a large one.
    fn terms(&self, place: u64, member_count: u32, crossed: bool) -> JoiningTerms {
        let details = self.fold.details();
        let entry = Seq::new(self.fold.head().seq.get() + 1 + place);
        let crosses =
            details.fan_out == FanOut::OnWrite && !crossed && member_count > self.policy.fan_out_members_max;
        JoiningTerms {
            visible_from: match details.history {
                HistoryVisibility::All => Seq::ZERO,
                HistoryVisibility::FromJoining => entry,
            },
            crosses_to: crosses.then_some(FanOut::OnRead),
        }
    }

    fn join(&self, actor: UserId, invite: Option<&InviteToken>) -> Result<Vec<Change>, Refusal> {
        let details = self.fold.details();
        if self.fold.conversation().kind.is_direct() {
            return Err(Refusal::NotFound);
        }
        if self.fold.member(actor).is_some() {
            return Ok(Vec::new());
        }
        if self.disabled.contains(&actor) {
            return Err(Refusal::Disabled);
        }
        let is_banned = details.is_banned(actor);
        let invite = match invite {
            Some(token) => {
                let invite = details.invites.iter().find(|invite| invite.token == *token);
                let invite = invite.filter(|invite| !is_banned && self.works(invite));
                Some(invite.ok_or(Refusal::InviteInvalid)?)
            }
            // Who is not a member and may not join is not told that it exists.
            None if is_banned || !details.permissions.anyone_may_join => return Err(Refusal::NotFound),
            None => None,
        };
        if details.member_count as usize >= MEMBERS_MAX {
            return Err(Refusal::TooManyMembers);
        }
        let terms = self.terms(0, details.member_count + 1, false);
        Ok(vec![Change::MemberJoined { user_id: actor, invite: invite.map(|invite| invite.id), terms }])
    }

    /// A link is worth what its maker may do now.
    fn works(&self, invite: &Invite) -> bool {
        let role = self.fold.member(invite.created_by).map(|maker| maker.role);
        let (kind, permissions) = (self.fold.conversation().kind, self.fold.details().permissions);
        invite.is_usable(self.now)
            && rules::may_invite(kind, permissions, role)
            && !self.disabled.contains(&invite.created_by)
    }

    fn leave(&self, actor: UserId) -> Result<Vec<Change>, Refusal> {
        self.check(actor, Deed::Leave)?;
        self.keeps_an_owner_without(actor)?;
        Ok(vec![Change::MemberLeft { user_id: actor }])
    }

    fn remove(&self, actor: UserId, user: UserId) -> Result<Vec<Change>, Refusal> {
        if user == actor {
            return self.leave(actor);
        }
        // First whether the kind has it at all, so that a direct conversation says so for anybody.
        self.check(actor, Deed::Read)?;
        let role = self.fold.member(user).map(|member| member.role);
        self.check(actor, Deed::Remove(role.unwrap_or(Role::Member)))?;
        // Who removes somebody twice has what they wanted.
        Ok(role.map(|_| Change::MemberRemoved { by: actor, user_id: user }).into_iter().collect())
    }

    fn ban(&self, actor: UserId, user: UserId) -> Result<Vec<Change>, Refusal> {
        self.check(actor, Deed::Read)?;
        let role = self.fold.member(user).map(|member| member.role);
        self.check(actor, Deed::Ban(role.unwrap_or(Role::Member)))?;
        if user == actor {
            return Err(Refusal::NotWithSelf);
        }
        let details = self.fold.details();
        if details.is_banned(user) {
            return Ok(Vec::new());
        }
        if details.bans.len() >= BANS_PER_CONVERSATION_MAX {
            return Err(Refusal::TooManyBans);
        }
        Ok(vec![Change::MemberBanned { by: actor, user_id: user, was_member: role.is_some() }])
    }

    fn unban(&self, actor: UserId, user: UserId) -> Result<Vec<Change>, Refusal> {
        self.check(actor, Deed::ManageBans)?;
        let is_banned = self.fold.details().is_banned(user);
        Ok(if is_banned { vec![Change::MemberUnbanned { by: actor, user_id: user }] } else { Vec::new() })
    }

    fn set_role(&self, actor: UserId, user: UserId, role: Role) -> Result<Vec<Change>, Refusal> {
        let is_own = |member: &&Member| member.user_id == user && member.role == role;
        if self.fold.member(actor).filter(is_own).is_some() {
            // Who has stepped down, and may not set roles any more, may have to repeat it.
            return Ok(Vec::new());
        }
        self.check(actor, Deed::SetRole)?;
        let current = self.fold.member(user).ok_or(Refusal::NotFound)?.role;
        if current == role {
            return Ok(Vec::new());
        }
        if current == Role::Owner {
            self.keeps_an_owner_without(user)?;
        }
        if current == Role::Member && self.fold.details().staff.len() >= STAFF_MAX {
            return Err(Refusal::TooManyStaff);
        }
        Ok(vec![Change::RoleChanged { by: actor, user_id: user, role }])
    }

    fn transfer(&self, actor: UserId, user: UserId) -> Result<Vec<Change>, Refusal> {
        let role_of = |user: UserId| self.fold.member(user).map(|member| member.role);
        if (role_of(actor), role_of(user)) == (Some(Role::Admin), Some(Role::Owner)) {
            // This is how a transfer leaves the two, and it may have to be repeated.
            return Ok(Vec::new());
        }
        self.check(actor, Deed::TransferOwnership)?;
        let role = self.fold.member(user).ok_or(Refusal::NotFound)?.role;
        if user == actor {
            return Ok(Vec::new());
        }
        // Nobody could reach the owner.
        if self.disabled.contains(&user) {
            return Err(Refusal::Forbidden);
        }
        if role == Role::Member && self.fold.details().staff.len() >= STAFF_MAX {
            return Err(Refusal::TooManyStaff);
        }
        Ok(vec![Change::OwnershipTransferred { by: actor, user_id: user }])
    }

    fn keeps_an_owner_without(&self, user: UserId) -> Result<(), Refusal> {
        let mut owners = self.fold.details().owners();
        let is_only_owner = owners.next() == Some(user) && owners.next().is_none();
        if is_only_owner { Err(Refusal::LastOwner) } else { Ok(()) }
    }

    fn update(&self, actor: UserId, change: &DetailsChange) -> Result<Vec<Change>, Refusal> {
        self.check(actor, Deed::Read)?;
        if change.is_about_rules() {
            self.check(actor, Deed::EditRules)?;
        }
        if change.is_about_groups() {
            self.check(actor, Deed::EditDetails)?;
        }
        if change.message_ttl_secs.is_some() {
            self.check(actor, Deed::SetTimer)?;
        }
        let change = change.clone().relative_to(self.fold.details());
        if change.is_empty() {
            return Ok(Vec::new());
        }
        Ok(vec![Change::DetailsChanged { by: actor, change: Box::new(change) }])
    }

    fn pin(&self, actor: UserId, target: Target) -> Result<Vec<Change>, Refusal> {
        self.check(actor, Deed::Pin)?;
        self.visible(actor, target)?;
        let pins = &self.fold.details().pins;
        if pins.iter().any(|pin| pin.seq == target.seq) {
            return Ok(Vec::new());
        }
        if pins.len() >= PINS_PER_CONVERSATION_MAX {
            return Err(Refusal::TooManyPins);
        }
        Ok(vec![Change::Pinned { by: actor, target }])
    }

    fn unpin(&self, actor: UserId, target: Target) -> Result<Vec<Change>, Refusal> {
        self.check(actor, Deed::Pin)?;
        let is_pinned = self.fold.details().pins.iter().any(|pin| pin.seq == target.seq);
        Ok(if is_pinned { vec![Change::Unpinned { by: actor, target }] } else { Vec::new() })
    }

    fn create_invite(
        &self,
        actor: UserId,
        token: &InviteToken,
        client_id: Option<&ClientId>,
        expires_at: Option<Timestamp>,
        uses_max: Option<u32>,
    ) -> Result<Vec<Change>, Refusal> {
        self.check(actor, Deed::CreateInvite)?;
        let made = self.fold.details().invites.iter().filter(|invite| invite.created_by == actor);
        if client_id.is_some() && made.map(|invite| &invite.client_id).any(|made| made.as_ref() == client_id)
        {
            return Ok(Vec::new());
        }
        let usable = self.fold.details().invites.iter().filter(|invite| invite.is_usable(self.now));
        if usable.count() >= INVITES_PER_CONVERSATION_MAX {
            return Err(Refusal::TooManyInvites);
        }
        let invite = Invite {
            id: InviteId::new(self.id),
            token: token.clone(),
            client_id: client_id.cloned(),
            created_by: actor,
            created_at: MessageId::new(self.id).timestamp(),
            expires_at,
            uses_max,
            uses: 0,
        };
        Ok(vec![Change::InviteCreated { invite: Box::new(invite) }])
    }

    fn revoke_invite(&self, actor: UserId, id: InviteId) -> Result<Vec<Change>, Refusal> {
        self.check(actor, Deed::OwnInvites)?;
        // Who revokes it twice has what they wanted.
        let Some(invite) = self.fold.details().invite(id) else { return Ok(Vec::new()) };
        if invite.created_by != actor {
            self.check(actor, Deed::ManageInvites)?;
        }
        Ok(vec![Change::InviteRevoked { by: actor, invite_id: id }])
    }
}
