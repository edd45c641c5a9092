//! The rules of accounts: decides a command on the current state of the account.

use godwit_protocol::{ConversationId, DeviceId, MessageId, Seq, Timestamp, UserId};

use super::AccountEffect as Effect;
use super::{
    Account, AccountCommand, AccountOutcome, BlockOutcome, ChangeSettings, CreateDevice, CreateUser, Listed,
    Name, ReplaceScheduled, Rotation, ScheduleOutcome, UpdateUser, UserChange, limits, log,
};
use crate::model::{AccountEntry, AccountNote, Device, Scheduled, Session, SettingsChange, Star, User};

/// The result of a command. A refusal has no effects.
#[derive(Debug)]
pub struct Decision {
    pub outcome: AccountOutcome,
    pub effects: Vec<Effect>,
}

/// The account, and the effects that the command has decided on so far.
struct Deciding<'a, A> {
    account: &'a mut A,
    effects: Vec<Effect>,
}

impl AccountCommand {
    /// Decides the command on the current state of the account. The decision is pure: the same command on the same account
    /// has the same effects.
    pub fn decide<A: Account>(&self, account: &mut A) -> Result<Decision, A::Stop> {
        let mut deciding = Deciding { account, effects: Vec::new() };
        let outcome = match self {
            Self::CreateUser { user } => deciding.create_user(self, user)?,
            Self::UpdateUser { change, note } => deciding.update_user(self, change, note.as_ref())?,
            Self::CreateDevice { device, note, devices_max } => {
                deciding.create_device(device, note, *devices_max)?.into()
            }
            Self::RotateSession { device, generation, next, refresh_expires_at, now } => {
                let to = Session::Own { generation: *next, refresh_expires_at: *refresh_expires_at };
                deciding.rotate_session(*device, *generation, to, *now)?.into()
            }
            Self::RemoveDevice { device, note } => deciding.remove_device(*device, note)?.into(),
            Self::Block { blocked, note, blocks_max } => deciding.block(*blocked, note, *blocks_max)?.into(),
            Self::Unblock { blocked, note } => deciding.unblock(*blocked, note)?.into(),
            Self::Star { star, note, stars_max } => deciding.star(*star, note, *stars_max)?.into(),
            Self::Unstar { message, note } => deciding.unstar(*message, note)?.into(),
            Self::Hide { conversation, seq, note, hidden_max } => {
                deciding.hide(*conversation, *seq, note, *hidden_max)?.into()
            }
            Self::Schedule { scheduled, note, scheduled_max } => {
                deciding.schedule(scheduled, note, *scheduled_max)?.into()
            }
            Self::ReplaceScheduled { expected, with, note } => {
                deciding.replace_scheduled(expected, with.as_deref(), note.as_ref())?.into()
            }
            Self::ChangeSettings { conversation, change, note } => {
                deciding.change_settings(*conversation, change, note)?.into()
            }
        };
        Ok(Decision { outcome, effects: deciding.effects })
    }
}

