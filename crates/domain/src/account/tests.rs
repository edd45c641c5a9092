//! Decisions about accounts. Each test is a table: the state of the account, the command, the outcome.

use std::collections::BTreeMap;
use std::convert::Infallible;

use godwit_protocol::limits::{ACCOUNT_LOG_ENTRIES_MAX, FORMER_HANDLES_MAX, PINNED_CONVERSATIONS_MAX};
use godwit_protocol::{ConversationId, DeviceId, MessageId, ScheduledId, Seq, Timestamp, UserId};

use super::*;
use crate::model::{
    AccountChange, AccountNote, AccountSubject, ClientId, DeviceName, DisplayName, Draft, FormerHandle,
    Handle, PinChange, ScheduledStage, Session, SettingsChange, Star, Subject,
};

const ADA: UserId = UserId::new(1);
const BOB: UserId = UserId::new(2);
const CONVERSATION: ConversationId = ConversationId::new(9);
const NOON: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const LATER: Timestamp = NOON.plus_millis(1);
const HIDDEN_MAX: usize = 9;

/// Ada's account, and the names of other users. Records which parts a decision reads.
#[derive(Default)]
struct Stored {
    profile: Option<User>,
    others: Vec<User>,
    devices: Vec<Device>,
    blocked: Vec<UserId>,
    stars: Vec<MessageId>,
    hidden: Vec<(ConversationId, Seq)>,
    scheduled: Vec<Scheduled>,
    settings: BTreeMap<ConversationId, Settings>,
    pins: Pins,
    log: BTreeMap<u64, AccountEntry>,
    head: LogHead,
    read: Vec<AccountPart>,
    /// Added to the size of the log, so that tests need not fill it.
    uncounted: u64,
}

impl Account for Stored {
    type Stop = Infallible;

    fn profile(&mut self) -> Result<Option<User>, Infallible> {
        self.read.push(AccountPart::Profile);
        Ok(self.profile.clone())
    }

    fn holder(&mut self, name: &Name, at: Option<Timestamp>) -> Result<Option<User>, Infallible> {
        Ok(self.others.iter().find(|other| name.is_held_by(other, at)).cloned())
    }

    fn device(&mut self, id: DeviceId) -> Result<Option<Device>, Infallible> {
        self.read.push(AccountPart::Device(id));
        Ok(self.devices.iter().find(|device| device.id == id).cloned())
    }

    fn devices(&mut self) -> Result<Vec<Device>, Infallible> {
        self.read.push(AccountPart::Devices);
        Ok(self.devices.clone())
    }

    fn blocks(&mut self, user: UserId) -> Result<bool, Infallible> {
        self.read.push(AccountPart::Block(user));
        Ok(self.blocked.contains(&user))
    }

    fn block_count(&mut self) -> Result<usize, Infallible> {
        Ok(self.blocked.len())
    }

    fn has_star(&mut self, message: MessageId) -> Result<bool, Infallible> {
        self.read.push(AccountPart::Star(message));
        Ok(self.stars.contains(&message))
    }

    fn star_count(&mut self) -> Result<usize, Infallible> {
        Ok(self.stars.len())
    }

    fn hides(&mut self, conversation: ConversationId, seq: Seq) -> Result<bool, Infallible> {
        self.read.push(AccountPart::Hidden { conversation, seq, counted_to: HIDDEN_MAX });
        Ok(self.hidden.contains(&(conversation, seq)))
    }

    fn hidden_count(&mut self, conversation: ConversationId) -> Result<usize, Infallible> {
        Ok(self.hidden.iter().filter(|(id, _)| *id == conversation).count())
    }

    fn scheduled(&mut self) -> Result<Vec<Scheduled>, Infallible> {
        self.read.push(AccountPart::Scheduled);
        Ok(self.scheduled.clone())
    }

    fn scheduled_one(&mut self, id: ScheduledId) -> Result<Option<Scheduled>, Infallible> {
        self.read.push(AccountPart::ScheduledOne(id));
        Ok(self.scheduled.iter().find(|scheduled| scheduled.id == id).cloned())
    }

