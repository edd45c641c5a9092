//! Handles and subjects, which are unique over all accounts.
//!
//! A name is first reserved in `names` and then stands in the profile, which alone says whose it is. Between the two
//! anything may happen, so:
//!
//! - An attempt reads `naming` of its account, reserves the name with a new `claim`, and writes the profile only if
//!   `naming` is what it was.
//! - Whoever finds a name reserved by somebody whose profile does not have it raises `naming` of that account, so that the
//!   attempt comes to nothing if there is one; and then takes the name over, if it still has the claim that was seen. Who
//!   has reserved it anew since has another claim, and a `naming` that was read after it was raised.
//! - A user who has a new handle raises their own `naming` with it. They keep the old name as long as their profile says
//!   that they hold it; if it does not, they give it back if it has the claim that it had before. So an attempt of theirs to
//!   have it back is not left without it.
//!
//! What an attempt has reserved for nothing stays until somebody wants it.

use std::sync::Arc;
use std::time::Duration;

use godwit_domain::model::{Handle, Subject, User};
use godwit_domain::ports::StoreError;
use godwit_protocol::{Timestamp, UserId};
use scylla::errors::PrepareError;
use uuid::Uuid;

use super::rows::Key;
use super::snapshot::Want;
use super::txn::Txn;
use super::{Accounts, users};
use crate::cql::{Conditional, Cql, Outcome, Read, SerialRead, unavailable};
use crate::pause::pause;
use crate::turns::{Turn, Turns};
use crate::values::int;

/// How often a name is tried for while others do the same.
pub(super) const ATTEMPTS_MAX: u32 = 16;
/// Who has reserved a name is given so long to finish. Nothing depends on it, but two who want the same name would
/// otherwise undo each other's attempts.
const PATIENCE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Names {
    cql: Arc<Cql>,
    holder: Read,
    settled_holder: SerialRead,
    reserve: Conditional,
    take_over: Conditional,
    give_back: Conditional,
    attempts: Turns<Name>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Name {
    space: &'static str,
    text: Box<str>,
}

/// Who has reserved a name, and the number of that attempt.
pub(super) type Holder = (UserId, Uuid);

#[expect(clippy::large_enum_variant, reason = "an answer that is looked at once and not kept")]
#[derive(Debug)]
pub(super) enum Claim {
    Reserved,
    TakenBy(User),
}

impl Name {
    const HANDLES: &str = "handle";
    const SUBJECTS: &str = "subject";

    /// Whether the user holds the name at a time, which matters for handles that they have given up.
    fn is_held_by(&self, user: &User, at: Option<Timestamp>) -> bool {
        match self.space {
            Self::HANDLES => user.holds(&self.text, at),
            _ => self.is_of(user),
        }
    }

    fn is_of(&self, user: &User) -> bool {
        match self.space {
            Self::HANDLES => *user.handle == *self.text,
            _ => user.subject.as_deref() == Some(&self.text),
        }
    }
}

impl From<&Handle> for Name {
    fn from(handle: &Handle) -> Self {
        Self { space: Self::HANDLES, text: (**handle).into() }
    }
}

impl From<&Subject> for Name {
    fn from(subject: &Subject) -> Self {
        Self { space: Self::SUBJECTS, text: (**subject).into() }
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
            attempts: Turns::default(),
            cql,
        })
    }

    /// One attempt at a name at a time in this process.
    pub(super) async fn attempt(&self, name: &Name) -> Turn<'_, Name> {
        self.attempts.take(name.clone()).await
    }

    pub(super) async fn holder(&self, name: &Name) -> Result<Option<Holder>, StoreError> {
        let row = self.cql.row("look up a name", &self.holder, (name.space, &*name.text)).await?;
        Ok(row.map(|(id, claim): (i64, Uuid)| (UserId::new(id.cast_unsigned()), claim)))
    }

    /// Takes a name from `holder`, who may be nobody. `false` when it was not the holder.
    pub(super) async fn take(
        &self,
        name: &Name,
        holder: Option<Holder>,
        by: UserId,
    ) -> Result<bool, StoreError> {
        let (id, claim) = (int(by.get()), Uuid::from_u128(rand::random()));
        let (space, text) = (name.space, &*name.text);
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

    /// Frees a name that its holder does not have any more. If it fails, whoever wants the name takes it over.
    pub(super) async fn give_back(&self, name: &Name, (of, claim): Holder) {
        let values = (name.space, &*name.text, int(of.get()), claim);
        if let Outcome::Unknown(error) =
            self.cql.conditional("give a name back", &self.give_back, values).await
        {
            tracing::debug!(user = %of, %error, "a name may not have been given back, the next to want it takes it");
        }
    }
}

impl Accounts {
    pub(super) async fn user_by_name(&self, name: &Name) -> Result<Option<User>, StoreError> {
        match self.names.holder(name).await? {
            Some((id, _)) => Ok(self.user(id).await?.filter(|user| name.is_of(user))),
            None => Ok(None),
        }
    }

    /// Reserves a name that is not in the profile of `by`, unless another user holds it at that time.
    pub(super) async fn claim(
        &self,
        name: &Name,
        by: UserId,
        at: Option<Timestamp>,
    ) -> Result<Claim, StoreError> {
        let mut seen = None;
        for attempt in 0..ATTEMPTS_MAX {
            pause(attempt).await;
            let holder = self.names.holder(name).await?;
            if let Some((other, _)) = holder.filter(|(id, _)| *id != by) {
                if let Some(user) = self.user(other).await?.filter(|user| name.is_held_by(user, at)) {
                    return Ok(Claim::TakenBy(user));
                }
                if holder != std::mem::replace(&mut seen, holder) {
                    tokio::time::sleep(PATIENCE).await;
                    continue;
                }
                if let Some(user) = self.void(other, name.clone(), at).await? {
                    return Ok(Claim::TakenBy(user));
                }
            }
            if self.names.take(name, holder, by).await? {
                return Ok(Claim::Reserved);
            }
        }
        Err(unavailable("reserve a name", "others try for it all the time"))
    }

    /// Makes every attempt at names that this user has begun come to nothing. The user if one has come to its end.
    async fn void(
        &self,
        user: UserId,
        name: Name,
        at: Option<Timestamp>,
    ) -> Result<Option<User>, StoreError> {
        let run = move |txn: &mut Txn<'_>| {
            let owner = users::profile(txn)?.filter(|user| name.is_held_by(user, at));
            if owner.is_none() {
                txn.head_mut().naming += 1;
            }
            Ok(owner)
        };
        self.writer.write("take over a name", user, [Want::Row(Key::PROFILE)], run).await
    }
}
