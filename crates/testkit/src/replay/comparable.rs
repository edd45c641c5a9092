//! The parts of the answers of two stores that must be equal: everything except the numbers of account log entries and the
//! order of account logs.

use std::fmt::Debug;

use godwit_domain::model::{AccountEntry, Settings};
use godwit_domain::ports::{
    AppendOutcome, BlockOutcome, CreateDevice, CreateUser, Listed, Made, ReplaceScheduled, Rotation,
    ScheduleOutcome, UpdateUser,
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

impl Comparable for UpdateUser {
    fn comparable(self) -> Self {
        match self {
            Self::Updated(user, entry) => Self::Updated(user, entry.comparable()),
            refused => refused,
        }
    }
}

impl Comparable for CreateDevice {
    fn comparable(self) -> Self {
        match self {
            Self::Created(entry) => Self::Created(without_seq(entry)),
            refused => refused,
        }
    }
}

impl Comparable for BlockOutcome {
    fn comparable(self) -> Self {
        match self {
            Self::Blocked(entry) => Self::Blocked(without_seq(entry)),
            refused => refused,
        }
    }
}

impl Comparable for Listed {
    fn comparable(self) -> Self {
        match self {
            Self::Added(entry) => Self::Added(without_seq(entry)),
            refused => refused,
        }
    }
}

impl Comparable for ScheduleOutcome {
    fn comparable(self) -> Self {
        match self {
            Self::Scheduled(entry) => Self::Scheduled(without_seq(entry)),
            refused => refused,
        }
    }
}

impl Comparable for ReplaceScheduled {
    fn comparable(self) -> Self {
        match self {
            Self::Replaced(entry) => Self::Replaced(entry.comparable()),
            refused => refused,
        }
    }
}

impl Comparable for Made {
    fn comparable(self) -> Self {
        Self { id: self.id, made: self.made.map(Comparable::comparable) }
    }
}

impl Comparable for AppendOutcome {
    fn comparable(self) -> Self {
        match self {
            Self::Appended(notes) => Self::Appended(notes.comparable()),
            Self::HeadMoved => Self::HeadMoved,
        }
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

impl Comparable for (Settings, AccountEntry) {
    fn comparable(self) -> Self {
        (self.0, without_seq(self.1))
    }
}

impl Comparable for Vec<(UserId, AccountEntry)> {
    fn comparable(mut self) -> Self {
        self.sort_by_key(|(user, _)| *user);
        self.into_iter().map(|(user, entry)| (user, without_seq(entry))).collect()
    }
}