    fn settings(&mut self, conversation: ConversationId) -> Result<Settings, Infallible> {
        self.read.push(AccountPart::Settings(conversation));
        Ok(self.settings.get(&conversation).cloned().unwrap_or_default())
    }

    fn pins(&mut self) -> Result<Pins, Infallible> {
        self.read.push(AccountPart::Pins);
        Ok(self.pins.clone())
    }

    fn log_head(&mut self) -> Result<LogHead, Infallible> {
        Ok(LogHead { count: self.head.count + self.uncounted, ..self.head })
    }

    fn entry_about(&mut self, subject: AccountSubject) -> Result<Option<u64>, Infallible> {
        self.read.push(AccountPart::EntryAbout(subject));
        Ok(self.log.values().find(|entry| entry.change.subject() == subject).map(|entry| entry.seq))
    }

    fn oldest_entry(&mut self) -> Result<Option<AccountEntry>, Infallible> {
        Ok(self.log.values().next().copied())
    }
}

impl Stored {
    fn decide(&mut self, command: &AccountCommand) -> (AccountOutcome, Vec<AccountEffect>) {
        let Ok(Decision { outcome, effects }) = command.decide(self);
        (outcome, effects)
    }

    /// Ada's account with a log of these changes.
    fn with_log(changes: &[AccountChange]) -> Self {
        let mut stored = Self { profile: Some(ada()), ..Self::default() };
        for change in changes {
            let Ok(noted) = super::note(&mut stored, &note(*change));
            stored.write(noted);
        }
        stored
    }

    fn write(&mut self, Noted { entry, replaced, dropped, head }: Noted) {
        for gone in replaced.into_iter().chain(dropped.map(|dropped| dropped.seq)) {
            assert!(self.log.remove(&gone).is_some(), "only what is there goes");
        }
        self.log.insert(entry.seq, entry);
        self.head = LogHead { count: head.count - self.uncounted, ..head };
    }
}

fn ada() -> User {
    User::new(ADA, Handle::from_stored("ada"), NOON)
}

fn note(change: AccountChange) -> AccountNote {
    AccountNote { user_id: ADA, at: NOON, change }
}

fn entry(seq: u64, change: AccountChange) -> AccountEntry {
    AccountEntry { seq, at: NOON, change }
}

fn device(id: u64, session: Session) -> Device {
    Device {
        id: DeviceId::new(id),
        user_id: ADA,
        name: DeviceName::from_stored("phone"),
        created_at: NOON,
        last_active_at: NOON,
        session,
    }
}

fn own(generation: u32) -> Session {
    Session::Own { generation, refresh_expires_at: LATER }
}

fn of_application(key: &str, revoked_at: Option<Timestamp>) -> Session {
    Session::Application { key: key.into(), tokens_after: None, revoked_at }
}

fn scheduled(id: u64, client_id: &str, stage: ScheduledStage) -> Scheduled {
    let client_id = ClientId::from_stored(client_id);
    let draft = Draft { client_id, body: None, reply_to: None, forwarded_from: None };
    Scheduled {
        id: ScheduledId::new(id),
        user_id: ADA,
        conversation: CONVERSATION,
        send_at: LATER,
        draft,
        stage,
    }
}

/// Asserts that a refusal, or an outcome without a change, writes nothing.
#[track_caller]
fn assert_refused(stored: &mut Stored, command: &AccountCommand, expected: impl Into<AccountOutcome>) {
    assert_eq!(stored.decide(command), (expected.into(), Vec::new()));
}

