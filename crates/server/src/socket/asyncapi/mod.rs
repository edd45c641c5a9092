//! The description of the socket: AsyncAPI 3, at `/asyncapi.json`.
//!
//! The schemas come from the wire types, as in OpenAPI. Commands and events come from the lists in `protocol::socket`.

mod commands;
mod events;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::response::Response;
use bytes::Bytes;
use godwit_protocol::ids::ID_MIN;
use godwit_protocol::socket::{CloseCode, ErrorFrame};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::api::document::{encoded, json_document};
use crate::api::schemas;

/// `GET /asyncapi.json`
pub async fn serve() -> Response {
    static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| encoded(&document()));
    json_document(&DOCUMENT)
}

/// The whole document.
pub fn document() -> Value {
    let mut schemas = Schemas::default();
    let commands = commands::all(&mut schemas);
    let events = events::all(&mut schemas);
    let error = schemas.reference::<ErrorFrame>();
    let mut schemas: Map<String, Value> = schemas.0.into_iter().collect();
    schemas::complete(&mut schemas);

    let (mut messages, mut operations) = (Map::new(), Map::new());
    for command in &commands {
        messages.insert(format!("{}_command", command.name), command.request(&schemas));
        messages.insert(format!("{}_reply", command.name), command.reply());
        operations.insert(command.name.to_owned(), command.operation());
    }
    for event in &events {
        messages.insert(format!("{}_event", event.name), event.message());
        operations.insert(format!("on_{}", event.name), event.operation());
    }
    messages.insert(
        "error_reply".to_owned(),
        json!({
            "name": "error", "summary": "The reply to a command that failed.", "payload": error,
        }),
    );
    let channel_messages: Map<String, Value> =
        messages.keys().map(|name| (name.clone(), message_reference("components", name))).collect();

    json!({
        "asyncapi": "3.0.0",
        "info": {
            "title": "Godwit socket",
            "version": env!("CARGO_PKG_VERSION"),
            "description": description(),
            "license": { "name": "Apache-2.0" },
        },
        "defaultContentType": "application/json",
        "servers": { "this": { "host": "127.0.0.1:8080", "protocol": "ws" } },
        "channels": { "socket": {
            "address": "/v1/ws",
            "title": "The WebSocket",
            "messages": channel_messages,
        } },
        "operations": operations,
        "components": { "messages": messages, "schemas": schemas },
    })
}

/// One command and its reply.
struct Command {
    name: &'static str,
    summary: &'static str,
    body: Value,
    ok: Value,
}

impl Command {
    fn new<Body: ToSchema, Ok: ToSchema>(
        schemas: &mut Schemas,
        name: &'static str,
        summary: &'static str,
    ) -> Self {
        Self { name, summary, body: schemas.reference::<Body>(), ok: schemas.reference::<Ok>() }
    }

    fn request(&self, schemas: &Map<String, Value>) -> Value {
        let body = schemas::with_what_the_socket_needs(self.body.clone(), schemas);
        json!({ "name": self.name, "summary": self.summary, "payload": frame(&[("id", id_schema()), (self.name, body)]) })
    }

    fn reply(&self) -> Value {
        json!({
            "name": format!("{}_reply", self.name),
            "summary": format!("The reply to {}.", self.name),
            "payload": frame(&[("id", id_schema()), ("ok", self.ok.clone())]),
        })
    }

    fn operation(&self) -> Value {
        json!({
            "action": "receive",
            "summary": self.summary,
            "channel": { "$ref": "#/channels/socket" },
            "messages": [message_reference("channels/socket", &format!("{}_command", self.name))],
            "reply": {
                "channel": { "$ref": "#/channels/socket" },
                "messages": [
                    message_reference("channels/socket", &format!("{}_reply", self.name)),
                    message_reference("channels/socket", "error_reply"),
                ],
            },
        })
    }
}

/// One event.
struct Event {
    name: &'static str,
    summary: &'static str,
    body: Value,
}

impl Event {
    fn new<Body: ToSchema>(schemas: &mut Schemas, name: &'static str, summary: &'static str) -> Self {
        Self { name, summary, body: schemas.reference::<Body>() }
    }

    fn message(&self) -> Value {
        let payload = frame(&[(self.name, self.body.clone())]);
        json!({ "name": self.name, "summary": self.summary, "payload": payload })
    }

    fn operation(&self) -> Value {
        json!({
            "action": "send",
            "summary": self.summary,
            "channel": { "$ref": "#/channels/socket" },
            "messages": [message_reference("channels/socket", &format!("{}_event", self.name))],
        })
    }
}

fn message_reference(place: &str, name: &str) -> Value {
    json!({ "$ref": format!("#/{place}/messages/{name}") })
}

fn frame(fields: &[(&str, Value)]) -> Value {
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let properties: Map<String, Value> =
        fields.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({ "type": "object", "required": names, "properties": properties, "additionalProperties": false })
}

fn id_schema() -> Value {
    json!({ "type": "integer", "minimum": 0, "maximum": ID_MIN - 1, "description": "Chosen by the client; the reply repeats it." })
}

/// The schemas of the wire types, by name.
#[derive(Default)]
struct Schemas(BTreeMap<String, Value>);

impl Schemas {
    fn reference<T: ToSchema>(&mut self) -> Value {
        let mut found = vec![(T::name().into_owned(), T::schema())];
        T::schemas(&mut found);
        for (name, schema) in found {
            self.0.entry(name).or_insert_with(|| json!(schema));
        }
        json!({ "$ref": format!("#/components/schemas/{}", T::name()) })
    }
}

fn description() -> String {
    let codes: Vec<String> = CloseCode::ALL
        .iter()
        .map(|code| {
            let then = if code.reconnect() { "reconnect" } else { "do not reconnect without a change" };
            format!("- {}: {}; {then}", code.code(), code.reason())
        })
        .collect();
    format!(
        "A client sends `{{\"id\": 7, \"send\": {{…}}}}` and gets `{{\"id\": 7, \"ok\": {{…}}}}` or `{{\"id\": 7, \"error\": {{…}}}}`. \
         A frame without `id` is an event. Every frame is one JSON text frame.\n\nThe server closes a socket with one of these codes:\n{}",
        codes.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use godwit_protocol::socket;

    use super::*;

    #[test]
    fn every_command_and_every_event_is_described() {
        let document = document();
        let messages = document["components"]["messages"].as_object().unwrap();
        for name in socket::Command::NAMES {
            assert!(messages.contains_key(&format!("{name}_command")), "{name} is not described");
        }
        for name in socket::Event::NAMES {
            assert!(messages.contains_key(&format!("{name}_event")), "{name} is not described");
        }
        assert_eq!(messages.len(), 2 * socket::Command::NAMES.len() + socket::Event::NAMES.len() + 1);
    }

    #[test]
    fn every_reference_leads_somewhere() {
        fn references(value: &Value, found: &mut Vec<String>) {
            match value {
                Value::Object(map) => {
                    found.extend(map.get("$ref").and_then(Value::as_str).map(str::to_owned));
                    map.values().for_each(|value| references(value, found));
                }
                Value::Array(values) => values.iter().for_each(|value| references(value, found)),
                _ => {}
            }
        }
        let (document, mut found) = (document(), Vec::new());
        references(&document, &mut found);
        assert!(found.len() > 50);
        for reference in found {
            assert!(document.pointer(&reference[1..]).is_some(), "{reference} leads nowhere");
        }
    }
}
