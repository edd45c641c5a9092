//! Names, which are unique across all accounts: handles, and the subjects of an embedding application.
//!
//! A store records a user for each name. The record alone is not ownership: the user's profile decides whether, and until
//! when, the user holds the name. A store that finds a name recorded for a user therefore asks [`Name::is_held_by`].

use godwit_protocol::Timestamp;

use super::{AccountCommand, AccountOutcome, CreateUser, UpdateUser};
use crate::model::{Handle, Subject, User};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Name {
    Handle(Handle),
    Subject(Subject),
}

impl Name {
    /// True if the name is taken by `user` at the time `at`. Users hold a handle for a while after they have given it up.
    pub fn is_held_by(&self, user: &User, at: Option<Timestamp>) -> bool {
        match self {
            Self::Handle(handle) => user.holds(handle, at),
            Self::Subject(_) => self.is_of(user),
        }
    }

    /// True if this is the current name of the user, so that a lookup by this name finds the user.
    pub fn is_of(&self, user: &User) -> bool {
        match self {
            Self::Handle(handle) => user.handle == *handle,
            Self::Subject(subject) => user.subject.as_ref() == Some(subject),
        }
    }

    /// All handles that are recorded for a user: the current one and the former ones.
    pub(super) fn handles_of(user: &User) -> impl Iterator<Item = &Handle> {
        [&user.handle].into_iter().chain(user.former_handles.iter().map(|former| &former.handle))
    }
}

impl AccountCommand {
    /// The names that the command may give to the user, in the order in which they are taken. The subject comes first: if
    /// two requests create the same user of the application, the second one gets the user of the first, and not the error
    /// that the handle is taken.
    pub fn names(&self) -> Vec<Name> {
        match self {
            Self::CreateUser { user } => {
                let subject = user.subject.clone().map(Name::Subject);
                subject.into_iter().chain([Name::Handle(user.handle.clone())]).collect()
            }
            Self::UpdateUser { change, .. } => change.handle.clone().map(Name::Handle).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// The [`names`](Self::names) that a user with this profile does not have yet.
    pub(super) fn new_names(&self, profile: Option<&User>) -> Vec<Name> {
        let mut names = self.names();
        match (self, profile) {
            (Self::CreateUser { .. }, None) => {}
            (Self::UpdateUser { .. }, Some(user)) => names.retain(|name| !name.is_of(user)),
            _ => names.clear(),
        }
        names
    }

    /// The time at which the names are taken. Former handles that other users keep until then are free.
    pub fn names_taken_at(&self) -> Option<Timestamp> {
        match self {
            Self::CreateUser { user } => Some(user.created_at),
            Self::UpdateUser { change, .. } => change.asked_at,
            _ => None,
        }
    }

    /// The outcome of the command if another user holds one of its names.
    pub(super) fn refused_for(&self, name: &Name, holder: User) -> AccountOutcome {
        match (self, name) {
            (Self::UpdateUser { .. }, _) => UpdateUser::HandleTaken.into(),
            (_, Name::Handle(_)) => CreateUser::HandleTaken.into(),
            (_, Name::Subject(_)) => CreateUser::SubjectTaken(holder).into(),
        }
    }
}
