//! Fields that are not records.

use std::ops::Deref;

use godwit_domain::model::{Avatar, ClientId, DeviceName, DisplayName, Handle, InviteToken, Phone, Subject};
use godwit_protocol::accounts::MayBeAddedBy;
use godwit_protocol::conversations::{
    ConversationKind, EditsVisibleTo, HistoryVisibility, Permissions, Role,
};
use godwit_protocol::messages::MessageKind;
use godwit_protocol::{
    ConversationId, DeviceId, ErrorCode, InviteId, MessageId, ScheduledId, Seq, Timestamp, UserId,
};

use crate::Stored;

/// Values that are stored as they are.
macro_rules! same {
    ($($type:ty)+) => {$(
        impl Stored<'_, $type> for $type {
            fn of(value: &$type) -> Self {
                value.clone()
            }

            fn restore(self) -> $type {
                self
            }
        }
    )+};
}

/// Texts that are stored without a copy, or with one.
macro_rules! texts {
    ($($type:ty, $borrow:expr, $own:expr;)+) => {$(
        impl<'a> Stored<'a, $type> for &'a str {
            fn of(value: &'a $type) -> Self {
                $borrow(value)
            }

            fn restore(self) -> $type {
                $own(self)
            }
        }

        impl Stored<'_, $type> for Box<str> {
            fn of(value: &$type) -> Self {
                $borrow(value).into()
            }

            fn restore(self) -> $type {
                $own(self)
            }
        }
    )+};
}

same! { bool u32 u64 i64 Box<str> String Seq Timestamp }
same! { ConversationId DeviceId InviteId MessageId ScheduledId UserId }
// Their names in JSON are those of the API, which do not change.
same! { ConversationKind EditsVisibleTo ErrorCode HistoryVisibility MayBeAddedBy MessageKind Permissions Role }

texts! {
    Avatar, Deref::deref, Avatar::from_stored;
    ClientId, ClientId::as_str, ClientId::from_stored;
    DeviceName, Deref::deref, DeviceName::from_stored;
    DisplayName, Deref::deref, DisplayName::from_stored;
    Handle, Deref::deref, Handle::from_stored;
    InviteToken, InviteToken::as_str, InviteToken::from_stored;
    Phone, Deref::deref, Phone::from_stored;
    Subject, Deref::deref, Subject::from_stored;
}

impl<'a> Stored<'a, Box<str>> for &'a str {
    fn of(value: &'a Box<str>) -> Self {
        value
    }

    fn restore(self) -> Box<str> {
        self.into()
    }
}

impl<'a> Stored<'a, String> for &'a str {
    fn of(value: &'a String) -> Self {
        value
    }

    fn restore(self) -> String {
        self.into()
    }
}

impl<'a, T, S: Stored<'a, T>> Stored<'a, Option<T>> for Option<S> {
    fn of(value: &'a Option<T>) -> Self {
        value.as_ref().map(S::of)
    }

    fn restore(self) -> Option<T> {
        self.map(S::restore)
    }
}

impl<'a, T, S: Stored<'a, T>> Stored<'a, Box<T>> for Box<S> {
    fn of(value: &'a Box<T>) -> Self {
        Self::new(S::of(value))
    }

    fn restore(self) -> Box<T> {
        Box::new((*self).restore())
    }
}

impl<'a, T, S: Stored<'a, T>> Stored<'a, Vec<T>> for Vec<S> {
    fn of(value: &'a Vec<T>) -> Self {
        value.iter().map(S::of).collect()
    }

    fn restore(self) -> Vec<T> {
        self.into_iter().map(S::restore).collect()
    }
}

impl<'a, T, U, S: Stored<'a, T>, R: Stored<'a, U>> Stored<'a, (T, U)> for (S, R) {
    fn of((first, second): &'a (T, U)) -> Self {
        (S::of(first), R::of(second))
    }

    fn restore(self) -> (T, U) {
        (self.0.restore(), self.1.restore())
    }
}
