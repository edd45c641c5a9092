//! Completes the schemas of the wire types, for OpenAPI and AsyncAPI alike, where their derives fall short:
//!
//! - An object that is composed of several refuses unknown fields as a whole; the parts do not refuse each other's fields.
//! - Some fields belong together: a text needs `text`, an image `media`.
//! - Ids that are in the path over HTTP are in the body on the socket.

use serde_json::{Map, Value, json};

const COMPONENTS: &str = "#/components/schemas/";
/// The description of a field that only the socket needs begins with this.
const ONLY_ON_THE_SOCKET: &str = "Required on the socket";

/// Completes the schemas of a document, by name.
pub fn complete(schemas: &mut Map<String, Value>) {
    let derived = schemas.clone();
    for (name, schema) in schemas.iter_mut() {
        put_together(schema, &derived);
        if let Some(choices) = choices(name) {
            schema["oneOf"] = choices;
        }
    }
    if let Some(schedule) = schemas.get_mut("ScheduleMessage") {
        let message = &mut schedule["properties"]["message"];
        *message = json!({ "allOf": [message.take(), without(&["conversation_id"])] });
    }
}

/// The body of a request without the ids that its path contains.
pub fn without_what_the_path_says(body: Value, parameters: &[Value], schemas: &Map<String, Value>) -> Value {
    let in_path = parameters.iter().filter(|parameter| parameter["in"] == "path");
    let named: Vec<String> = in_path.filter_map(|parameter| field_of(&parameter["schema"])).collect();
    let said: Vec<&str> = named.iter().map(String::as_str).filter(|name| has(&body, name, schemas)).collect();
    if said.is_empty() { body } else { json!({ "allOf": [body, without(&said)] }) }
}

/// The body of a socket command, with the ids that the socket requires.
pub fn with_what_the_socket_needs(body: Value, schemas: &Map<String, Value>) -> Value {
    let Some(fields) = resolved(&body, schemas)["properties"].as_object() else { return body };
    let is_needed = |field: &Value| description_of(field).starts_with(ONLY_ON_THE_SOCKET);
    let needed: Map<String, Value> = fields
        .iter()
        .filter(|(_, field)| is_needed(field))
        .map(|(name, field)| (name.clone(), not_null(field)))
        .collect();
    if needed.is_empty() {
        return body;
    }
    let names: Vec<&String> = needed.keys().collect();
    json!({ "allOf": [body, { "required": names, "properties": needed }] })
}

/// Merges the parts of an `allOf` if one of them refuses unknown fields.
fn put_together(schema: &mut Value, schemas: &Map<String, Value>) {
    for choice in schema.get_mut("oneOf").and_then(Value::as_array_mut).into_iter().flatten() {
        put_together(choice, schemas);
    }
    close_choices(schema);
    let Some(parts) = schema.get("allOf").and_then(Value::as_array) else { return };
    let parts: Vec<&Value> = parts.iter().map(|part| resolved(part, schemas)).collect();
    if !parts.iter().any(|part| is_closed(part)) {
        return;
    }
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for part in parts {
        properties.extend(part["properties"].as_object().cloned().unwrap_or_default());
        required.extend(part["required"].as_array().cloned().unwrap_or_default());
    }
    let mut merged = json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false,
    });
    if let Some(description) = schema.get("description") {
        merged["description"] = description.clone();
    }
    *schema = merged;
}

/// Makes all variants of an enum refuse unknown fields, if one does.
fn close_choices(schema: &mut Value) {
    let Some(choices) = schema.get_mut("oneOf").and_then(Value::as_array_mut) else { return };
    if choices.iter().any(is_closed) {
        for choice in choices.iter_mut().filter(|choice| choice.get("properties").is_some()) {
            choice["additionalProperties"] = json!(false);
        }
    }
}

/// The valid combinations of fields of a type.
fn choices(name: &str) -> Option<Value> {
    let text = json!({ "$ref": format!("{COMPONENTS}MessageText") });
    let media = json!({ "$ref": format!("{COMPONENTS}Media") });
    let kind = |kind: &str, fields: Value, required: &[&str]| {
        let mut properties = json!({ "kind": { "const": kind } });
        for (name, field) in fields.as_object().into_iter().flatten() {
            properties[name] = field.clone();
        }
        let required: Vec<&str> = required.iter().copied().chain(["kind"]).collect();
        json!({ "title": kind, "properties": properties, "required": required })
    };
    let none = json!({ "type": "null" });
    match name {
        // The server copies the body of a forward, so a forward has none.
        "SendMessage" => Some(json!([
            kind("text", json!({ "text": text, "media": none, "event": none, "data": none, "forwarded_from": none }), &["text"]),
            kind("image", json!({ "media": media, "event": none, "data": none, "forwarded_from": none }), &["media"]),
            kind("file", json!({ "media": media, "event": none, "data": none, "forwarded_from": none }), &["media"]),
            kind(
                "voice",
                json!({
                    "media": { "allOf": [media, {
                        "required": ["duration_ms"],
                        "properties": { "duration_ms": { "$ref": format!("{COMPONENTS}MediaMeasure") } },
                    }] },
                    "text": none, "event": none, "data": none, "forwarded_from": none,
                }),
                &["media"],
            ),
            kind(
                "system",
                json!({
                    "event": { "$ref": format!("{COMPONENTS}AppEvent") },
                    "media": none, "forwarded_from": none,
                }),
                &["event"]
            ),
            {
                "title": "forward",
                "required": ["forwarded_from"],
                "properties": {
                    "forwarded_from": { "$ref": format!("{COMPONENTS}MessageId") },
                    "kind": none, "text": none, "media": none, "event": none, "data": none,
                },
            },
        ])),
        "ReadHistory" => Some(at_most_one(&[
            ("before", "Position"),
            ("after", "Position"),
            ("around", "Position"),
            ("before_time", "Timestamp"),
        ])),
        "UpdateMembership" => Some(json!([
            { "title": "not pinned", "properties": { "pinned": { "type": ["boolean", "null"], "enum": [false, null] } } },
            {
                "title": "pinned", "required": ["pinned"],
                "properties": {
                    "pinned": { "const": true },
                    "archived": { "type": ["boolean", "null"], "enum": [false, null] },
                },
            },
        ])),
        _ => None,
    }
}

