//! Every command of the socket.

use rand::rngs::StdRng;
use serde_json::{Map, Value, json};

use super::scene::Scene;
use super::validate::{Schemas, check, shortened};
use super::values::Values;
use super::{UNEXPECTED, code_of, random, schemas};
use crate::process::ServerProcess;
use crate::raw_http::RawHttp;
use crate::raw_socket::RawSocket;
use crate::unlimited::unlimited;

/// Commands per name.
const TIMES: usize = 24;
const TIMES_IN_A_SCENE: usize = 12;

struct Described {
    messages: Map<String, Value>,
    schemas: Schemas,
}

impl Described {
    fn payload(&self, name: &str) -> &Value {
        &self.messages.get(name).unwrap_or_else(|| panic!("{name} is not described"))["payload"]
    }

    /// Checks an event against its schema.
    fn check_event(&self, frame: &Value) {
        let name = frame.as_object().unwrap().keys().next().unwrap();
        let fits = check(self.payload(&format!("{name}_event")), frame, &self.schemas);
        assert_eq!(fits, Ok(()), "{}", shortened(frame));
    }

    /// Returns whether the command succeeded.
    fn check_reply(&self, command: &str, asked: &Value, reply: &Value) -> bool {
        let context = format!("{command} {}: {reply}", shortened(asked));
        if reply.get("ok").is_some() {
            let fits = check(self.payload(&format!("{command}_reply")), reply, &self.schemas);
            assert_eq!(fits, Ok(()), "{context}");
            return true;
        }
        assert_eq!(check(self.payload("error_reply"), reply, &self.schemas), Ok(()), "{context}");
        assert!(!UNEXPECTED.contains(&code_of(&reply["error"])), "{context}");
        false
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_command_accepts_values_that_its_schema_allows() {
    let server = unlimited().await;
    let document = RawHttp::new(&server.url()).ask("GET", "/asyncapi.json").send().await.ok();
    let messages = document["components"]["messages"].as_object().unwrap().clone();
    let described = Described { messages, schemas: schemas(&document) };
    let names: Vec<&str> =
        described.messages.keys().filter_map(|name| name.strip_suffix("_command")).collect();
    assert!(names.len() >= 35, "the document has all commands");
    let mut random = random();
    for command in names {
        let succeeded = try_often(command, &server, &described, &mut random).await;
        assert!(succeeded > 0, "{command} never succeeded: it needs something that the scene does not have");
    }
}

async fn try_often(
    command: &str,
    server: &ServerProcess,
    described: &Described,
    random: &mut StdRng,
) -> usize {
    let mut succeeded = 0;
    for _ in 0..TIMES / TIMES_IN_A_SCENE {
        let scene = Scene::new(server).await;
        let mut socket = open(&scene, server, described).await;
        for _ in 0..TIMES_IN_A_SCENE {
            let schema = described.payload(&format!("{command}_command"));
            let mut values = Values { schemas: &described.schemas, known: &scene.known, random };
            let frame = values.value("frame", schema);
            assert_eq!(check(schema, &frame, &described.schemas), Ok(()), "{}", shortened(&frame));
            socket.text(frame.to_string()).await;
            let Some(reply) = reply(&mut socket, &frame["id"], described).await else {
                // A sign-in as an unknown user closes the socket.
                assert_eq!(command, "sign_in", "the socket was closed: {}", shortened(&frame));
                socket = open(&scene, server, described).await;
                continue;
            };
            succeeded += usize::from(described.check_reply(command, &frame, &reply));
        }
    }
    succeeded
}

async fn open(scene: &Scene, server: &ServerProcess, described: &Described) -> RawSocket {
    let token = scene.ada.http.access_token();
    let mut socket = RawSocket::connect(server.address(), token.as_deref()).await;
    let hello = socket.json().await;
    assert!(hello.get("hello").is_some(), "the first frame is {hello}");
    described.check_event(&hello);
    socket
}

/// `None` if the socket is closed instead.
async fn reply(socket: &mut RawSocket, id: &Value, described: &Described) -> Option<Value> {
    loop {
        let frame = socket.next_value().await?.ok()?;
        match frame.get("id") {
            Some(answered) if answered == id => return Some(frame),
            Some(_) => panic!("a reply to nothing: {frame}"),
            None if frame.get("error").is_some() => panic!("a frame was not understood: {frame}"),
            None => described.check_event(&frame),
        }
    }
}

/// Commands refuse fields that the document does not describe.
#[tokio::test]
async fn no_command_accepts_undocumented_fields() {
    let server = unlimited().await;
    let scene = Scene::new(&server).await;
    let document = scene.raw.ask("GET", "/asyncapi.json").send().await.ok();
    let messages = document["components"]["messages"].as_object().unwrap().clone();
    let described = Described { messages, schemas: schemas(&document) };
    let mut random = random();
    for command in described.messages.keys().filter_map(|name| name.strip_suffix("_command")) {
        let mut socket = open(&scene, &server, &described).await;
        let schema = described.payload(&format!("{command}_command"));
        let mut values = Values { schemas: &described.schemas, known: &scene.known, random: &mut random };
        let mut frame = values.value("frame", schema);
        frame[command]["surprise"] = json!(1);
        assert!(check(schema, &frame, &described.schemas).is_err(), "{command} is described as open");
        socket.text(frame.to_string()).await;
        let refused = socket.error().await;
        assert_eq!(refused["error"]["code"], "invalid_request", "{command}: {refused}");
    }
}
