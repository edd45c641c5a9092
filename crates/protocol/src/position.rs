//! Positions in the history of a conversation.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::ids::ID_MIN;
use crate::{MessageId, Seq};

/// A position in the history: the id of a message, or a `seq`. A number below 2^53 is a `seq`; every id is larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum Position {
    Message(MessageId),
    Seq(Seq),
}

/// The text is neither a message id nor a `seq`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidPosition;

impl fmt::Display for InvalidPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must be a message id or a seq")
    }
}

impl std::error::Error for InvalidPosition {}

impl From<MessageId> for Position {
    fn from(id: MessageId) -> Self {
        Self::Message(id)
    }
}

impl From<Seq> for Position {
    fn from(seq: Seq) -> Self {
        Self::Seq(seq)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(id) => id.fmt(f),
            Self::Seq(seq) => seq.fmt(f),
        }
    }
}

impl FromStr for Position {
    type Err = InvalidPosition;

    fn from_str(text: &str) -> Result<Self, InvalidPosition> {
        let value: u64 = text.parse().map_err(|_| InvalidPosition)?;
        if value < ID_MIN {
            Ok(Self::Seq(Seq::new(value)))
        } else {
            text.parse().map(Self::Message).map_err(|_| InvalidPosition)
        }
    }
}

/// A JSON number is a `seq`. A string is either of both, as in a query parameter.
impl<'de> Deserialize<'de> for Position {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PositionVisitor;

        impl Visitor<'_> for PositionVisitor {
            type Value = Position;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a message id in a string, or a seq")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Position, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Position, E> {
                if value < ID_MIN { Ok(Seq::new(value).into()) } else { Err(E::custom(InvalidPosition)) }
            }
        }

        deserializer.deserialize_any(PositionVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGEST_SEQ: u64 = ID_MIN - 1;

    #[test]
    fn a_small_number_is_a_seq_and_a_large_one_an_id() {
        assert_eq!("0".parse(), Ok(Position::Seq(Seq::ZERO)));
        assert_eq!("9007199254740991".parse(), Ok(Position::Seq(Seq::new(LARGEST_SEQ))));
        assert_eq!("9007199254740992".parse(), Ok(Position::Message(MessageId::new(ID_MIN))));
        for wrong in ["", "-1", "abc", "1.5", "18446744073709551616", "18446744073709551615"] {
            assert!(wrong.parse::<Position>().is_err(), "{wrong:?} was accepted as a position");
        }
    }

    #[test]
    fn in_json_a_seq_is_a_number_and_an_id_a_string() {
        for (json, position) in [
            ("7", Position::Seq(Seq::new(7))),
            ("\"9007199254740992\"", Position::Message(MessageId::new(ID_MIN))),
        ] {
            assert_eq!(serde_json::from_str::<Position>(json).unwrap(), position);
            assert_eq!(serde_json::to_string(&position).unwrap(), json);
        }
        assert_eq!(serde_json::from_str::<Position>("\"7\"").unwrap(), Position::Seq(Seq::new(7)));
        for wrong in ["9007199254740992", "-1", "1.5", "null", "true", "\"\"", "[7]"] {
            assert!(serde_json::from_str::<Position>(wrong).is_err(), "{wrong} was accepted as a position");
        }
    }
}
