//! Points in time.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::time_text::{TimeText, rfc_3339};

/// Milliseconds since the Unix epoch in memory, RFC 3339 in UTC on the wire.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

/// The text is not an RFC 3339 date and time between the years 1970 and 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidTimestamp;

impl fmt::Display for InvalidTimestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must be a time in RFC 3339 format, such as 2026-11-15T08:30:00.125Z")
    }
}

impl std::error::Error for InvalidTimestamp {}

impl Timestamp {
    /// 9999-12-30T22:00:00Z, the latest time that the API represents.
    const MAX_MS: i64 = 253_402_207_200_000;

    /// Clamps times before 1970 and after the maximum.
    pub const fn from_millis(millis: i64) -> Self {
        if millis < 0 {
            Self(0)
        } else if millis > Self::MAX_MS {
            Self(Self::MAX_MS)
        } else {
            Self(millis)
        }
    }

    pub const fn as_millis(self) -> i64 {
        self.0
    }

    #[must_use]
    pub const fn plus_millis(self, millis: i64) -> Self {
        Self::from_millis(self.0.saturating_add(millis))
    }

    fn text(self) -> TimeText {
        rfc_3339(self.0.cast_unsigned())
    }

    /// Milliseconds since `earlier`; negative if `earlier` is the later of the two.
    pub const fn millis_since(self, earlier: Self) -> i64 {
        self.0 - earlier.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().as_str())
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        let millis = match text.parse::<jiff::Timestamp>() {
            Ok(instant) => instant.as_millisecond(),
            // Applications often write the end of 9999 for "never". `jiff` cannot represent the last two days of that year.
            Err(_) if is_end_of_9999(text) => Self::MAX_MS,
            Err(_) => return Err(InvalidTimestamp),
        };
        if (0..=Self::MAX_MS).contains(&millis) { Ok(Self(millis)) } else { Err(InvalidTimestamp) }
    }
}

/// Whether the text is a valid time on 9999-12-30 or 9999-12-31.
fn is_end_of_9999(text: &str) -> bool {
    let a_year_before = text.strip_prefix("9999-12-3").map(|rest| format!("9998-12-3{rest}"));
    a_year_before.is_some_and(|text| text.parse::<jiff::Timestamp>().is_ok())
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_str(self.text().as_str())
        } else {
            serializer.serialize_i64(self.0)
        }
    }
}

struct TimestampVisitor;

impl Visitor<'_> for TimestampVisitor {
    type Value = Timestamp;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time in RFC 3339 format")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
        text.parse().map_err(E::custom)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_str(TimestampVisitor)
        } else {
            i64::deserialize(deserializer).map(Self::from_millis)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rfc_3339_with_milliseconds() {
        let time = Timestamp::from_millis(1_800_000_000_125);
        assert_eq!(serde_json::to_string(&time).unwrap(), r#""2027-01-15T08:00:00.125Z""#);
        assert_eq!(serde_json::from_str::<Timestamp>(r#""2027-01-15T09:00:00.125+01:00""#).unwrap(), time);
        for wrong in [r#""yesterday""#, r#""2027-01-15""#, "1800000000125", r#""1969-12-31T23:59:59Z""#] {
            assert!(serde_json::from_str::<Timestamp>(wrong).is_err(), "{wrong} was accepted as a time");
        }
    }

    #[test]
    fn the_end_of_9999_becomes_the_maximum() {
        for text in ["9999-12-31T23:59:59Z", "9999-12-31T23:59:59.999Z", "9999-12-30T23:00:00+00:00"] {
            assert_eq!(text.parse::<Timestamp>().unwrap(), Timestamp::from_millis(i64::MAX), "{text}");
        }
        for wrong in ["9999-12-32T00:00:00Z", "9999-12-31", "9999-12-31T24:59:59Z", "10000-01-01T00:00:00Z"] {
            assert!(wrong.parse::<Timestamp>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_timestamp_can_be_written_and_read_back() {
        for millis in [i64::MIN, 0, 1, i64::MAX] {
            let time = Timestamp::from_millis(millis);
            assert_eq!(time.to_string().parse::<Timestamp>().unwrap(), time);
        }
    }
}
