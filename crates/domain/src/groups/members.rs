//! Members and their roles, joining and leaving.

use std::collections::{BTreeSet, HashMap};

use godwit_protocol::conversations::{Conversation as WireConversation, Role};
use godwit_protocol::groups::{AddedMember, Member as WireMember};
use godwit_protocol::limits::{MEMBERS_MAX, PAGE_BYTES_MAX};
use godwit_protocol::{ConversationId, ErrorCode, UserId};

use super::{Groups, at_most, results};
use crate::actions::{Action, Deed, Refusal};
use crate::bounds::Budget;
use crate::conversations::Live;
use crate::model::{Change, ConversationState, InvalidField, InviteToken, Member, SearchPrefix, User};
use crate::ports::StoreError;
use crate::sight::Discretion;

/// Members that are read for one page of a filtered list.
const MEMBERS_LOOKED_THROUGH_MAX: usize = 2_000;

/// Selects members.
#[derive(Debug, Clone, Default)]
pub struct MemberFilter {
    pub role: Option<Role>,
    /// The handle or a word of the name begins with this prefix.
    pub name: Option<SearchPrefix>,
}

impl Groups {
    /// Adds users, and returns the outcome for each, in the order of the request.
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
        let acted = self.actions.act(by, id, Action::AddMembers { user_ids }).await;
        let mut added = BTreeSet::new();
        for entry in acted.iter().flat_map(|done| &done.entries) {
            if let Change::MembersAdded { user_ids, .. } = &entry.change {
                added.extend(user_ids.iter().copied());
            }
        }
        // If the outcome is unknown, the users may have been added.
        if !acted.as_ref().is_err_and(Refusal::is_failure) {
            self.allowances.give_back(by, amounts.minus(addable.amounts_of(&added))).await?;
        }
        acted?;
        let left_out: Vec<UserId> = addable.users.difference(&added).copied().collect();
        let refused = self.consent.of(by, Some(id), &left_out).await?.refused;
        let mut unadded = HashMap::new();
        for user in &left_out {
            let reason = if live.read(|state| state.details.is_banned(*user)) {
                ErrorCode::Banned
            } else if self.conversations.member(&live, *user).await?.is_some() {
                ErrorCode::AlreadyMember
            } else if live.read(|state| state.details.member_count as usize) >= MEMBERS_MAX {
                ErrorCode::TooManyMembers
            } else {
                // The user has changed `may_be_added_by` since the check, possibly more than once.
                refused.get(user).copied().unwrap_or(ErrorCode::NeedsInvite)
            };
            unadded.insert(*user, reason);
        }
        Ok(results(users, &addable.refused, |user| unadded.get(&user).copied()))
    }

    pub async fn remove_member(&self, by: UserId, id: ConversationId, user: UserId) -> Result<(), Refusal> {
        self.actions.act(by, id, Action::RemoveMember(user)).await?;
        Ok(())
    }

    pub async fn set_role(
        &self,
        by: UserId,
        id: ConversationId,
        user: UserId,
        role: Role,
    ) -> Result<(), Refusal> {
        self.actions.act(by, id, Action::SetRole(user, role)).await?;
        Ok(())
    }

    pub async fn transfer_ownership(
        &self,
        by: UserId,
        id: ConversationId,
        to: UserId,
    ) -> Result<(), Refusal> {
        self.actions.act(by, id, Action::TransferOwnership(to)).await?;
        Ok(())
    }

    /// Joins a conversation that is open to anybody.
    pub async fn join(&self, by: UserId, id: ConversationId) -> Result<WireConversation, Refusal> {
        self.enter(by, id, None).await
    }

    /// Leaves. With `block`, leaves for good: nobody can add the user again, and the member who added the user is blocked.
    pub async fn leave(&self, by: UserId, id: ConversationId, block: bool) -> Result<(), Refusal> {
        if block {
            return self.leave_for_good(by, id).await;
        }
        self.actions.act(by, id, Action::Leave).await?;
        Ok(())
    }

    pub(super) async fn enter(
        &self,
        by: UserId,
        id: ConversationId,
        invite: Option<InviteToken>,
    ) -> Result<WireConversation, Refusal> {
        // The limit does not apply to a user who is a member already.
        let is_member = match self.conversations.get(id).await? {
            Some(live) => self.conversations.member(&live, by).await?.is_some(),
            None => false,
        };
        if !is_member && self.is_in_too_many(by).await? {
            return Err(Refusal::TooManyConversations);
        }
        self.actions.act(by, id, Action::Join { invite }).await?;
        self.welcome_back(by, id).await?;
        Ok(self.inbox.conversation(by, id).await?)
    }

    /// Members after `after`, and the cursor of the next page. A page can have fewer members than the limit.
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

    /// Members that match the filter, sorted by id. Owners and admins are known without reading all members.
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