#[test]
fn a_device_is_created_or_refused() {
    let added = AccountChange::DeviceAdded(DeviceId::new(7));
    let create = |session, devices_max| AccountCommand::CreateDevice {
        device: device(7, session),
        note: note(added),
        devices_max,
    };
    let there = vec![
        device(1, own(1)),
        device(2, of_application("phone", None)),
        device(3, of_application("tablet", Some(NOON))),
    ];
    let mut stored = Stored { devices: there.clone(), ..Stored::default() };
    let taken = || CreateDevice::KeyTaken(there[1].clone());
    assert_refused(&mut stored, &create(own(1), 2), CreateDevice::TooMany);
    assert_refused(&mut stored, &create(of_application("new", None), 2), CreateDevice::TooMany);
    assert_refused(&mut stored, &create(of_application("phone", None), 9), taken());
    assert_refused(&mut stored, &create(of_application("phone", None), 2), taken());
    // Revoked devices do not count, and a revoked device with the same key is replaced.
    for (session, replaced) in [
        (own(1), None),
        (of_application("new", None), None),
        (of_application("tablet", None), Some(AccountEffect::RemoveDevice(DeviceId::new(3)))),
    ] {
        let (outcome, effects) = stored.decide(&create(session.clone(), 3));
        assert_eq!(outcome, CreateDevice::Created(entry(1, added)).into());
        let put = AccountEffect::AddDevice(device(7, session));
        let expected: Vec<_> = replaced.into_iter().chain([put]).collect();
        assert_eq!(effects[..effects.len() - 1], expected);
        assert!(matches!(effects.last(), Some(AccountEffect::Note(noted)) if noted.entry == entry(1, added)));
    }
}

#[test]
fn only_the_newest_generation_of_a_session_rotates() {
    let rotate = |id, generation| AccountCommand::RotateSession {
        device: DeviceId::new(id),
        generation,
        next: 9,
        refresh_expires_at: NOON,
        now: LATER,
    };
    let devices = vec![device(1, own(4)), device(2, of_application("phone", None))];
    let mut stored = Stored { devices: devices.clone(), ..Stored::default() };
    assert_refused(&mut stored, &rotate(1, 3), Rotation::Reused(devices[0].clone()));
    assert_refused(&mut stored, &rotate(1, 5), Rotation::Reused(devices[0].clone()));
    assert_refused(&mut stored, &rotate(2, 4), Rotation::NotFound);
    assert_refused(&mut stored, &rotate(3, 4), Rotation::NotFound);
    let session = Session::Own { generation: 9, refresh_expires_at: NOON };
    let rotated = Device { session, last_active_at: LATER, ..devices[0].clone() };
    let expected = (Rotation::Rotated(rotated.clone()).into(), vec![AccountEffect::ChangeDevice(rotated)]);
    assert_eq!(stored.decide(&rotate(1, 4)), expected);
}

#[test]
fn a_removed_device_of_the_application_stays_as_revoked() {
    let remove = |id| AccountCommand::RemoveDevice {
        device: DeviceId::new(id),
        note: note(AccountChange::DeviceRemoved(DeviceId::new(id))),
    };
    let devices = vec![
        device(1, own(4)),
        device(2, of_application("phone", None)),
        device(3, of_application("tablet", Some(NOON))),
    ];
    let mut stored = Stored { devices, ..Stored::default() };
    assert_refused(&mut stored, &remove(3), None);
    assert_refused(&mut stored, &remove(4), None);
    assert_eq!(stored.decide(&remove(1)).1[0], AccountEffect::RemoveDevice(DeviceId::new(1)));
    let revoked = device(2, of_application("phone", Some(NOON)));
    assert_eq!(stored.decide(&remove(2)).1[0], AccountEffect::ChangeDevice(revoked));
}

