//! Deserializes JSON objects only, where serde would also accept arrays.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

/// Deserializes a `T` from a JSON object only. Code derived by serde also accepts an array with the fields in declaration
/// order, but that order is not part of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }

        deserializer.deserialize_map(ObjectVisitor(PhantomData)).map(Self)
    }
}

/// Deserializes an optional field that is an object.
pub(crate) fn optional<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Option::<Object<T>>::deserialize(deserializer)?.map(|Object(value)| value))
}

/// Deserializes a field that is an object, `null` (`Some(None)`) or absent (`None`).
pub(crate) fn present_object<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    optional(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::{SignIn, UpdateMe};
    use crate::conversations::CreateConversation;
    use crate::messages::SendMessage;

    #[test]
    fn an_array_is_not_an_object() {
        assert!(serde_json::from_str::<Object<UpdateMe>>("{}").is_ok());
        assert!(serde_json::from_str::<Object<UpdateMe>>("[]").is_err());
        assert!(serde_json::from_str::<Object<SignIn>>(r#"{"handle":"ada","password":"secret"}"#).is_ok());
        assert!(serde_json::from_str::<Object<SignIn>>(r#"["ada","secret",null]"#).is_err());
        let direct = r#"{"kind":"direct","user_id":"5"}"#;
        assert!(serde_json::from_str::<Object<CreateConversation>>(direct).is_ok());
        assert!(serde_json::from_str::<Object<CreateConversation>>(r#"["direct",["5"]]"#).is_err());
    }

    #[test]
    fn a_nested_array_is_not_an_object_either() {
        let message = |media: &str| format!(r#"{{"client_id":"c","kind":"image","media":{media}}}"#);
        let object = message(r#"{"url":"https://a","content_type":"image/png","size_bytes":1}"#);
        assert!(serde_json::from_str::<SendMessage>(&object).unwrap().media.is_some());
        assert!(serde_json::from_str::<SendMessage>(&message("null")).unwrap().media.is_none());
        let array = message(r#"["https://a","image/png",1,null,null,null,null]"#);
        assert!(serde_json::from_str::<SendMessage>(&array).is_err());
    }
}
