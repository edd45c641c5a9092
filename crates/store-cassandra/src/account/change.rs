//! Changes of accounts: reads what a decision needs, and writes its effects.
//!
//! A decision is made on a [`Snapshot`](super::snapshot), again for every attempt. Its effects become rows of
//! the account, which are written only if the account still has the revision of the snapshot. Rows
//! [beside](super::beside) the account are written first, so they may be stale but are never missing.

use futures_util::future::BoxFuture;
use godwit_domain::account::{
    Account, AccountCommand, AccountEffect, AccountOutcome, AccountPart, Decision, LogHead, Name, Pins,
};
use godwit_domain::model::{AccountEntry, AccountSubject, Device, Scheduled, Settings, User};
use godwit_domain::ports::StoreError;
use godwit_protocol::{ConversationId, DeviceId, MessageId, ScheduledId, Seq, Timestamp, UserId};

use super::rows::{DEVICE, DeviceBody, Key, Present, ProfileBody, SCHEDULED, ScheduledBody, StarBody};
use super::snapshot::Want;
use super::txn::{Stop, Txn};
use super::{Accounts, log, memberships};

/// A write outside the account. It gets the revision that the account will have.
pub(crate) type Write = Box<dyn Fn(u64) -> BoxFuture<'static, Result<(), StoreError>> + Send + Sync>;

/// What a command reads and writes that is not stored in the account.
#[derive(Default)]
pub(crate) struct Outside {
    /// Whether the message is already hidden, and the number of hidden messages in its conversation.
    pub(crate) hidden: (bool, usize),
    /// The other users who hold names that the command takes.
    pub(crate) holders: Vec<(Name, User)>,
    /// Must be durable before the account has the effects of the command.
    pub(crate) write: Option<Write>,
}

/// The result of a command, and the revision of the account after it.
#[derive(Debug)]
pub(super) struct Changed {
    pub(super) outcome: AccountOutcome,
    pub(super) effects: Vec<AccountEffect>,
    revision: u64,
}

impl Accounts {
    pub(crate) async fn change(
        &self,
        user: UserId,
        command: AccountCommand,
        mut outside: Outside,
    ) -> Result<AccountOutcome, StoreError> {
        if !command.names().is_empty() {
            return self.change_names(user, command).await;
        }
        let (name, wants) = (command.name(), wants(&command));
        let before = self.beside.before(user, outside.write.take());
        let run = move |txn: &mut Txn<'_>| decide(txn, &command, &outside);
        let changed = self.writer.write_after(name, user, wants, Some(before), run).await?;
        for effect in &changed.effects {
            self.beside.after(effect, changed.revision).await?;
        }
        Ok(changed.outcome)
    }
}

/// The rows that a command is certain to read.
pub(super) fn wants(command: &AccountCommand) -> Vec<Want> {
    let want = |part| match part {
        AccountPart::Profile => Some(Want::Row(Key::PROFILE)),
        AccountPart::Device(id) => Some(Want::Row(Key::device(id))),
        AccountPart::Devices => Some(Want::all(DEVICE)),
        AccountPart::Block(user) => Some(Want::Row(Key::block(user))),
        AccountPart::Star(message) => Some(Want::Row(Key::star(message))),
        AccountPart::Hidden { .. } => None,
        AccountPart::Scheduled => Some(Want::all(SCHEDULED)),
        AccountPart::ScheduledOne(id) => Some(Want::Row(Key::scheduled(id))),
        AccountPart::Settings(conversation) => Some(Want::Row(Key::membership(conversation))),
        AccountPart::Pins => Some(Want::Row(Key::PINS)),
        AccountPart::EntryAbout(subject) => Some(Want::Row(Key::newest(subject))),
    };
    command.parts().into_iter().filter_map(want).collect()
}

pub(super) fn decide(
    txn: &mut Txn<'_>,
    command: &AccountCommand,
    outside: &Outside,
) -> Result<Changed, Stop> {
    let Decision { outcome, effects } = command.decide(&mut Of { txn, outside })?;
    effects.iter().try_for_each(|effect| write_effect(txn, effect))?;
    Ok(Changed { outcome, effects, revision: txn.revision() })
}

/// The account of one user, read through a transaction.
pub(super) struct Of<'a, 't> {
    pub(super) txn: &'a mut Txn<'t>,
    pub(super) outside: &'a Outside,
}

impl Account for Of<'_, '_> {
    type Stop = Stop;

    fn profile(&mut self) -> Result<Option<User>, Stop> {
        profile(self.txn)
    }

    /// Names without a holder are [reserved](super::names) before a decision is written.
    fn holder(&mut self, name: &Name, _: Option<Timestamp>) -> Result<Option<User>, Stop> {
        let holder = self.outside.holders.iter().find(|(held, _)| held == name);
        Ok(holder.map(|(_, user)| user.clone()))
    }

    fn device(&mut self, id: DeviceId) -> Result<Option<Device>, Stop> {
        let user = self.txn.user();
        Ok(self.txn.get(Key::device(id))?.map(|body: DeviceBody| body.into_device(id, user)))
    }