#[test]
fn lists_are_bounded_and_have_no_duplicates() {
    let message = MessageId::new(5);
    let star = Star { message_id: message, conversation: CONVERSATION, seq: Seq::new(5), at: NOON };
    let noted = note(AccountChange::ProfileUpdated);
    let block = |blocks_max| AccountCommand::Block { blocked: BOB, note: noted, blocks_max };
    let unblock = AccountCommand::Unblock { blocked: BOB, note: noted };
    let add = |stars_max| AccountCommand::Star { star, note: noted, stars_max };
    let unstar = AccountCommand::Unstar { message, note: noted };
    let hide = |hidden_max| AccountCommand::Hide {
        conversation: CONVERSATION,
        seq: Seq::new(5),
        note: noted,
        hidden_max,
    };
    let added = entry(1, AccountChange::ProfileUpdated);

    let mut empty = Stored::default();
    assert_refused(&mut empty, &block(0), BlockOutcome::Full);
    assert_refused(&mut empty, &add(0), Listed::Full);
    assert_refused(&mut empty, &hide(0), Listed::Full);
    assert_refused(&mut empty, &unblock, None);
    assert_refused(&mut empty, &unstar, None);
    for (command, outcome, effect) in [
        (block(1), BlockOutcome::Blocked(added).into(), AccountEffect::AddBlock(BOB)),
        (add(1), AccountOutcome::from(Listed::Added(added)), AccountEffect::AddStar(star)),
        (hide(1), Listed::Added(added).into(), AccountEffect::Hide(CONVERSATION, Seq::new(5))),
    ] {
        let (came, effects) = empty.decide(&command);
        assert_eq!((came, &effects[0]), (outcome, &effect));
    }

    // An item that is on the list already is reported as such, even if the list is full.
    let elsewhere = (ConversationId::new(8), Seq::new(5));
    let hidden = vec![(CONVERSATION, Seq::new(5)), elsewhere];
    let mut full = Stored { blocked: vec![BOB], stars: vec![message], hidden, ..Stored::default() };
    assert_refused(&mut full, &block(1), BlockOutcome::WasBlocked);
    assert_refused(&mut full, &add(1), Listed::Unchanged);
    assert_eq!(full.decide(&hide(1)).0, Listed::Added(added).into(), "its note is written each time");
    assert_eq!(full.decide(&unblock).1[0], AccountEffect::RemoveBlock(BOB));
    assert_eq!(full.decide(&unstar).1[0], AccountEffect::RemoveStar(message));
    full.hidden = vec![elsewhere];
    assert_eq!(full.decide(&hide(1)).0, Listed::Added(added).into(), "each conversation has its own bound");
}

#[test]
fn scheduled_messages_are_bounded_and_idempotent() {
    let schedule = |client_id, scheduled_max| AccountCommand::Schedule {
        scheduled: Box::new(scheduled(7, client_id, ScheduledStage::Waiting)),
        note: note(AccountChange::ScheduledUpdated(ScheduledId::new(7))),
        scheduled_max,
    };
    let waiting = scheduled(1, "a", ScheduledStage::Waiting);
    let sent = scheduled(2, "b", ScheduledStage::Sent(MessageId::new(1)));
    let elsewhere =
        Scheduled { conversation: ConversationId::new(8), ..scheduled(3, "c", ScheduledStage::Waiting) };
    let all = vec![waiting.clone(), sent.clone(), elsewhere];
    let mut stored = Stored { scheduled: all, ..Stored::default() };
    assert_refused(&mut stored, &schedule("a", 1), ScheduleOutcome::Repeated(waiting));
    assert_refused(&mut stored, &schedule("b", 9), ScheduleOutcome::Repeated(sent));
    assert_refused(&mut stored, &schedule("d", 2), ScheduleOutcome::Full);
    for client_id in ["c", "d"] {
        let (outcome, effects) = stored.decide(&schedule(client_id, 3));
        assert!(matches!(outcome, AccountOutcome::Scheduled(ScheduleOutcome::Scheduled(_))), "{outcome:?}");
        let after = Box::new(scheduled(7, client_id, ScheduledStage::Waiting));
        assert_eq!(effects[0], AccountEffect::PutScheduled { before: None, after });
    }
}

