//! Typed ids.
//!
//! Ids are Snowflakes: 41 bits of milliseconds since 2026-01-01, 10 bits of node, 12 bits of sequence. On the wire
//! they are strings, because JavaScript loses integers above 2^53.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::time::Timestamp;

/// The epoch of ids: 2026-01-01T00:00:00Z in milliseconds since the Unix epoch.
pub const EPOCH_MS: i64 = 1_767_225_600_000;
/// The smallest possible id, 2^53. The API tells a [`Seq`] from an id by this bound: a smaller number is a `seq`. JavaScript
/// represents all smaller integers exactly.
pub const ID_MIN: u64 = 1 << 53;
/// Bits of an id for the number of the node that generated it.
pub const NODE_BITS: u32 = 10;
/// Bits of an id for the sequence number within one millisecond on one node.
pub const SEQUENCE_BITS: u32 = 12;

/// The text is not an id: not a decimal number above zero that fits in 63 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidId;

impl fmt::Display for InvalidId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an id is a decimal number in a string")
    }
}

impl std::error::Error for InvalidId {}

fn parse_id(text: &str) -> Result<u64, InvalidId> {
    let canonical = !text.is_empty() && !text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit());
    let value = if canonical { text.parse::<u64>().ok() } else { None };
    value.filter(|v| *v <= i64::MAX as u64).ok_or(InvalidId)
}

struct IdVisitor;

impl Visitor<'_> for IdVisitor {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an id (a decimal number in a string)")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<u64, E> {
        parse_id(text).map_err(E::custom)
    }
}

macro_rules! typed_id {
    ($(#[doc = $text:literal])* $name:ident) => {
        $(#[doc = $text])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u64);

        #[cfg(feature = "openapi")]
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                crate::shape::id(concat!("", $($text),*))
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::ToSchema for $name {}

        impl $name {
            pub const fn new(value: u64) -> Self {
                Self(value)
            }

            pub const fn get(self) -> u64 {
                self.0
            }

            /// When the id was generated, by the clock of the node that generated it.
            pub const fn timestamp(self) -> Timestamp {
                Timestamp::from_millis(EPOCH_MS + (self.0 >> (NODE_BITS + SEQUENCE_BITS)) as i64)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                parse_id(text).map(Self)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if serializer.is_human_readable() {
                    serializer.serialize_str(itoa::Buffer::new().format(self.0))
                } else {
                    serializer.serialize_u64(self.0)
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                if deserializer.is_human_readable() {
                    deserializer.deserialize_str(IdVisitor).map(Self)
                } else {
                    u64::deserialize(deserializer).map(Self)
                }
            }
        }
    };
}

typed_id!(
    /// A person or a bot.
    UserId
);
typed_id!(
    /// One signed-in client of a user.
    DeviceId
);
typed_id!(ConversationId);
typed_id!(
    /// A message. Within a conversation, ids rise with [`Seq`].
    MessageId
);
typed_id!(
    /// An invite link. The link itself contains a secret token instead of this id.
    InviteId
);
typed_id!(
    /// A message to be sent later.
    ScheduledId
);

/// The position of an entry in the log of its conversation: 1, 2, 3, … without gaps. 0 is before the first entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(u64);

impl Seq {
    /// Before the first entry.
    pub const ZERO: Self = Self(0);

    pub const fn new(value: u64) -> Self {
        Self(value)
    }

    pub const fn get(self) -> u64 {
        self.0
    }

    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl FromStr for Seq {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_json_only_decimal_strings_are_ids() {
        let id = UserId::new(118_059_912_994_951_168);
        assert_eq!(serde_json::to_string(&id).unwrap(), r#""118059912994951168""#);
        assert_eq!(serde_json::from_str::<UserId>(r#""118059912994951168""#).unwrap(), id);
        for wrong in [
            r#""""#,
            r#""0""#,
            r#""007""#,
            r#""-1""#,
            r#""+1""#,
            r#""1e3""#,
            "5",
            "null",
            r#""9223372036854775808""#,
        ] {
            assert!(serde_json::from_str::<UserId>(wrong).is_err(), "{wrong} was accepted as an id");
        }
    }

    #[test]
    fn an_id_contains_its_creation_time() {
        let made_at_ms = 1_800_000_000_123;
        let id = MessageId::new(((made_at_ms - EPOCH_MS) as u64) << (NODE_BITS + SEQUENCE_BITS) | 77);
        assert_eq!(id.timestamp(), Timestamp::from_millis(made_at_ms));
    }
}