    fn devices(&mut self) -> Result<Vec<Device>, Stop> {
        let user = self.txn.user();
        let rows = self.txn.all::<DeviceBody>(DEVICE)?;
        Ok(rows.into_iter().map(|(key, body)| body.into_device(DeviceId::new(key.number()), user)).collect())
    }

    fn blocks(&mut self, user: UserId) -> Result<bool, Stop> {
        Ok(self.txn.get::<Present>(Key::block(user))?.is_some())
    }

    fn block_count(&mut self) -> Result<usize, Stop> {
        Ok(count(self.txn.head().blocks))
    }

    fn has_star(&mut self, message: MessageId) -> Result<bool, Stop> {
        Ok(self.txn.get::<StarBody>(Key::star(message))?.is_some())
    }

    fn star_count(&mut self) -> Result<usize, Stop> {
        Ok(count(self.txn.head().stars))
    }

    fn hides(&mut self, _: ConversationId, _: Seq) -> Result<bool, Stop> {
        Ok(self.outside.hidden.0)
    }

    fn hidden_count(&mut self, _: ConversationId) -> Result<usize, Stop> {
        Ok(self.outside.hidden.1)
    }

    fn scheduled(&mut self) -> Result<Vec<Scheduled>, Stop> {
        let user = self.txn.user();
        let rows = self.txn.all::<ScheduledBody>(SCHEDULED)?;
        let scheduled =
            |(key, body): (Key, ScheduledBody)| body.into_scheduled(ScheduledId::new(key.number()), user);
        Ok(rows.into_iter().map(scheduled).collect())
    }

    fn scheduled_one(&mut self, id: ScheduledId) -> Result<Option<Scheduled>, Stop> {
        let user = self.txn.user();
        Ok(self.txn.get(Key::scheduled(id))?.map(|body: ScheduledBody| body.into_scheduled(id, user)))
    }

    fn settings(&mut self, conversation: ConversationId) -> Result<Settings, Stop> {
        Ok(memberships::membership(self.txn, conversation)?.settings)
    }

    fn pins(&mut self) -> Result<Pins, Stop> {
        Ok(Pins(self.txn.get(Key::PINS)?.unwrap_or_default()))
    }

    fn log_head(&mut self) -> Result<LogHead, Stop> {
        Ok(self.txn.head().log())
    }

    fn entry_about(&mut self, subject: AccountSubject) -> Result<Option<u64>, Stop> {
        self.txn.get(Key::newest(subject))
    }

    fn oldest_entry(&mut self) -> Result<Option<AccountEntry>, Stop> {
        log::oldest(self.txn)
    }
}

pub(super) fn profile(txn: &mut Txn<'_>) -> Result<Option<User>, Stop> {
    let user = txn.user();
    Ok(txn.get(Key::PROFILE)?.map(|body: ProfileBody| body.into_user(user)))
}

fn write_effect(txn: &mut Txn<'_>, effect: &AccountEffect) -> Result<(), Stop> {
    match effect {
        AccountEffect::PutProfile { after, .. } => {
            txn.put(Key::PROFILE, &ProfileBody::from(&**after));
        }
        // The name has already been reserved. This makes other attempts of the same user, begun before, fail.
        AccountEffect::TakeName(_) => txn.head_mut().naming += 1,
        AccountEffect::AddDevice(device) | AccountEffect::ChangeDevice(device) => {
            txn.put(Key::device(device.id), &DeviceBody::from(device));
        }
        AccountEffect::RemoveDevice(id) => txn.remove(Key::device(*id)),
        AccountEffect::AddBlock(blocked) => {
            txn.put(Key::block(*blocked), &Present {});
            txn.head_mut().blocks += 1;
        }
        AccountEffect::RemoveBlock(blocked) => {
            txn.remove(Key::block(*blocked));
            txn.head_mut().blocks -= 1;
        }
        AccountEffect::AddStar(star) => {
            txn.put(Key::star(star.message_id), &StarBody::from(star));
            txn.head_mut().stars += 1;
        }
        AccountEffect::RemoveStar(message) => {
            txn.remove(Key::star(*message));
            txn.head_mut().stars -= 1;
        }
        AccountEffect::PutScheduled { after, .. } => {
            txn.put(Key::scheduled(after.id), &ScheduledBody::from(&**after));
        }
        AccountEffect::RemoveScheduled(before) => txn.remove(Key::scheduled(before.id)),
        AccountEffect::PutSettings(conversation, settings) => {
            memberships::put_settings(txn, *conversation, settings)?;
        }
        AccountEffect::PutPins(Pins(pins)) => txn.put(Key::PINS, pins),
        AccountEffect::Note(noted) => log::write_noted(txn, noted)?,
        // Stored outside the account.
        AccountEffect::ReleaseName(_) | AccountEffect::Hide(..) => {}
    }
    Ok(())
}

fn count(stored: u64) -> usize {
    usize::try_from(stored).unwrap_or(usize::MAX)
}