#[test]
fn a_scheduled_message_is_replaced_only_as_it_was_read() {
    let waiting = scheduled(1, "a", ScheduledStage::Waiting);
    let sending = scheduled(1, "a", ScheduledStage::Sending);
    let replace = |expected: &Scheduled, with: Option<&Scheduled>| AccountCommand::ReplaceScheduled {
        expected: Box::new(expected.clone()),
        with: with.cloned().map(Box::new),
        note: None,
    };
    let mut stored = Stored { scheduled: vec![waiting.clone()], ..Stored::default() };
    let moved = Scheduled { send_at: NOON, ..waiting.clone() };
    for read in [&sending, &moved, &scheduled(1, "b", ScheduledStage::Waiting)] {
        assert_refused(&mut stored, &replace(read, None), ReplaceScheduled::Changed);
    }
    let gone = scheduled(2, "a", ScheduledStage::Waiting);
    assert_refused(&mut stored, &replace(&gone, None), ReplaceScheduled::NotFound);
    let before = Box::new(waiting.clone());
    for (with, effect) in [
        (None, AccountEffect::RemoveScheduled(before.clone())),
        (
            Some(&sending),
            AccountEffect::PutScheduled { before: Some(before), after: Box::new(sending.clone()) },
        ),
    ] {
        let expected = (ReplaceScheduled::Replaced(None).into(), vec![effect]);
        assert_eq!(stored.decide(&replace(&waiting, with)), expected);
    }
}

#[test]
fn a_failed_scheduled_message_is_not_due_until_it_is_rescheduled() {
    use ScheduledStage::{Failed, Sending, Sent, Waiting};
    let error = godwit_protocol::ErrorCode::Blocked;
    let stages = [(Waiting, true), (Sending, true), (Failed(error), false), (Sent(MessageId::new(1)), true)];
    for (stage, is_due) in stages {
        assert_eq!(scheduled(1, "a", stage).due_at(), is_due.then_some(LATER), "{stage:?}");
    }
}

#[test]
fn a_taken_name_is_refused_and_a_taken_subject_takes_precedence() {
    let subject = || Some(Subject::from_stored("s-1"));
    let create = |subject| AccountCommand::CreateUser { user: Box::new(User { subject, ..ada() }) };
    let bob = |handle: &str| User::new(BOB, Handle::from_stored(handle), NOON);
    let first = User { subject: subject(), ..bob("bob") };
    let both = User { subject: subject(), ..bob("ada") };
    let keeps = |kept_until| {
        let former = FormerHandle { handle: Handle::from_stored("ada"), kept_until };
        User { former_handles: vec![former], ..bob("bob") }
    };
    for (other, refusal) in [
        (bob("ada"), CreateUser::HandleTaken),
        (keeps(LATER), CreateUser::HandleTaken),
        (first.clone(), CreateUser::SubjectTaken(first)),
        (both.clone(), CreateUser::SubjectTaken(both)),
    ] {
        let mut stored = Stored { others: vec![other], ..Stored::default() };
        assert_refused(&mut stored, &create(subject()), refusal);
    }
    let mut stored = Stored { others: vec![keeps(NOON)], ..Stored::default() };
    let (outcome, effects) = stored.decide(&create(subject()));
    assert_eq!(outcome, CreateUser::Created.into());
    let names = [Name::Subject(Subject::from_stored("s-1")), Name::Handle(Handle::from_stored("ada"))];
    assert_eq!(effects[..2], names.map(AccountEffect::TakeName));

    // A user who exists already was created by an earlier attempt.
    let mut there = Stored { profile: Some(ada()), ..Stored::default() };
    assert_refused(&mut there, &create(None), CreateUser::HandleTaken);
}

