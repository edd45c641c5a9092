//! Changes of accounts: reads what a decision needs, and writes its effects.

use godwit_domain::account::{
    Account, AccountCommand, AccountEffect, AccountOutcome, Decision, LogHead, Name, Pins,
};
use godwit_domain::model::{AccountEntry, AccountSubject, Concealed, Device, Scheduled, Settings, User};
use godwit_domain::ports::StoreError;
use godwit_protocol::{ConversationId, DeviceId, MessageId, ScheduledId, Seq, Timestamp, UserId};

use super::{concealed, devices, log, names, scheduled, users};
use crate::inbox::listing;
use crate::keys::{self, Key};
use crate::read::Read;
use crate::records::{AccountSubjectRecord, CountRecord, DeviceRecord, StarRecord, present};
use crate::txn::Txn;

/// The account of one user within a transaction, so nothing changes it before the effects are written.
pub(super) struct Of<'a, S> {
    pub(super) store: &'a S,
    pub(super) user: UserId,
}

impl<S: Read> Account for Of<'_, S> {
    type Stop = StoreError;

    fn profile(&mut self) -> Result<Option<User>, StoreError> {
        users::user(self.store, self.user)
    }

    fn holder(&mut self, name: &Name, at: Option<Timestamp>) -> Result<Option<User>, StoreError> {
        let owner = names::owner(self.store, &names::key(name))?;
        Ok(owner.filter(|owner| owner.id != self.user && name.is_held_by(owner, at)))
    }

    fn device(&mut self, id: DeviceId) -> Result<Option<Device>, StoreError> {
        Ok(devices::device(self.store, id)?.filter(|device| device.user_id == self.user))
    }

    fn devices(&mut self) -> Result<Vec<Device>, StoreError> {
        devices::devices_of(self.store, self.user)
    }

    fn blocks(&mut self, user: UserId) -> Result<bool, StoreError> {
        self.store.contains(&keys::block(self.user, user))
    }

    fn block_count(&mut self) -> Result<usize, StoreError> {
        count(self.store, &keys::block_count(self.user))
    }

    fn has_star(&mut self, message: MessageId) -> Result<bool, StoreError> {
        self.store.contains(&keys::star(self.user, message))
    }

    fn star_count(&mut self) -> Result<usize, StoreError> {
        count(self.store, &keys::star_count(self.user))
    }

    fn hides(&mut self, conversation: ConversationId, seq: Seq) -> Result<bool, StoreError> {
        self.store.contains(&keys::hidden(self.user, conversation, seq))
    }

    fn hidden_count(&mut self, conversation: ConversationId) -> Result<usize, StoreError> {
        count(self.store, &keys::hidden_count(self.user, conversation))
    }

    fn scheduled(&mut self) -> Result<Vec<Scheduled>, StoreError> {
        scheduled::all(self.store, self.user)
    }

    fn scheduled_one(&mut self, id: ScheduledId) -> Result<Option<Scheduled>, StoreError> {
        scheduled::one(self.store, self.user, id)
    }

    fn settings(&mut self, conversation: ConversationId) -> Result<Settings, StoreError> {
        Ok(listing::of(self.store, self.user, conversation)?.into_settings())
    }

    fn pins(&mut self) -> Result<Pins, StoreError> {
        listing::pins(self.store, self.user)
    }

    fn log_head(&mut self) -> Result<LogHead, StoreError> {
        log::head(self.store, self.user)
    }

    fn entry_about(&mut self, subject: AccountSubject) -> Result<Option<u64>, StoreError> {
        let newest = self.store.record(&keys::account_subject(self.user, subject))?;
        Ok(newest.map(|AccountSubjectRecord(seq)| seq))
    }

    fn oldest_entry(&mut self) -> Result<Option<AccountEntry>, StoreError> {
        log::oldest(self.store, self.user)
    }
}

/// Decides on a command, and writes its effects.
pub(crate) fn change(
    txn: &mut Txn<'_>,
    user: UserId,
    command: &AccountCommand,
) -> Result<AccountOutcome, StoreError> {
    let Decision { outcome, effects } = command.decide(&mut Of { store: txn, user })?;
    effects.into_iter().try_for_each(|effect| write_effect(txn, user, effect))?;
    Ok(outcome)
}

fn write_effect(txn: &mut Txn<'_>, user: UserId, effect: AccountEffect) -> Result<(), StoreError> {
    match effect {
        AccountEffect::PutProfile { before, after } => users::put(txn, before.as_deref(), &after),
        AccountEffect::TakeName(name) => names::take(txn, user, &name),
        AccountEffect::ReleaseName(name) => names::release(txn, user, &name)?,
        AccountEffect::AddDevice(device) => {
            txn.put_record(keys::device(device.id), &DeviceRecord::from(&device));
            txn.put(keys::device_of(user, device.id), present());
        }
        AccountEffect::ChangeDevice(device) => {
            txn.put_record(keys::device(device.id), &DeviceRecord::from(&device));
        }
        AccountEffect::RemoveDevice(id) => {
            txn.remove(keys::device(id));
            txn.remove(keys::device_of(user, id));
        }
        AccountEffect::AddBlock(blocked) => {
            txn.put(keys::block(user, blocked), present());
            txn.put(keys::blocker(blocked, user), present());
            add(txn, keys::block_count(user), 1)?;
        }
        AccountEffect::RemoveBlock(blocked) => {
            txn.remove(keys::block(user, blocked));
            txn.remove(keys::blocker(blocked, user));
            add(txn, keys::block_count(user), -1)?;
        }
        AccountEffect::AddStar(star) => {
            txn.put_record(keys::star(user, star.message_id), &StarRecord::from(&star));
            add(txn, keys::star_count(user), 1)?;
        }
        AccountEffect::RemoveStar(message) => {
            txn.remove(keys::star(user, message));
            add(txn, keys::star_count(user), -1)?;
        }
        AccountEffect::Hide(conversation, seq) => hide(txn, user, conversation, seq)?,
        AccountEffect::PutScheduled { before, after } => {
            scheduled::put(txn, before.as_deref(), &after);
        }
        AccountEffect::RemoveScheduled(before) => scheduled::remove(txn, &before),
        AccountEffect::Note(noted) => log::write(txn, user, &noted),
        AccountEffect::PutSettings(conversation, settings) => {
            listing::put_settings(txn, user, conversation, &settings)?;
        }
        AccountEffect::PutPins(pins) => listing::put_pins(txn, user, pins),
    }
    Ok(())
}

fn hide(txn: &mut Txn<'_>, user: UserId, conversation: ConversationId, seq: Seq) -> Result<(), StoreError> {
    let key = keys::hidden(user, conversation, seq);
    if !txn.contains(&key)? {
        txn.put(key, present());
        txn.put(keys::hidden_from(conversation, seq, user), present());
        add(txn, keys::hidden_count(user, conversation), 1)?;
    }
    concealed::conceal(txn, conversation, user, Concealed::hiding(seq))
}

fn count(store: &impl Read, key: &Key) -> Result<usize, StoreError> {
    let CountRecord(count) = store.record(key)?.unwrap_or_default();
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

fn add(txn: &mut Txn<'_>, key: Key, change: i64) -> Result<(), StoreError> {
    let CountRecord(count) = txn.record(&key)?.unwrap_or_default();
    txn.put_record(key, &CountRecord(count.saturating_add_signed(change)));
    Ok(())
}
