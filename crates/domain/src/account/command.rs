//! The commands that change an account.

use godwit_protocol::{ConversationId, DeviceId, MessageId, ScheduledId, Seq, Timestamp, UserId};

use super::UserChange;
use crate::model::{AccountNote, AccountSubject, Device, PinChange, Scheduled, SettingsChange, Star, User};

/// A change of one account. The method of the same name in [`ports`](crate::ports) has the contract of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccountCommand {
    CreateUser {
        user: Box<User>,
    },
    UpdateUser {
        change: Box<UserChange>,
        note: Option<AccountNote>,
    },
    CreateDevice {
        device: Device,
        note: AccountNote,
        devices_max: usize,
    },
    RotateSession {
        device: DeviceId,
        generation: u32,
        next: u32,
        refresh_expires_at: Timestamp,
        now: Timestamp,
    },
    RemoveDevice {
        device: DeviceId,
        note: AccountNote,
    },
    Block {
        blocked: UserId,
        note: AccountNote,
        blocks_max: usize,
    },
    Unblock {
        blocked: UserId,
        note: AccountNote,
    },
    Star {
        star: Star,
        note: AccountNote,
        stars_max: usize,
    },
    Unstar {
        message: MessageId,
        note: AccountNote,
    },
    Hide {
        conversation: ConversationId,
        seq: Seq,
        note: AccountNote,
        hidden_max: usize,
    },
    Schedule {
        scheduled: Box<Scheduled>,
        note: AccountNote,
        scheduled_max: usize,
    },
    ReplaceScheduled {
        expected: Box<Scheduled>,
        with: Option<Box<Scheduled>>,
        note: Option<AccountNote>,
    },
    ChangeSettings {
        conversation: ConversationId,
        change: Box<SettingsChange>,
        note: AccountNote,
    },
}

/// A part of an account that a decision reads. Every decision also reads the counts and the head of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountPart {
    Profile,
    Device(DeviceId),
    Devices,
    Block(UserId),
    Star(MessageId),
    /// Whether the message is hidden, and the number of hidden messages in its conversation. Counting may stop at
    /// `counted_to`.
    Hidden {
        conversation: ConversationId,
        seq: Seq,
        counted_to: usize,
    },
    Scheduled,
    ScheduledOne(ScheduledId),
    Settings(ConversationId),
    Pins,
    /// The entry of the log about a subject.
    EntryAbout(AccountSubject),
}

impl AccountCommand {
    /// The name of the command in logs and errors.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::CreateUser { .. } => "create a user",
            Self::UpdateUser { .. } => "update a user",
            Self::CreateDevice { .. } => "create a device",
            Self::RotateSession { .. } => "rotate a session",
            Self::RemoveDevice { .. } => "remove a device",
            Self::Block { .. } => "block a user",
            Self::Unblock { .. } => "unblock a user",
            Self::Star { .. } => "star a message",
            Self::Unstar { .. } => "unstar a message",
            Self::Hide { .. } => "hide a message",
            Self::Schedule { .. } => "schedule a message",
            Self::ReplaceScheduled { .. } => "replace a scheduled message",
            Self::ChangeSettings { .. } => "change settings",
        }
    }

    /// Whether the command stores something that the user has written. Such commands are refused while the disk is nearly
    /// full; those that protect the account or free space are not.
    pub fn stores_content(&self) -> bool {
        match self {
            Self::CreateUser { .. } | Self::Schedule { .. } => true,
            Self::ChangeSettings { change, .. } => matches!(change.draft, Some(Some(_))),
            _ => false,
        }
    }

    /// The parts that the decision always reads, so that a store can load them at once. If the log is full, the decision
    /// also reads its oldest entry.
    pub fn parts(&self) -> Vec<AccountPart> {
        use AccountPart as Part;
        let (part, note) = match self {
            Self::CreateUser { .. } => (Part::Profile, None),
            Self::UpdateUser { note, .. } => (Part::Profile, note.as_ref()),
            Self::CreateDevice { note, .. } => (Part::Devices, Some(note)),
            Self::RotateSession { device, .. } => (Part::Device(*device), None),
            Self::RemoveDevice { device, note } => (Part::Device(*device), Some(note)),
            Self::Block { blocked, note, .. } | Self::Unblock { blocked, note } => {
                (Part::Block(*blocked), Some(note))
            }
            Self::Star { star, note, .. } => (Part::Star(star.message_id), Some(note)),
            Self::Unstar { message, note } => (Part::Star(*message), Some(note)),
            Self::Hide { conversation, seq, note, hidden_max } => {
                let (conversation, seq, counted_to) = (*conversation, *seq, *hidden_max);
                (Part::Hidden { conversation, seq, counted_to }, Some(note))
            }
            Self::Schedule { note, .. } => (Part::Scheduled, Some(note)),
            Self::ReplaceScheduled { expected, note, .. } => (Part::ScheduledOne(expected.id), note.as_ref()),
            Self::ChangeSettings { conversation, note, .. } => (Part::Settings(*conversation), Some(note)),
        };
        let may_pin =
            matches!(self, Self::ChangeSettings { change, .. } if change.pin.is_some_and(PinChange::may_pin));
        let pins = may_pin.then_some(Part::Pins);
        let entry = note.map(|note| Part::EntryAbout(note.change.subject()));
        [part].into_iter().chain(pins).chain(entry).collect()
    }
}
