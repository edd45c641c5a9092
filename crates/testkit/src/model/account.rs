//! The account of one user: the parts that decisions read, and the writes of their effects.

use std::convert::Infallible;

use async_trait::async_trait;
use godwit_domain::account::{
    Account, AccountCommand, AccountEffect, AccountOutcome, Decision, LogHead, Name, Noted, Pins, note,
};
use godwit_domain::model::{
    AccountEntry, AccountNote, AccountSubject, Concealed, Device, Scheduled, Settings, User,
};
use godwit_domain::ports::{AccountStore, StoreError};
use godwit_protocol::{ConversationId, DeviceId, MessageId, ScheduledId, Seq, Timestamp, UserId};

use super::{ModelStore, Moment, State};

#[derive(Debug, Default)]
pub(super) struct AccountLog {
    pub(super) head: LogHead,
    pub(super) entries: Vec<AccountEntry>,
}

#[async_trait]
impl AccountStore for ModelStore {
    async fn change_account(
        &self,
        user: UserId,
        command: AccountCommand,
    ) -> Result<AccountOutcome, StoreError> {
        match &command {
            AccountCommand::ReplaceScheduled { .. } => self.meanwhile.happen(Moment::BeforeReplace).await,
            AccountCommand::UpdateUser { change, .. } if change.spending.is_some() => {
                self.meanwhile.happen(Moment::BeforeSpending).await;
            }
            AccountCommand::UpdateUser { change, .. } if change.asked_at.is_some() => {
                self.meanwhile.happen(Moment::BeforeOwnWrite).await;
            }
            AccountCommand::Schedule { .. } => self.meanwhile.happen(Moment::BeforeOwnWrite).await,
            _ => {}
        }
        let mut state = self.state();
        let Ok(Decision { outcome, effects }) = command.decide(&mut Of { state: &state, user });
        effects.into_iter().for_each(|effect| state.write_effect(user, effect));
        Ok(outcome)
    }
}

struct Of<'a> {
    state: &'a State,
    user: UserId,
}

impl Account for Of<'_> {
    type Stop = Infallible;

    fn profile(&mut self) -> Result<Option<User>, Infallible> {
        Ok(self.state.users.get(&self.user).cloned())
    }

    fn holder(&mut self, name: &Name, at: Option<Timestamp>) -> Result<Option<User>, Infallible> {
        let holds = |user: &&User| user.id != self.user && name.is_held_by(user, at);
        Ok(self.state.users.values().find(holds).cloned())
    }

    fn device(&mut self, id: DeviceId) -> Result<Option<Device>, Infallible> {
        Ok(self.state.devices_of(self.user).find(|device| device.id == id).cloned())
    }

    fn devices(&mut self) -> Result<Vec<Device>, Infallible> {
        Ok(self.state.devices_of(self.user).cloned().collect())
    }

    fn blocks(&mut self, user: UserId) -> Result<bool, Infallible> {
        Ok(self.state.blocks.contains(&(self.user, user)))
    }

    fn block_count(&mut self) -> Result<usize, Infallible> {
        Ok(self.state.blocks.iter().filter(|(by, _)| *by == self.user).count())
    }

    fn has_star(&mut self, message: MessageId) -> Result<bool, Infallible> {
        Ok(self.state.stars.contains_key(&(self.user, message)))
    }

    fn star_count(&mut self) -> Result<usize, Infallible> {
        Ok(self.state.stars.keys().filter(|(by, _)| *by == self.user).count())
    }

    fn hides(&mut self, conversation: ConversationId, seq: Seq) -> Result<bool, Infallible> {
        Ok(self.state.hidden.contains(&(self.user, conversation, seq)))
    }

    fn hidden_count(&mut self, conversation: ConversationId) -> Result<usize, Infallible> {
        Ok(self.state.hidden_in(self.user, conversation).count())
    }

    fn scheduled(&mut self) -> Result<Vec<Scheduled>, Infallible> {
        Ok(self.state.scheduled_of(self.user).cloned().collect())
    }

    fn scheduled_one(&mut self, id: ScheduledId) -> Result<Option<Scheduled>, Infallible> {
        Ok(self.state.scheduled.get(&(self.user, id)).cloned())
    }

    fn settings(&mut self, conversation: ConversationId) -> Result<Settings, Infallible> {
        Ok(self.state.settings_of(self.user, conversation))
    }

    fn pins(&mut self) -> Result<Pins, Infallible> {
        let settings = self.state.settings.iter().filter(|((user, _), _)| *user == self.user);
        Ok(Pins(settings.filter_map(|((_, id), settings)| Some((*id, settings.pin?))).collect()))
    }

    fn log_head(&mut self) -> Result<LogHead, Infallible> {
        Ok(self.state.account_logs.get(&self.user).map(|log| log.head).unwrap_or_default())
    }

    fn entry_about(&mut self, subject: AccountSubject) -> Result<Option<u64>, Infallible> {
        let about = |entry: &&AccountEntry| entry.change.subject() == subject;
        Ok(self.state.account_entries(self.user).iter().find(about).map(|entry| entry.seq))
    }

    fn oldest_entry(&mut self) -> Result<Option<AccountEntry>, Infallible> {
        Ok(self.state.account_entries(self.user).first().copied())
    }
}