fn at_most_one(fields: &[(&str, &str)]) -> Value {
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let mut choices = vec![json!({ "title": "none", "properties": nulls(&names) })];
    for (name, of) in fields {
        let mut properties = nulls(&names);
        properties[*name] = json!({ "$ref": format!("{COMPONENTS}{of}") });
        choices.push(json!({ "title": name, "properties": properties, "required": [name] }));
    }
    Value::Array(choices)
}

fn nulls(names: &[&str]) -> Value {
    names.iter().map(|name| ((*name).to_owned(), json!({ "type": "null" }))).collect::<Map<_, _>>().into()
}

fn without(names: &[&str]) -> Value {
    json!({ "properties": nulls(names) })
}

/// For the id of a conversation, `conversation_id`.
fn field_of(schema: &Value) -> Option<String> {
    let name = schema["$ref"].as_str()?.strip_prefix(COMPONENTS)?.strip_suffix("Id")?;
    Some(format!("{}_id", name.to_ascii_lowercase()))
}

/// True if an object has this optional field.
fn has(body: &Value, name: &str, schemas: &Map<String, Value>) -> bool {
    let body = resolved(body, schemas);
    let is_required = body["required"].as_array().is_some_and(|all| all.iter().any(|field| field == name));
    body["properties"].get(name).is_some() && !is_required
}

fn resolved<'a>(schema: &'a Value, schemas: &'a Map<String, Value>) -> &'a Value {
    let name = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix(COMPONENTS));
    name.and_then(|name| schemas.get(name)).unwrap_or(schema)
}

fn is_closed(schema: &Value) -> bool {
    schema["additionalProperties"] == json!(false)
}

fn description_of(field: &Value) -> &str {
    let nested = field["oneOf"].as_array().and_then(|choices| choices.first());
    field["description"].as_str().or_else(|| nested?["description"].as_str()).unwrap_or_default()
}

/// The schema of a field when it is not null.
fn not_null(field: &Value) -> Value {
    let is_null = |choice: &&Value| choice["type"] == "null";
    match field["oneOf"].as_array() {
        Some(choices) => choices.iter().find(|choice| !is_null(choice)).unwrap_or(field).clone(),
        None => field.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::docs::openapi;
    use crate::socket::asyncapi;

    /// Visits every schema of both documents, with all nested ones.
    fn everywhere(value: &Value, visit: &mut impl FnMut(&Value)) {
        visit(value);
        match value {
            Value::Object(fields) => fields.values().for_each(|value| everywhere(value, visit)),
            Value::Array(items) => items.iter().for_each(|value| everywhere(value, visit)),
            _ => {}
        }
    }

    #[test]
    fn no_part_of_an_object_refuses_the_fields_of_another() {
        for document in [openapi::document(), asyncapi::document()] {
            let schemas = document["components"]["schemas"].as_object().unwrap();
            let mut seen = 0;
            everywhere(&document, &mut |value| {
                let Some(parts) = value.get("allOf").and_then(Value::as_array) else { return };
                seen += 1;
                let parts: Vec<&Value> = parts.iter().map(|part| resolved(part, schemas)).collect();
                for closed in parts.iter().filter(|part| is_closed(part)) {
                    for field in
                        parts.iter().filter_map(|part| part["properties"].as_object()).flat_map(Map::keys)
                    {
                        assert!(closed["properties"].get(field).is_some(), "{field} is refused: {value}");
                    }
                }
            });
            assert!(seen > 5);
        }
    }

    #[test]
    fn each_kind_of_conversation_has_its_own_fields() {
        let document = openapi::document();
        let choices = document["components"]["schemas"]["CreateConversation"]["oneOf"].as_array().unwrap();
        for (choice, kind) in choices.iter().zip(["direct", "group", "channel"]) {
            assert_eq!(choice["properties"]["kind"]["enum"], json!([kind]));
            assert_eq!(choice["additionalProperties"], json!(false), "{kind}");
            assert_eq!(choice["properties"].get("name").is_some(), kind != "direct");
        }
    }

    #[test]
    fn the_socket_requires_the_ids_that_http_has_in_the_path() {
        let (http, socket) = (openapi::document(), asyncapi::document());
        let send = &http["paths"]["/v1/conversations/{id}/messages"]["post"];
        let body = &send["requestBody"]["content"]["application/json"]["schema"];
        assert_eq!(body["allOf"][1], without(&["conversation_id"]));
        let body = &socket["components"]["messages"]["send_command"]["payload"]["properties"]["send"];
        assert_eq!(body["allOf"][1]["required"], json!(["conversation_id"]));
    }

    #[test]
    fn both_documents_have_the_same_schema_for_a_type() {
        let (http, socket) = (openapi::document(), asyncapi::document());
        let socket = socket["components"]["schemas"].as_object().unwrap();
        for (name, schema) in http["components"]["schemas"].as_object().unwrap() {
            assert!(socket.get(name).is_none_or(|other| other == schema), "{name}");
        }
    }
}
