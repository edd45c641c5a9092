//! The parts of the answers of two stores that must be equal: everything except the numbers of account log entries and the
//! order of account logs.

use std::fmt::Debug;

use godwit_domain::model::AccountEntry;
use godwit_domain::ports::{
    AppendOutcome, BlockOutcome, ChangeSettings, CreateDevice, CreateUser, Listed, Made, ReplaceScheduled,
    Rotation, ScheduleOutcome, UpdateUser,
};
use godwit_protocol::{Seq, UserId};

use crate::reading::without_seq;

pub(super) trait Comparable: Debug + PartialEq {
    #[must_use]
    fn comparable(self) -> Self;
}

/// Answers without account log entries.
macro_rules! comparable_as_they_are {
    ($($answer:ty),+) => {
        $(impl Comparable for $answer {
            fn comparable(self) -> Self {
                self
            }
        })+
    };
}

comparable_as_they_are!(CreateUser, Rotation, Vec<Option<Seq>>, ());

/// Outcomes with an account log entry if the command was carried out.
macro_rules! comparable_without_seq {
    ($($answer:ident::$done:ident($entry:ident $(, after $kept:ident)?)),+ $(,)?) => {
        $(impl Comparable for $answer {
            fn comparable(self) -> Self {
                match self {
                    Self::$done($($kept,)? $entry) => Self::$done($($kept,)? $entry.comparable()),
                    refused => refused,
                }
            }
        })+
    };
}

comparable_without_seq! {
    UpdateUser::Updated(entry, after user),
    CreateDevice::Created(entry),
    BlockOutcome::Blocked(entry),
    Listed::Added(entry),
    ScheduleOutcome::Scheduled(entry),
    ReplaceScheduled::Replaced(entry),
    ChangeSettings::Changed(entry, after settings),
    AppendOutcome::Appended(entry),
}

impl Comparable for Made {
    fn comparable(self) -> Self {
        Self { id: self.id, made: self.made.map(Comparable::comparable) }
    }
}

impl Comparable for AccountEntry {
    fn comparable(self) -> Self {
        without_seq(self)
    }
}

impl Comparable for Option<AccountEntry> {
    fn comparable(self) -> Self {
        self.map(without_seq)
    }
}

impl Comparable for Vec<(UserId, AccountEntry)> {
    fn comparable(mut self) -> Self {
        self.sort_by_key(|(user, _)| *user);
        self.into_iter().map(|(user, entry)| (user, without_seq(entry))).collect()
    }
}