#[test]
fn a_renamed_user_keeps_the_former_handle_for_a_while() {
    let rename = |to: &str, asked_at| {
        let handle = Some(Handle::from_stored(to));
        let change = Box::new(UserChange { handle, asked_at, ..UserChange::default() });
        AccountCommand::UpdateUser { change, note: None }
    };
    let name = |text: &str| Name::Handle(Handle::from_stored(text));
    let bob = User::new(BOB, Handle::from_stored("bob"), NOON);
    let mut stored = Stored { profile: Some(ada()), others: vec![bob], ..Stored::default() };
    assert_refused(&mut stored, &rename("bob", Some(NOON)), UpdateUser::HandleTaken);
    assert_refused(&mut stored, &rename("ada", Some(NOON)), UpdateUser::Updated(ada(), None));
    assert_refused(&mut Stored::default(), &rename("bob", Some(NOON)), UpdateUser::NotFound);
    for (asked_at, released) in [(Some(NOON), None), (None, Some(AccountEffect::ReleaseName(name("ada"))))] {
        let (_, effects) = stored.decide(&rename("eve", asked_at));
        let expected: Vec<_> = [AccountEffect::TakeName(name("eve"))].into_iter().chain(released).collect();
        assert_eq!(effects[..effects.len() - 1], expected);
        let Some(AccountEffect::PutProfile { before, after }) = effects.last() else { panic!("{effects:?}") };
        assert_eq!((before.as_deref(), &*after.handle), (Some(&ada()), "eve"));
    }
}

