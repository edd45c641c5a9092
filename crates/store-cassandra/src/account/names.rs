//! Handles and subjects, which are unique over all accounts.
//!
//! A user first reserves a name in the table `names` and then writes it into the profile. Only the profile
//! decides who has a name. A crash may separate the two steps, therefore:
//!
//! - An attempt reads the counter `naming` of its account, reserves the name under a new random `claim`, and
//!   writes the profile only if `naming` is unchanged. The counter works as a fencing token.
//! - Another user may find a name reserved by an account whose profile does not have it. They raise `naming` of
//!   that account, so that an unfinished attempt there fails, and then take the name over, provided that it
//!   still has the claim that they saw. A reservation made in the meantime has another claim.
//! - A new handle raises `naming` of its user too. The user keeps the old name as long as the profile says so.
//!   Otherwise they release it, provided that it still has the claim from before. So an attempt of the same
//!   user to get the old name back does not lose it.
//!
//! A reservation left by a failed attempt stays until another user wants the name.

use std::sync::Arc;
use std::time::Duration;

use godwit_domain::account::{AccountCommand, AccountEffect, AccountOutcome, Decision, Name};
use godwit_domain::model::User;
use godwit_domain::ports::StoreError;
use godwit_protocol::{Timestamp, UserId};
use scylla::errors::PrepareError;
use uuid::Uuid;

use super::Accounts;
use super::change::{self, Changed, Of, Outside};
use super::rows::Key;
use super::snapshot::Want;
use super::txn::Txn;
use crate::cql::{Conditional, Cql, Outcome, Read, SerialRead, unavailable};
use crate::keyed_mutex::{Guard, KeyedMutex};
use crate::pause::pause;
use crate::values::int;

/// Attempts at a name while other users try for it too.
pub(super) const ATTEMPTS_MAX: u32 = 16;
/// The time that the holder of a reservation gets to finish before it is taken over. Correctness does not
/// depend on it. Without it, two users who want the same name would keep undoing each other's attempts.
const PATIENCE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Names {
    cql: Arc<Cql>,
    holder: Read,
    settled_holder: SerialRead,
    reserve: Conditional,
    take_over: Conditional,
    give_back: Conditional,
    attempts: KeyedMutex<Name>,
}

/// The user who has reserved a name, and the claim of the attempt.
pub(super) type Holder = (UserId, Uuid);

/// The key of a name in the table.
fn row(name: &Name) -> (&'static str, &str) {
    match name {
        Name::Handle(handle) => ("handle", handle),
        Name::Subject(subject) => ("subject", subject),
    }
}

impl Names {
    pub(super) async fn new(cql: Arc<Cql>) -> Result<Self, PrepareError> {
        let holder = "SELECT user_id, claim FROM names WHERE space = ? AND name = ?";
        let held = "WHERE space = ? AND name = ? IF user_id = ? AND claim = ?";
        let reserve = "INSERT INTO names (space, name, user_id, claim) VALUES (?, ?, ?, ?) IF NOT EXISTS";
        Ok(Self {
            holder: cql.prepare_read(holder).await?,
            settled_holder: cql.prepare_serial_read(holder).await?,
            reserve: cql.prepare_conditional(reserve).await?,
            take_over: cql
                .prepare_conditional(&format!("UPDATE names SET user_id = ?, claim = ? {held}"))
                .await?,
            give_back: cql.prepare_conditional(&format!("DELETE FROM names {held}")).await?,
            attempts: KeyedMutex::default(),
            cql,
        })
    }

