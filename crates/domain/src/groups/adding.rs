//! Adding users to groups and channels: the permissions; and leaving for good.

use std::collections::{BTreeSet, HashMap, HashSet};

use futures_util::{StreamExt, TryStreamExt, stream};
use godwit_protocol::{ConversationId, ErrorCode, UserId};

use super::Groups;
use crate::actions::{Action, Refusal};
use crate::allowances::Amounts;
use crate::conversations::Live;
use crate::model::{AccountChange, AccountNote};
use crate::people::PeopleError;
use crate::ports::{StoreError, UpdateUser, UserChange};

/// Concurrent checks of users.
const LOOKUPS_AT_ONCE_MAX: usize = 16;

/// The users who can be added, and the reasons why the others cannot.
#[derive(Debug, Default)]
pub(super) struct Addable {
    pub(super) users: BTreeSet<UserId>,
    /// The users among `users` who have never written to the user who adds them.
    strangers: BTreeSet<UserId>,
    pub(super) refused: HashMap<UserId, ErrorCode>,
}

impl Addable {
    pub(super) fn amounts(&self) -> Amounts {
        self.amounts_of(&self.users)
    }

    /// The allowances that it takes to add these users.
    pub(super) fn amounts_of(&self, users: &BTreeSet<UserId>) -> Amounts {
        let strangers = self.strangers.intersection(users).count();
        Amounts { members: users.len(), strangers, ..Amounts::default() }
    }

    /// Moves users to the refused ones, and returns the allowances that it no longer takes.
    pub(super) fn refuse(&mut self, refused: HashMap<UserId, ErrorCode>) -> Amounts {
        let before = self.amounts();
        self.users.retain(|user| !refused.contains_key(user));
        self.refused.extend(refused);
        before.minus(self.amounts())
    }
}

impl Groups {
    /// Checks which of the users `by` can add to a conversation, or to a new one.
    pub(super) async fn addable(
        &self,
        by: UserId,
        to: Option<&Live>,
        users: &[UserId],
    ) -> Result<Addable, StoreError> {
        let consents = self.consent.of(by, to.map(Live::id), users).await?;
        let distinct: BTreeSet<UserId> = users.iter().copied().collect();
        let looked_at = stream::iter(distinct).map(|user| {
            let refused = consents.refused.get(&user).copied();
            async move { Ok::<_, StoreError>((user, self.whether_addable(to, user, refused).await?)) }
        });
        let mut looked_at = looked_at.buffered(LOOKUPS_AT_ONCE_MAX);
        let mut addable = Addable::default();
        while let Some((user, outcome)) = looked_at.try_next().await? {
            match outcome {
                Err(code) => drop(addable.refused.insert(user, code)),
                Ok(()) => drop(addable.users.insert(user)),
            }
        }
        addable.strangers = self.strangers_among(by, &addable.users, &consents.contacts).await?;
        Ok(addable)
    }

    /// `refused` is the reason why the user does not consent to it, if there is one.
    async fn whether_addable(
        &self,
        to: Option<&Live>,
        user: UserId,
        refused: Option<ErrorCode>,
    ) -> Result<Result<(), ErrorCode>, StoreError> {
        if refused != Some(ErrorCode::NotFound)
            && let Some(live) = to
            && self.conversations.member(live, user).await?.is_some()
        {
            return Ok(Err(ErrorCode::AlreadyMember));
        }
        if let Some(code) = refused {
            return Ok(Err(code));
        }
        let is_in_too_many = self.is_in_too_many(user).await?;
        Ok(if is_in_too_many { Err(ErrorCode::TooManyConversations) } else { Ok(()) })
    }

    /// The subset of the users who have never written to `by`. Empty if strangers are not counted.
    async fn strangers_among(
        &self,
        by: UserId,
        users: &BTreeSet<UserId>,
        contacts: &HashSet<UserId>,
    ) -> Result<BTreeSet<UserId>, StoreError> {
        if !self.allowances.counts_strangers() {
            return Ok(BTreeSet::new());
        }
        let others: Vec<UserId> = users.iter().copied().filter(|user| !contacts.contains(user)).collect();
        let written = self.consent.contacts_among(by, others.clone()).await?;
        Ok(others.into_iter().filter(|user| !written.contains(user)).collect())
    }

    /// Leaving is the last step, so that a user who retries after a failure is still a member.
    pub(super) async fn leave_for_good(&self, by: UserId, id: ConversationId) -> Result<(), Refusal> {
        let (_, member) = self.conversations.of_member(by, id).await?;
        self.set_refused(by, id, true).await?;
        let blocked = match member.added_by {
            Some(adder) => self.block_adder(by, adder).await?,
            None => None,
        };
        if let Err(refusal) = self.actions.act(by, id, Action::Leave).await {
            if !refusal.is_failure() {
                self.set_refused(by, id, false).await?;
                if let Some(adder) = blocked {
                    ignoring_who_is_gone(self.people.unblock(by, adder).await)?;
                }
            }
            return Err(refusal);
        }
        Ok(())
    }

    /// Blocks the user who added the caller. Returns that user, unless already blocked.
    async fn block_adder(&self, by: UserId, adder: UserId) -> Result<Option<UserId>, StoreError> {
        if self.store.blocks_between(by, adder).await?.0 {
            return Ok(None);
        }
        ignoring_who_is_gone(self.people.block(by, adder).await)?;
        Ok(Some(adder))
    }

    /// A user who joins on their own can be added again after leaving.
    pub(super) async fn welcome_back(&self, by: UserId, id: ConversationId) -> Result<(), StoreError> {
        let user = self.store.user(by).await?;
        if user.is_some_and(|user| user.refused_groups.contains(&id)) {
            self.set_refused(by, id, false).await?;
        }
        Ok(())
    }

    /// The conversations that the user has left for good, the oldest first.
    pub async fn refused(&self, by: UserId) -> Result<Vec<ConversationId>, StoreError> {
        Ok(self.store.user(by).await?.map(|user| user.refused_groups).unwrap_or_default())
    }

    /// Lets others add the user to this conversation again. Idempotent.
    pub async fn allow_again(&self, by: UserId, id: ConversationId) -> Result<(), StoreError> {
        self.welcome_back(by, id).await
    }

    async fn set_refused(&self, by: UserId, id: ConversationId, refused: bool) -> Result<(), StoreError> {
        let change = UserChange { refused_group: Some((id, refused)), ..UserChange::default() };
        let note = AccountNote { user_id: by, at: self.clock.now(), change: AccountChange::ProfileUpdated };
        if let UpdateUser::Updated(_, Some(entry)) = self.store.update_user(by, change, Some(note)).await? {
            self.account_log.announce(&[(by, entry)]).await;
        }
        Ok(())
    }
}

/// Leaving succeeds even if the adder no longer exists or the block list is full.
fn ignoring_who_is_gone(outcome: Result<(), PeopleError>) -> Result<(), StoreError> {
    match outcome {
        Ok(()) | Err(PeopleError::NotFound | PeopleError::TooManyBlocks | PeopleError::NotWithSelf) => Ok(()),
        Err(PeopleError::Store(error)) => Err(error),
    }
}