#[test]
fn a_user_with_many_former_handles_cannot_take_a_new_one() {
    let asked = |to: &str, at| {
        let change =
            UserChange { handle: Some(Handle::from_stored(to)), asked_at: Some(at), ..UserChange::default() };
        AccountCommand::UpdateUser { change: Box::new(change), note: None }
    };
    let kept = |number: usize| FormerHandle {
        handle: Handle::from_stored(format!("ada{number}")),
        kept_until: LATER.plus_millis(number as i64),
    };
    let keeps = |former: usize| Stored {
        profile: Some(User { former_handles: (0..former).map(kept).collect(), ..ada() }),
        ..Stored::default()
    };
    let refused = UpdateUser::TooOften { limit: Limit::Handles, until: LATER };
    assert_refused(&mut keeps(FORMER_HANDLES_MAX), &asked("eve", NOON), refused);
    let is_renamed = |(outcome, _)| matches!(outcome, AccountOutcome::UserUpdated(UpdateUser::Updated(..)));
    assert!(is_renamed(keeps(FORMER_HANDLES_MAX - 1).decide(&asked("eve", NOON))));
    assert!(is_renamed(keeps(FORMER_HANDLES_MAX).decide(&asked("ada3", NOON))), "it is reserved for Ada");
    assert!(is_renamed(keeps(FORMER_HANDLES_MAX).decide(&asked("eve", LATER))), "a reservation has ended");
    let (outcome, _) = keeps(FORMER_HANDLES_MAX - 1).decide(&asked("eve", NOON));
    let AccountOutcome::UserUpdated(UpdateUser::Updated(eve, _)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(eve.former_handles.len(), FORMER_HANDLES_MAX, "no reservation is dropped");
}

#[test]
fn spending_beyond_an_allowance_is_refused_until_there_is_enough() {
    let hour_ms = 60 * 60 * 1_000;
    let spend = |members: i64, groups: i64| {
        let (members_ms, groups_ms) = (members * hour_ms, groups * hour_ms);
        let spending = Some(Spending { at: NOON, members_ms, strangers_ms: 0, groups_ms });
        AccountCommand::UpdateUser {
            change: Box::new(UserChange { spending, ..UserChange::default() }),
            note: None,
        }
    };
    let mut ada = ada();
    ada.spent.members = NOON.plus_millis(23 * hour_ms);
    let mut stored = Stored { profile: Some(ada), ..Stored::default() };
    let refusal = |limit, hours| UpdateUser::TooOften { limit, until: NOON.plus_millis(hours * hour_ms) };
    assert_refused(&mut stored, &spend(2, 0), refusal(Limit::Members, 1));
    assert_refused(&mut stored, &spend(2, 27), refusal(Limit::Groups, 3));
    for accepted in [spend(1, 0), spend(-2, 0), spend(0, 24)] {
        let (outcome, effects) = stored.decide(&accepted);
        assert!(matches!(outcome, AccountOutcome::UserUpdated(UpdateUser::Updated(..))), "{outcome:?}");
        assert_eq!(effects.len(), 1);
    }
}

#[test]
fn only_changes_that_others_see_are_limited() {
    let change = |change: UserChange| {
        let change = UserChange { asked_at: Some(NOON), ..change };
        AccountCommand::UpdateUser { change: Box::new(change), note: None }
    };
    let name =
        || UserChange { display_name: Some(DisplayName::from_stored("Ada L.")), ..UserChange::default() };
    let quiet = || UserChange { read_receipts: Some(false), ..UserChange::default() };
    let mut ada = ada();
    ada.spent.profile = NOON.plus_millis(24 * 60 * 60 * 1_000);
    let mut stored = Stored { profile: Some(ada), ..Stored::default() };
    let (refused, _) = stored.decide(&change(name()));
    assert!(matches!(
        refused,
        AccountOutcome::UserUpdated(UpdateUser::TooOften { limit: Limit::Profile, until }) if until > NOON
    ));
    for accepted in [change(quiet()), AccountCommand::UpdateUser { change: Box::new(name()), note: None }] {
        let (outcome, _) = stored.decide(&accepted);
        let AccountOutcome::UserUpdated(UpdateUser::Updated(after, _)) = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(Some(after.spent), stored.profile.as_ref().map(|ada| ada.spent));
    }
}

fn change_pin(conversation: ConversationId, pin: PinChange) -> AccountCommand {
    let change = Box::new(SettingsChange { pin: Some(pin), ..SettingsChange::default() });
    AccountCommand::ChangeSettings {
        conversation,
        change,
        note: note(AccountChange::SettingsChanged(conversation)),
    }
}

#[test]
fn pins_are_bounded_and_the_last_one_comes_first() {
    let id = |number: usize| ConversationId::new(number as u64);
    let full = Pins((1..=PINNED_CONVERSATIONS_MAX).map(|number| (id(number), number as i64)).collect());
    let pin = |pins: &Pins, conversation, change| {
        let settings = Settings { pin: pins.0.get(&conversation).copied(), ..Settings::default() };
        let settings = BTreeMap::from([(conversation, settings)]);
        let (outcome, effects) = Stored { pins: pins.clone(), settings, ..Stored::default() }
            .decide(&change_pin(conversation, change));
        let AccountOutcome::SettingsChanged(ChangeSettings::Changed(settings, _)) = outcome else {
            assert!(effects.is_empty(), "{outcome:?}");
            return None;
        };
        let (mut after, mut put) = (pins.clone(), None);
        for effect in effects {
            match effect {
                AccountEffect::PutPins(pins) => after = pins,
                AccountEffect::PutSettings(_, settings) => put = Some(*settings),
                other => assert!(matches!(other, AccountEffect::Note(_)), "{other:?}"),
            }
        }
        assert_eq!((Some(&settings), after.0.get(&conversation).copied()), (put.as_ref(), settings.pin));
        Some((settings.pin, after.0.len()))
    };
    let max = PINNED_CONVERSATIONS_MAX;
    for (conversation, change, expected) in [
        (max + 1, PinChange::First, None),
        (max + 1, PinChange::Move(7), Some((None, max))),
        (max + 1, PinChange::Put(7), Some((Some(7), max + 1))),
        (max + 1, PinChange::Remove, Some((None, max))),
        (5, PinChange::First, Some((Some(5), max))),
        (5, PinChange::Move(7), Some((Some(7), max))),
        (5, PinChange::Remove, Some((None, max - 1))),
    ] {
        assert_eq!(pin(&full, id(conversation), change), expected, "{change:?} of {conversation}");
    }
    let mut room = full.clone();
    room.0.remove(&id(max));
    assert_eq!(pin(&room, id(max + 1), PinChange::First), Some((Some(0), max)), "before the one at 1");
    assert_eq!(pin(&Pins::default(), id(1), PinChange::First), Some((Some(0), 1)));
}

#[test]
fn the_log_has_one_entry_for_each_subject() {
    use AccountChange::{ProfileUpdated, UserBlocked, UserUnblocked};
    let stored = Stored::with_log(&[UserBlocked(BOB), ProfileUpdated, UserUnblocked(BOB), ProfileUpdated]);
    let entries: Vec<AccountEntry> = stored.log.values().copied().collect();
    assert_eq!(entries, [entry(3, UserUnblocked(BOB)), entry(4, ProfileUpdated)]);
    assert_eq!(stored.head, LogHead { last: 4, floor: 0, count: 2 });
}

#[test]
fn a_full_log_drops_its_oldest_entry_and_says_so() {
    use AccountChange::{ProfileUpdated, UserBlocked};
    let mut stored = Stored::with_log(&[UserBlocked(BOB), ProfileUpdated]);
    stored.uncounted = ACCOUNT_LOG_ENTRIES_MAX as u64 - 2;
    let max = ACCOUNT_LOG_ENTRIES_MAX as u64;
    let Ok(replacing) = super::note(&mut stored, &note(ProfileUpdated));
    assert_eq!((replacing.replaced, replacing.dropped), (Some(2), None), "it takes no more room");
    assert_eq!(replacing.head, LogHead { last: 3, floor: 0, count: max });
    let Ok(new) = super::note(&mut stored, &note(UserBlocked(ADA)));
    assert_eq!((new.replaced, new.dropped), (None, Some(entry(1, UserBlocked(BOB)))));
    assert_eq!(new.head, LogHead { last: 3, floor: 1, count: max });
    let complete: Vec<u64> = (0..5).filter(|after| new.head.is_complete_after(*after)).collect();
    assert_eq!(complete, [1, 2, 3]);
}

/// A store that has loaded the named parts must not need a second read.
#[test]
fn a_decision_reads_the_parts_that_its_command_names() {
    let noted = note(AccountChange::ProfileUpdated);
    let message = MessageId::new(5);
    let star = Star { message_id: message, conversation: CONVERSATION, seq: Seq::new(5), at: NOON };
    let waiting = Box::new(scheduled(1, "a", ScheduledStage::Waiting));
    let (id, seq) = (DeviceId::new(1), Seq::new(5));
    let commands = [
        AccountCommand::CreateUser { user: Box::new(ada()) },
        AccountCommand::UpdateUser { change: Box::default(), note: Some(noted) },
        AccountCommand::CreateDevice { device: device(7, own(1)), note: noted, devices_max: 9 },
        AccountCommand::RotateSession {
            device: id,
            generation: 1,
            next: 2,
            refresh_expires_at: NOON,
            now: NOON,
        },
        AccountCommand::RemoveDevice { device: id, note: noted },
        AccountCommand::Block { blocked: ADA, note: noted, blocks_max: 9 },
        AccountCommand::Unblock { blocked: BOB, note: noted },
        AccountCommand::Star { star, note: noted, stars_max: 9 },
        AccountCommand::Unstar { message: MessageId::new(6), note: noted },
        AccountCommand::Hide { conversation: CONVERSATION, seq, note: noted, hidden_max: HIDDEN_MAX },
        AccountCommand::Schedule {
            scheduled: Box::new(scheduled(2, "b", ScheduledStage::Waiting)),
            note: noted,
            scheduled_max: 9,
        },
        AccountCommand::ReplaceScheduled { expected: waiting.clone(), with: None, note: Some(noted) },
        change_pin(CONVERSATION, PinChange::First),
    ];
    for command in commands {
        let is_new = matches!(command, AccountCommand::CreateUser { .. });
        let mut stored = Stored {
            profile: (!is_new).then(ada),
            devices: vec![device(1, own(1))],
            blocked: vec![BOB],
            stars: vec![MessageId::new(6)],
            scheduled: vec![(*waiting).clone()],
            ..Stored::default()
        };
        let (_, effects) = stored.decide(&command);
        assert!(!effects.is_empty(), "{} goes through", command.name());
        assert_eq!(stored.read, command.parts(), "to {}", command.name());
    }
}