    /// Lets one task of this process at a time try for a name.
    pub(super) async fn attempt(&self, name: &Name) -> Guard<'_, Name> {
        self.attempts.lock(name.clone()).await
    }

    pub(super) async fn holder(&self, name: &Name) -> Result<Option<Holder>, StoreError> {
        let row = self.cql.row("look up a name", &self.holder, row(name)).await?;
        Ok(row.map(|(id, claim): (i64, Uuid)| (UserId::new(id.cast_unsigned()), claim)))
    }

    /// Takes a name from `holder`, or a free name if that is `None`. Returns `false` when the holder has
    /// changed.
    pub(super) async fn take(
        &self,
        name: &Name,
        holder: Option<Holder>,
        by: UserId,
    ) -> Result<bool, StoreError> {
        let (id, claim) = (int(by.get()), Uuid::from_u128(rand::random()));
        let (space, text) = row(name);
        let outcome = match holder {
            None => self.cql.conditional("reserve a name", &self.reserve, (space, text, id, claim)).await,
            Some((of, seen)) => {
                let values = (id, claim, space, text, int(of.get()), seen);
                self.cql.conditional("reserve a name", &self.take_over, values).await
            }
        };
        match outcome {
            Outcome::Applied => Ok(true),
            Outcome::NotApplied => Ok(false),
            Outcome::Unknown(_) => {
                let row: Option<(i64, Uuid)> =
                    self.cql.serial_row("reserve a name", &self.settled_holder, (space, text)).await?;
                Ok(row == Some((id, claim)))
            }
        }
    }

    /// Releases a name that its holder no longer has. If that fails, the next user who wants the name takes it
    /// over.
    pub(super) async fn give_back(&self, name: &Name, (of, claim): Holder) {
        let (space, text) = row(name);
        let values = (space, text, int(of.get()), claim);
        if let Outcome::Unknown(error) = self.cql.conditional("release a name", &self.give_back, values).await
        {
            tracing::debug!(user = %of, %error, "a name may still be reserved; the next user who wants it can take it");
        }
    }
}

impl Accounts {
    /// Executes a command that may give the user names: decides on it, reserves the names that it takes, and decides again
    /// when it writes the profile.
    pub(super) async fn change_names(
        &self,
        user: UserId,
        command: AccountCommand,
    ) -> Result<AccountOutcome, StoreError> {
        let (names, command) = (command.names(), Arc::new(command));
        // Always locked in this order, which prevents a deadlock.
        let mut guards = Vec::with_capacity(names.len());
        for name in &names {
            guards.push(self.names.attempt(name).await);
        }
        for attempt in 0..ATTEMPTS_MAX {
            pause(attempt).await;
            let outside = Arc::new(self.holders(user, &names, command.names_taken_at()).await?);
            let (Decision { outcome, effects }, naming) =
                self.foresee(user, command.clone(), outside.clone()).await?;
            if effects.is_empty() {
                // Nothing was reserved, so a refused command leaves nothing behind.
                return Ok(outcome);
            }
            let released = self.reserve(user, &effects, command.names_taken_at()).await?;
            let Some(released) = released else { continue };
            if let Some(changed) = self.decide_names(user, command.clone(), outside, naming).await? {
                for (name, held) in released {
                    if changed.effects.contains(&AccountEffect::ReleaseName(name.clone())) {
                        self.names.give_back(&name, held).await;
                    }
                }
                return Ok(changed.outcome);
            }
        }
        Err(unavailable(command.name(), "too many users try to take the same names"))
    }

    /// The other users who hold these names. A user takes several names in this order. So they are looked up in the opposite
    /// order: whoever is found to hold a later name is also found to hold the earlier ones.
    async fn holders(
        &self,
        user: UserId,
        names: &[Name],
        at: Option<Timestamp>,
    ) -> Result<Outside, StoreError> {
        let mut holders = Vec::new();
        for name in names.iter().rev() {
            let Some((other, _)) = self.names.holder(name).await?.filter(|(id, _)| *id != user) else {
                continue;
            };
            let holder = self.user(other).await?.filter(|other| name.is_held_by(other, at));
            holders.extend(holder.map(|holder| (name.clone(), holder)));
        }
        Ok(Outside { holders, ..Outside::default() })
    }