impl State {
    pub(super) fn write_note(&mut self, new: AccountNote) -> AccountEntry {
        let Ok(noted) = note(&mut Of { state: self, user: new.user_id }, &new);
        self.write_noted(new.user_id, noted);
        noted.entry
    }

    fn write_effect(&mut self, user: UserId, effect: AccountEffect) {
        match effect {
            AccountEffect::PutProfile { after, .. } => {
                self.users.insert(user, *after);
            }
            // The profiles record who has which name.
            AccountEffect::TakeName(_) | AccountEffect::ReleaseName(_) => {}
            AccountEffect::AddDevice(device) | AccountEffect::ChangeDevice(device) => {
                self.devices.insert(device.id, device);
            }
            AccountEffect::RemoveDevice(id) => {
                self.devices.remove(&id);
            }
            AccountEffect::AddBlock(blocked) => {
                self.blocks.insert((user, blocked));
            }
            AccountEffect::RemoveBlock(blocked) => {
                self.blocks.remove(&(user, blocked));
            }
            AccountEffect::AddStar(star) => {
                self.stars.insert((user, star.message_id), star);
            }
            AccountEffect::RemoveStar(message) => {
                self.stars.remove(&(user, message));
            }
            AccountEffect::Hide(conversation, seq) => {
                self.hidden.insert((user, conversation, seq));
                self.conceal(user, conversation, Concealed::hiding(seq));
            }
            AccountEffect::PutScheduled { after, .. } => {
                self.scheduled.insert((user, after.id), *after);
            }
            AccountEffect::RemoveScheduled(before) => {
                self.scheduled.remove(&(user, before.id));
            }
            AccountEffect::PutSettings(conversation, settings) => {
                self.settings.insert((user, conversation), *settings);
            }
            // The settings record which conversations are pinned.
            AccountEffect::PutPins(_) => {}
            AccountEffect::Note(noted) => self.write_noted(user, noted),
        }
    }

    fn write_noted(&mut self, user: UserId, Noted { entry, replaced, dropped, head }: Noted) {
        let log = self.account_logs.entry(user).or_default();
        let dropped = dropped.map(|dropped| dropped.seq);
        log.entries.retain(|older| Some(older.seq) != replaced && Some(older.seq) != dropped);
        log.entries.push(entry);
        log.head = head;
    }

    pub(super) fn account_entries(&self, user: UserId) -> &[AccountEntry] {
        self.account_logs.get(&user).map_or(&[], |log| &log.entries)
    }
}
