//! JSON of any shape from an untrusted client.
//!
//! [`Value`] gives a special meaning to an object with one of `serde_json`'s private keys: it parses the content again, and
//! restarts the depth limit. This reader counts the depth throughout and refuses such keys.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The maximum depth that the parser accepts. The limits of fields, such as `EVENT_DATA_DEPTH_MAX`, are lower.
const DEPTH_MAX: usize = 32;
const RESERVED: &str = "$serde_json::private::";

/// Deserializes an optional field that takes any JSON. `null` counts as absent.
pub(crate) fn optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    let value = Nested { depth_left: DEPTH_MAX }.deserialize(deserializer)?;
    Ok(Some(value).filter(|value| !value.is_null()))
}

#[derive(Clone, Copy)]
struct Nested {
    depth_left: usize,
}

impl Nested {
    fn deeper<E: Error>(self) -> Result<Self, E> {
        match self.depth_left.checked_sub(1) {
            Some(depth_left) => Ok(Self { depth_left }),
            None => Err(E::custom("the value is nested too deeply")),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Nested {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Nested {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    /// A whole number beyond 64 bits comes as the nearest floating-point number, which is another number.
    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        let fits = -9_223_372_036_854_775_808.0 < value && value < 18_446_744_073_709_551_616.0;
        if value.fract() == 0.0 && !fits {
            return Err(E::custom("a whole number must fit in 64 bits"));
        }
        Ok(Value::from(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(inner)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if key.starts_with(RESERVED) {
                return Err(A::Error::custom(format_args!("keys that begin with {RESERVED} are reserved")));
            }
            object.insert(key, entries.next_value_seed(inner)?);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::messages::SendMessage;

    fn parse(data: &str) -> Result<Option<serde_json::Value>, serde_json::Error> {
        let message = format!(r#"{{"client_id":"c","kind":"system","event":"app.x","data":{data}}}"#);
        serde_json::from_str::<SendMessage>(&message).map(|message| message.data)
    }

    #[test]
    fn any_json_keeps_its_value() {
        for data in [
            json!([1, -1, 1.5, u64::MAX, i64::MIN, true, "ä\"\n", [], {}, {"a": {"b": [null]}}]),
            json!("text"),
            json!(false),
        ] {
            assert_eq!(parse(&data.to_string()).unwrap(), Some(data));
        }
        assert_eq!(parse("null").unwrap(), None);
    }

    #[test]
    fn whole_numbers_beyond_64_bits_are_refused() {
        for data in ["18446744073709551616", "-9223372036854775809", "[1e30]"] {
            assert!(parse(data).unwrap_err().to_string().contains("64 bits"), "{data}");
        }
        assert_eq!(parse("1.5e3").unwrap(), Some(json!(1500.0)));
    }

    #[test]
    fn deep_nesting_is_refused_during_parsing() {
        let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(&nested(super::DEPTH_MAX)).is_ok());
        assert!(parse(&nested(super::DEPTH_MAX + 1)).is_err());
    }

    /// `serde_json` would parse the embedded text again and restart the depth limit for each level.
    #[test]
    fn the_private_keys_of_serde_json_are_refused() {
        for key in ["RawValue", "Number"] {
            let hidden = json!({ format!("{}{key}", super::RESERVED): "1" });
            for data in [hidden.clone(), json!({ "a": [hidden] })] {
                assert!(parse(&data.to_string()).unwrap_err().to_string().contains("reserved"), "{data}");
            }
        }
    }
}