    /// Decides on the command without writing. Also returns the value of `naming` that the attempt must still find when it
    /// writes the profile.
    pub(super) async fn foresee(
        &self,
        user: UserId,
        command: Arc<AccountCommand>,
        outside: Arc<Outside>,
    ) -> Result<(Decision, u64), StoreError> {
        let (name, wants) = (command.name(), change::wants(&command));
        let run = move |txn: &mut Txn<'_>| {
            let naming = txn.head().naming;
            Ok((command.decide(&mut Of { txn, outside: &outside })?, naming))
        };
        self.writer.write(name, user, wants, run).await
    }

    /// Reserves the names that these effects take, and returns the reservations of those that they release. `None` if another
    /// user holds one of the names by now.
    async fn reserve(
        &self,
        user: UserId,
        effects: &[AccountEffect],
        at: Option<Timestamp>,
    ) -> Result<Option<Vec<(Name, Holder)>>, StoreError> {
        let mut released = Vec::new();
        for effect in effects {
            if let AccountEffect::TakeName(name) = effect {
                if !self.claim(name, user, at).await? {
                    return Ok(None);
                }
            } else if let AccountEffect::ReleaseName(name) = effect {
                let holder = self.names.holder(name).await?.filter(|(holder, _)| *holder == user);
                released.extend(holder.map(|holder| (name.clone(), holder)));
            }
        }
        Ok(Some(released))
    }

    /// `None` when `naming` has changed: a later attempt of the user, or another user who took a name over, has
    /// made this attempt void.
    pub(super) async fn decide_names(
        &self,
        user: UserId,
        command: Arc<AccountCommand>,
        outside: Arc<Outside>,
        naming: u64,
    ) -> Result<Option<Changed>, StoreError> {
        let (name, wants) = (command.name(), change::wants(&command));
        let run = move |txn: &mut Txn<'_>| {
            if txn.head().naming != naming {
                return Ok(None);
            }
            change::decide(txn, &command, &outside).map(Some)
        };
        self.writer.write(name, user, wants, run).await
    }

    pub(crate) async fn user_by_name(&self, name: &Name) -> Result<Option<User>, StoreError> {
        match self.names.holder(name).await? {
            Some((id, _)) => Ok(self.user(id).await?.filter(|user| name.is_of(user))),
            None => Ok(None),
        }
    }

    /// Reserves a name that is not in the profile of `by`. False if another user holds it at that time.
    pub(super) async fn claim(
        &self,
        name: &Name,
        by: UserId,
        at: Option<Timestamp>,
    ) -> Result<bool, StoreError> {
        let mut seen = None;
        for attempt in 0..ATTEMPTS_MAX {
            pause(attempt).await;
            let holder = self.names.holder(name).await?;
            if let Some((other, _)) = holder.filter(|(id, _)| *id != by) {
                if self.user(other).await?.is_some_and(|user| name.is_held_by(&user, at)) {
                    return Ok(false);
                }
                if holder != std::mem::replace(&mut seen, holder) {
                    tokio::time::sleep(PATIENCE).await;
                    continue;
                }
                if !self.void(other, name.clone(), at).await? {
                    return Ok(false);
                }
            }
            if self.names.take(name, holder, by).await? {
                return Ok(true);
            }
        }
        Err(unavailable("reserve a name", "too many users try to take it"))
    }

    /// Makes all unfinished attempts of this user void. False if an attempt has succeeded and they now hold the
    /// name.
    async fn void(&self, user: UserId, name: Name, at: Option<Timestamp>) -> Result<bool, StoreError> {
        let run = move |txn: &mut Txn<'_>| {
            let is_held = change::profile(txn)?.is_some_and(|user| name.is_held_by(&user, at));
            if !is_held {
                txn.head_mut().naming += 1;
            }
            Ok(!is_held)
        };
        self.writer.write("take over a name", user, [Want::Row(Key::PROFILE)], run).await
    }
}