impl<A: Account> Deciding<'_, A> {
    fn create_user(&mut self, command: &AccountCommand, user: &User) -> Result<AccountOutcome, A::Stop> {
        if let Some(first) = self.account.profile()? {
            let name =
                first.subject.clone().map_or_else(|| Name::Handle(first.handle.clone()), Name::Subject);
            return Ok(command.refused_for(&name, first));
        }
        if let Some(refused) = self.take_names(command, None)? {
            return Ok(refused);
        }
        self.effects.push(Effect::PutProfile { before: None, after: Box::new(user.clone()) });
        Ok(CreateUser::Created.into())
    }

    fn update_user(
        &mut self,
        command: &AccountCommand,
        change: &UserChange,
        note: Option<&AccountNote>,
    ) -> Result<AccountOutcome, A::Stop> {
        let Some(before) = self.account.profile()? else { return Ok(UpdateUser::NotFound.into()) };
        let mut after = before.clone();
        change.clone().apply(&mut after);
        if let Some((limit, until)) = limits::exceeded(change, &before, &after) {
            return Ok(UpdateUser::TooOften { limit, until }.into());
        }
        if let Some(refused) = self.take_names(command, Some(&before))? {
            return Ok(refused);
        }
        let given_up =
            Name::handles_of(&before).filter(|handle| Name::handles_of(&after).all(|h| h != *handle));
        self.effects.extend(given_up.cloned().map(Name::Handle).map(Effect::ReleaseName));
        if after != before {
            self.effects
                .push(Effect::PutProfile { before: Some(Box::new(before)), after: Box::new(after.clone()) });
        }
        let entry = note.map(|note| self.note(note)).transpose()?;
        Ok(UpdateUser::Updated(after, entry).into())
    }

    /// Takes the names of the command, or returns the refusal if another user holds one of them.
    fn take_names(
        &mut self,
        command: &AccountCommand,
        profile: Option<&User>,
    ) -> Result<Option<AccountOutcome>, A::Stop> {
        let (names, at) = (command.new_names(profile), command.names_taken_at());
        for name in &names {
            if let Some(other) = self.account.holder(name, at)? {
                return Ok(Some(command.refused_for(name, other)));
            }
        }
        self.effects.extend(names.into_iter().map(Effect::TakeName));
        Ok(None)
    }

    fn create_device(
        &mut self,
        new: &Device,
        note: &AccountNote,
        devices_max: usize,
    ) -> Result<CreateDevice, A::Stop> {
        let devices = self.account.devices()?;
        let is_active = |device: &&Device| device.revoked_at().is_none();
        let same_key = devices.iter().find(|device| device.has_key_of(new));
        if let Some(device) = same_key.filter(is_active) {
            return Ok(CreateDevice::KeyTaken(device.clone()));
        }
        if devices.iter().filter(is_active).count() >= devices_max {
            return Ok(CreateDevice::TooMany);
        }
        self.effects.extend(same_key.map(|revoked| Effect::RemoveDevice(revoked.id)));
        self.effects.push(Effect::AddDevice(new.clone()));
        self.note(note).map(CreateDevice::Created)
    }

    fn rotate_session(
        &mut self,
        id: DeviceId,
        from: u32,
        to: Session,
        now: Timestamp,
    ) -> Result<Rotation, A::Stop> {
        let own = self.account.device(id)?.and_then(|device| match device.session {
            Session::Own { generation, .. } => Some((generation, device)),
            // An application device never had a token of this server.
            Session::Application { .. } => None,
        });
        let Some((generation, device)) = own else { return Ok(Rotation::NotFound) };
        if generation != from {
            return Ok(Rotation::Reused(device));
        }
        let device = Device { session: to, last_active_at: now, ..device };
        self.effects.push(Effect::ChangeDevice(device.clone()));
        Ok(Rotation::Rotated(device))
    }

    fn remove_device(&mut self, id: DeviceId, note: &AccountNote) -> Result<Option<AccountEntry>, A::Stop> {
        let Some(mut device) = self.account.device(id)? else { return Ok(None) };
        let effect = match &mut device.session {
            Session::Own { .. } => Effect::RemoveDevice(id),
            Session::Application { revoked_at: Some(_), .. } => return Ok(None),
            Session::Application { revoked_at, .. } => {
                *revoked_at = Some(note.at);
                Effect::ChangeDevice(device)
            }
        };
        self.effects.push(effect);
        self.note(note).map(Some)
    }

    fn block(
        &mut self,
        blocked: UserId,
        note: &AccountNote,
        blocks_max: usize,
    ) -> Result<BlockOutcome, A::Stop> {
        if self.account.blocks(blocked)? {
            return Ok(BlockOutcome::WasBlocked);
        }
        if self.account.block_count()? >= blocks_max {
            return Ok(BlockOutcome::Full);
        }
        self.effects.push(Effect::AddBlock(blocked));
        self.note(note).map(BlockOutcome::Blocked)
    }

    fn unblock(&mut self, blocked: UserId, note: &AccountNote) -> Result<Option<AccountEntry>, A::Stop> {
        if !self.account.blocks(blocked)? {
            return Ok(None);
        }
        self.effects.push(Effect::RemoveBlock(blocked));
        self.note(note).map(Some)
    }

    fn star(&mut self, star: Star, note: &AccountNote, stars_max: usize) -> Result<Listed, A::Stop> {
        if self.account.has_star(star.message_id)? {
            return Ok(Listed::Unchanged);
        }
        let has_room = self.account.star_count()? < stars_max;
        self.add_to_list(has_room, Effect::AddStar(star), note)
    }

    fn unstar(&mut self, message: MessageId, note: &AccountNote) -> Result<Option<AccountEntry>, A::Stop> {
        if !self.account.has_star(message)? {
            return Ok(None);
        }
        self.effects.push(Effect::RemoveStar(message));
        self.note(note).map(Some)
    }

    fn hide(
        &mut self,
        conversation: ConversationId,
        seq: Seq,
        note: &AccountNote,
        hidden_max: usize,
    ) -> Result<Listed, A::Stop> {
        let has_room =
            self.account.hides(conversation, seq)? || self.account.hidden_count(conversation)? < hidden_max;
        self.add_to_list(has_room, Effect::Hide(conversation, seq), note)
    }

    fn add_to_list(&mut self, has_room: bool, adding: Effect, note: &AccountNote) -> Result<Listed, A::Stop> {
        if !has_room {
            return Ok(Listed::Full);
        }
        self.effects.push(adding);
        self.note(note).map(Listed::Added)
    }

    /// A user has so few scheduled messages that a linear search for the client id, and a count, are cheap.
    fn schedule(
        &mut self,
        new: &Scheduled,
        note: &AccountNote,
        scheduled_max: usize,
    ) -> Result<ScheduleOutcome, A::Stop> {
        let scheduled = self.account.scheduled()?;
        let is_same = |other: &&Scheduled| {
            (other.conversation, &other.draft.client_id) == (new.conversation, &new.draft.client_id)
        };
        if let Some(first) = scheduled.iter().find(is_same) {
            return Ok(ScheduleOutcome::Repeated(first.clone()));
        }
        if scheduled.iter().filter(|other| other.stage.is_listed()).count() >= scheduled_max {
            return Ok(ScheduleOutcome::Full);
        }
        self.effects.push(Effect::PutScheduled { before: None, after: Box::new(new.clone()) });
        self.note(note).map(ScheduleOutcome::Scheduled)
    }

    fn replace_scheduled(
        &mut self,
        expected: &Scheduled,
        with: Option<&Scheduled>,
        note: Option<&AccountNote>,
    ) -> Result<ReplaceScheduled, A::Stop> {
        let Some(current) = self.account.scheduled_one(expected.id)? else {
            return Ok(ReplaceScheduled::NotFound);
        };
        if current != *expected {
            return Ok(ReplaceScheduled::Changed);
        }
        let before = Box::new(current);
        self.effects.push(match with {
            Some(with) => Effect::PutScheduled { before: Some(before), after: Box::new(with.clone()) },
            None => Effect::RemoveScheduled(before),
        });
        note.map(|note| self.note(note)).transpose().map(ReplaceScheduled::Replaced)
    }

    fn change_settings(
        &mut self,
        conversation: ConversationId,
        change: &SettingsChange,
        note: &AccountNote,
    ) -> Result<ChangeSettings, A::Stop> {
        let mut settings = self.account.settings(conversation)?.changed_by(change.clone());
        if let Some(change) = change.pin.filter(|change| change.may_pin() || settings.pin.is_some()) {
            let mut pins = self.account.pins()?;
            if !pins.change(conversation, change) {
                return Ok(ChangeSettings::TooManyPinned);
            }
            settings.pin = pins.0.get(&conversation).copied();
            self.effects.push(Effect::PutPins(pins));
        }
        self.effects.push(Effect::PutSettings(conversation, Box::new(settings.clone())));
        self.note(note).map(|entry| ChangeSettings::Changed(settings, entry))
    }

    fn note(&mut self, note: &AccountNote) -> Result<AccountEntry, A::Stop> {
        let noted = log::note(self.account, note)?;
        self.effects.push(Effect::Note(noted));
        Ok(noted.entry)
    }
}
