//! Every HTTP operation.

use std::collections::BTreeMap;

use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Value, json};

use super::scene::Scene;
use super::validate::{Schemas, check, shortened};
use super::values::Values;
use super::{UNEXPECTED, code_of, random, schemas};
use crate::process::ServerProcess;
use crate::raw_http::{Answer, RawHttp};
use crate::unlimited::unlimited;

/// Requests per operation.
const TIMES: usize = 24;
/// Requests per scene, so that earlier requests affect later ones.
const TIMES_IN_A_SCENE: usize = 12;
const JSON: &str = "application/json";
const PROBLEM: &str = "application/problem+json";

pub(super) struct Operation {
    pub(super) id: String,
    pub(super) method: String,
    pub(super) path: String,
    pub(super) described: Value,
}

/// A generated request.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) path: String,
    pub(super) query: BTreeMap<String, Value>,
    pub(super) headers: BTreeMap<String, Value>,
    pub(super) body: Option<Value>,
}

impl Operation {
    pub(super) fn all(document: &Value) -> Vec<Self> {
        let mut all = Vec::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, described) in methods.as_object().unwrap() {
                let id = described["operationId"].as_str().unwrap().to_owned();
                all.push(Self {
                    id,
                    method: method.to_ascii_uppercase(),
                    path: path.clone(),
                    described: described.clone(),
                });
            }
        }
        assert!(all.len() >= 61, "the document has all operations");
        all
    }

    fn parameters(&self) -> Vec<Value> {
        self.described["parameters"].as_array().cloned().unwrap_or_default()
    }

    pub(super) fn is_open(&self) -> bool {
        self.described.get("security").is_some_and(|security| *security == json!([{}]))
    }

    pub(super) fn body_schema(&self) -> Option<&Value> {
        self.described.pointer("/requestBody/content/application~1json/schema")
    }

    pub(super) fn request(&self, scene: &Scene, schemas: &Schemas, random: &mut StdRng) -> Request {
        let mut request =
            Request { path: self.path.clone(), query: BTreeMap::new(), headers: BTreeMap::new(), body: None };
        for parameter in self.parameters() {
            let name = parameter["name"].as_str().unwrap().to_owned();
            let is_cursor =
                parameter["schema"]["$ref"].as_str().is_some_and(|target| target.ends_with("/Cursor"));
            if is_cursor || (parameter["required"] != json!(true) && random.random_bool(0.5)) {
                continue;
            }
            let mut values = Values { schemas, known: &scene.known, random };
            let value = values.value(&name, &parameter["schema"]);
            assert_eq!(check(&parameter["schema"], &value, schemas), Ok(()), "{} {name}", self.id);
            match parameter["in"].as_str().unwrap() {
                "path" => request.path = request.path.replace(&format!("{{{name}}}"), &plain(&value)),
                "query" => drop(request.query.insert(name, value)),
                "header" => drop(request.headers.insert(name, value)),
                place => panic!("a parameter in the {place}"),
            }
        }
        self.keep_to_groups(&mut request, scene, schemas, random);
        if let Some(schema) = self.body_schema() {
            let body = Values { schemas, known: &scene.known, random }.value("body", schema);
            assert_eq!(check(schema, &body, schemas), Ok(()), "{}: {}", self.id, shortened(&body));
            request.body = Some(body);
        }
        request
    }

    /// Removes parameters that exclude each other.
    fn keep_to_groups(&self, request: &mut Request, scene: &Scene, schemas: &Schemas, random: &mut StdRng) {
        for word in ["x-at-most-one-of", "x-exactly-one-of"] {
            let Some(names) = self.described[word].as_array() else { continue };
            let kept = names[random.random_range(0..names.len())].as_str().unwrap();
            request.query.retain(|name, _| name == kept || !names.contains(&json!(name)));
            if word == "x-exactly-one-of" {
                let parameters = self.parameters();
                let schema =
                    &parameters.iter().find(|parameter| parameter["name"] == kept).unwrap()["schema"];
                let value = Values { schemas, known: &scene.known, random }.value(kept, schema);
                request.query.insert(kept.to_owned(), value);
            }
        }
    }

    pub(super) async fn send(&self, request: &Request, scene: &Scene) -> Answer {
        let pairs = request.query.iter().map(|(name, value)| (name.as_str(), plain(value)));
        let query = reqwest::Url::parse_with_params("http://x/", pairs).unwrap();
        let path = format!("{}?{}", request.path, query.query().unwrap_or_default());
        let mut ask = scene.raw.ask(&self.method, path.trim_end_matches('?'));
        if !self.is_open() {
            ask = ask.by(&scene.ada.http);
        }
        for (name, value) in &request.headers {
            ask = ask.header(name, &plain(value));
        }
        if let Some(body) = &request.body {
            ask = ask.json(body);
        }
        ask.because(&request.body.as_ref().map(shortened).unwrap_or_default()).send().await
    }

    /// Checks that the answer is one of the described ones. Returns whether the request succeeded.
    fn check_answer(&self, request: &Request, answer: &Answer, schemas: &Schemas) -> bool {
        let body = request.body.as_ref().map(shortened).unwrap_or_default();
        let context = format!(
            "{} {} {:?} {body}: {} {}",
            self.method, request.path, request.query, answer.status, answer.body
        );
        let response = &self.described["responses"][answer.status.to_string()];
        assert!(response.is_object(), "this status is not described: {context}");
        let is_ok = (200..300).contains(&answer.status);
        let content = answer.header("content-type").unwrap_or_default();
        let described = &response["content"];
        if [JSON, PROBLEM].contains(&content) {
            let said: Value =
                serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {context}"));
            let fits = check(&described[content]["schema"], &said, schemas);
            assert_eq!(fits, Ok(()), "{context}");
            if !is_ok {
                let code = code_of(&said);
                assert!(!UNEXPECTED.contains(&code), "{context}");
                let codes = self.described["x-error-codes"].as_array().unwrap();
                assert!(codes.contains(&said["code"]), "this code is not described: {context}");
            }
        } else if described.is_null() {
            assert_eq!(answer.body, "", "{context}");
        }
        if is_ok {
            for name in response["headers"].as_object().into_iter().flat_map(|headers| headers.keys()) {
                assert!(answer.header(name).is_some(), "{name} is not there: {context}");
            }
        }
        is_ok
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_operation_accepts_values_that_its_schema_allows() {
    let server = unlimited().await;
    let document = RawHttp::new(&server.url()).ask("GET", "/openapi.json").send().await.ok();
    let (schemas, mut random) = (schemas(&document), random());
    for operation in Operation::all(&document) {
        let succeeded = try_often(&operation, &server, &schemas, &mut random).await;
        assert!(
            succeeded > 0,
            "{} never succeeded: it needs something that the scene does not have",
            operation.id
        );
    }
}

async fn try_often(
    operation: &Operation,
    server: &ServerProcess,
    schemas: &Schemas,
    random: &mut StdRng,
) -> usize {
    let mut succeeded = 0;
    for _ in 0..TIMES / TIMES_IN_A_SCENE {
        let scene = Scene::new(server).await;
        for _ in 0..TIMES_IN_A_SCENE {
            let request = operation.request(&scene, schemas, random);
            let answer = operation.send(&request, &scene).await;
            succeeded += usize::from(operation.check_answer(&request, &answer, schemas));
            // After a sign-out or a password change, the token is invalid.
            if answer.status == 401 {
                break;
            }
        }
    }
    succeeded
}

/// A retry is answered as a replay, as the document describes.
#[tokio::test]
async fn repeated_requests_are_answered_as_documented() {
    let server = unlimited().await;
    let scene = Scene::new(&server).await;
    let document = scene.raw.ask("GET", "/openapi.json").send().await.ok();
    let (schemas, all) = (schemas(&document), Operation::all(&document));
    let send = all.iter().find(|operation| operation.id == "send_message").unwrap();
    let conversation = scene.known["ConversationId"][0].as_str().unwrap();
    let request = Request {
        path: send.path.replace("{id}", conversation),
        query: BTreeMap::new(),
        headers: BTreeMap::new(),
        body: Some(json!({ "client_id": "twice", "kind": "text", "text": "hello" })),
    };
    for status in [201, 200] {
        let answer = send.send(&request, &scene).await;
        assert_eq!(answer.status, status);
        assert!(send.check_answer(&request, &answer, &schemas));
        let described = send.described["responses"][status.to_string()]["headers"].get("Idempotent-Replay");
        assert_eq!(answer.header("idempotent-replay"), described.map(|_| "true"));
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
