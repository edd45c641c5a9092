//! The outcomes of commands: one enum per kind of command, and [`AccountOutcome`], which holds any of them.

use godwit_protocol::Timestamp;

use super::Limit;
use crate::model::{AccountEntry, Device, Scheduled, Settings, User};

macro_rules! outcomes {
    ($($name:ident($outcome:ty),)*) => {
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum AccountOutcome {
            $($name($outcome),)*
        }

        $(
            impl From<$outcome> for AccountOutcome {
                fn from(outcome: $outcome) -> Self {
                    Self::$name(outcome)
                }
            }

            impl From<AccountOutcome> for $outcome {
                fn from(outcome: AccountOutcome) -> Self {
                    match outcome {
                        AccountOutcome::$name(outcome) => outcome,
                        other => unreachable!("the answer to another command: {other:?}"),
                    }
                }
            }
        )*
    };
}

outcomes! {
    UserCreated(CreateUser),
    UserUpdated(UpdateUser),
    DeviceCreated(CreateDevice),
    SessionRotated(Rotation),
    Blocked(BlockOutcome),
    Listed(Listed),
    Scheduled(ScheduleOutcome),
    ScheduledReplaced(ReplaceScheduled),
    SettingsChanged(ChangeSettings),
    Noted(Option<AccountEntry>),
}

#[expect(clippy::large_enum_variant, reason = "an answer that is looked at once and not kept")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CreateUser {
    Created,
    HandleTaken,
    /// The user of this subject, whom an earlier request created.
    SubjectTaken(User),
}

#[expect(clippy::large_enum_variant, reason = "an answer that is looked at once and not kept")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpdateUser {
    Updated(User, Option<AccountEntry>),
    HandleTaken,
    /// The user has reached a limit, and may try again at this time. Takes precedence over `HandleTaken`.
    TooOften {
        limit: Limit,
        until: Timestamp,
    },
    /// Takes precedence over the other refusals.
    NotFound,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CreateDevice {
    Created(AccountEntry),
    /// The user already has `devices_max` devices.
    TooMany,
    /// The user already has a device of the application with this key, and it is not revoked. Takes precedence over
    /// `TooMany`.
    KeyTaken(Device),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rotation {
    /// The device with its new generation.
    Rotated(Device),
    /// The generation of the device is newer than the expected one.
    Reused(Device),
    NotFound,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockOutcome {
    Blocked(AccountEntry),
    WasBlocked,
    Full,
}

/// The outcome of adding an item to a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listed {
    Added(AccountEntry),
    Unchanged,
    Full,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScheduleOutcome {
    Scheduled(AccountEntry),
    Repeated(Scheduled),
    Full,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplaceScheduled {
    Replaced(Option<AccountEntry>),
    /// The scheduled message is not as expected any more.
    Changed,
    NotFound,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeSettings {
    Changed(Settings, AccountEntry),
    TooManyPinned,
}
