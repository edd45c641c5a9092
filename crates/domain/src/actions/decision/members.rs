//! Members: adding, joining, leaving, removing and roles.

use godwit_protocol::conversations::{HistoryVisibility, Role};
use godwit_protocol::limits::{BANS_PER_CONVERSATION_MAX, MEMBERS_MAX, STAFF_MAX};
use godwit_protocol::{Seq, UserId};

use super::case::Case;
use crate::actions::refusal::Refusal;
use crate::actions::rules::{self, Deed};
use crate::model::{Change, FanOut, Invite, InviteToken, JoiningTerms, Member};

/// Members added per entry.
const MEMBERS_PER_ENTRY_MAX: usize = 256;

impl Case<'_, '_> {
    pub(super) fn add_members(&self, actor: UserId, users: &[UserId]) -> Result<Vec<Change>, Refusal> {
        self.check(actor, Deed::AddMembers)?;
        let room = MEMBERS_MAX.saturating_sub(self.fold.details().member_count as usize);
        let mut new: Vec<UserId> = Vec::new();
        for user in users {
            let is_kept_out =
                self.fold.details().is_banned(*user) || self.known.unwilling.contains(&(actor, *user));
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

    /// The terms for members who join with the entry at this position of the batch: the first entry that they see, and
    /// whether the entry makes the conversation large.
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

    pub(super) fn join(&self, actor: UserId, invite: Option<&InviteToken>) -> Result<Vec<Change>, Refusal> {
        let details = self.fold.details();
        if self.fold.conversation().kind.is_direct() {
            return Err(Refusal::NotFound);
        }
        if self.fold.member(actor).is_some() {
            return Ok(Vec::new());
        }
        if self.known.disabled.contains(&actor) {
            return Err(Refusal::Disabled);
        }
        let is_banned = details.is_banned(actor);
        let invite = match invite {
            Some(token) => {
                let invite = details.invites.iter().find(|invite| invite.token == *token);
                let invite = invite.filter(|invite| !is_banned && self.works(invite));
                Some(invite.ok_or(Refusal::InviteInvalid)?)
            }
            // A user who is not a member and may not join must not learn that the conversation exists.
            None if is_banned || !details.permissions.anyone_may_join => return Err(Refusal::NotFound),
            None => None,
        };
        if details.member_count as usize >= MEMBERS_MAX {
            return Err(Refusal::TooManyMembers);
        }
        let terms = self.terms(0, details.member_count + 1, false);
        Ok(vec![Change::MemberJoined { user_id: actor, invite: invite.map(|invite| invite.id), terms }])
    }

    /// An invite works only while its creator may invite.
    fn works(&self, invite: &Invite) -> bool {
        let role = self.fold.member(invite.created_by).map(|maker| maker.role);
        let (kind, permissions) = (self.fold.conversation().kind, self.fold.details().permissions);
        invite.is_usable(self.now)
            && rules::may_invite(kind, permissions, role)
            && !self.known.disabled.contains(&invite.created_by)
    }

    pub(super) fn leave(&self, actor: UserId) -> Result<Vec<Change>, Refusal> {
        self.check(actor, Deed::Leave)?;
        self.keeps_an_owner_without(actor)?;
        Ok(vec![Change::MemberLeft { user_id: actor }])
    }

    pub(super) fn remove(&self, actor: UserId, user: UserId) -> Result<Vec<Change>, Refusal> {
        if user == actor {
            return self.leave(actor);
        }
        // The permission is checked even if `user` is not a member, so that a direct conversation gives the same answer for
        // every user.
        self.check(actor, Deed::Read)?;
        let role = self.fold.member(user).map(|member| member.role);
        self.check(actor, Deed::Remove(role.unwrap_or(Role::Member)))?;
        // Removing a user twice succeeds.
        Ok(role.map(|_| Change::MemberRemoved { by: actor, user_id: user }).into_iter().collect())
    }

    pub(super) fn ban(&self, actor: UserId, user: UserId) -> Result<Vec<Change>, Refusal> {
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

    pub(super) fn unban(&self, actor: UserId, user: UserId) -> Result<Vec<Change>, Refusal> {
        self.check(actor, Deed::ManageBans)?;
        let is_banned = self.fold.details().is_banned(user);
        Ok(if is_banned { vec![Change::MemberUnbanned { by: actor, user_id: user }] } else { Vec::new() })
    }

    pub(super) fn set_role(&self, actor: UserId, user: UserId, role: Role) -> Result<Vec<Change>, Refusal> {
        let is_own = |member: &&Member| member.user_id == user && member.role == role;
        if self.fold.member(actor).filter(is_own).is_some() {
            // A retry: the actor has stepped down already and may no longer set roles.
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

    pub(super) fn transfer(&self, actor: UserId, user: UserId) -> Result<Vec<Change>, Refusal> {
        let role_of = |user: UserId| self.fold.member(user).map(|member| member.role);
        if (role_of(actor), role_of(user)) == (Some(Role::Admin), Some(Role::Owner)) {
            // A retry: the transfer has already happened.
            return Ok(Vec::new());
        }
        self.check(actor, Deed::TransferOwnership)?;
        let role = self.fold.member(user).ok_or(Refusal::NotFound)?.role;
        if user == actor {
            return Ok(Vec::new());
        }
        // Nobody could contact the new owner.
        if self.known.disabled.contains(&user) {
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
}
