//! A value just beyond a limit of a schema is refused: the schemas have the limits of the server, and not stricter ones.

use godwit_client::protocol::ErrorCode;
use serde_json::{Value, json};

use super::operations::{Operation, Request};
use super::scene::Scene;
use super::validate::{Schemas, check, resolved, shortened};
use super::{code_of, random, schemas};
use crate::unlimited::unlimited;

/// The server accepts more of these than the schema allows: a `seq` is compared with the head of the log.
const GENEROUS: &[&str] = &["Seq"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_beyond_a_limit_are_refused() {
    let server = unlimited().await;
    let scene = Scene::new(&server).await;
    let document = scene.raw.ask("GET", "/openapi.json").send().await.ok();
    let (schemas, mut random) = (schemas(&document), random());
    let mut refused = 0;
    for operation in Operation::all(&document) {
        for field in fields(&operation, &schemas) {
            for wrong in field.beyond(&schemas) {
                // Another alternative may lack the field.
                let request = (0..200)
                    .map(|_| operation.request(&scene, &schemas, &mut random))
                    .find_map(|request| field.put(request, &wrong, &schemas));
                let Some(request) = request else { panic!("{} has no {:?}", operation.id, field.path) };
                refused += usize::from(is_refused_for_it(&operation, &request, &scene, &field).await);
            }
        }
    }
    assert!(refused > 80, "only {refused} limits were reached");
}

/// Sends the request, which must be refused, usually for this field.
async fn is_refused_for_it(operation: &Operation, request: &Request, scene: &Scene, field: &Field) -> bool {
    let answer = operation.send(request, scene).await;
    let body = request.body.as_ref().map(shortened).unwrap_or_default();
    let context = format!(
        "{} {:?}: {} {body}: {} {}",
        operation.id, field.path, request.path, answer.status, answer.body
    );
    assert!((400..500).contains(&answer.status), "{context}");
    let code = code_of(&serde_json::from_str(&answer.body).unwrap());
    let refused_for_it = [ErrorCode::InvalidRequest, ErrorCode::InvalidField, ErrorCode::TooLarge];
    let is_for_it = refused_for_it.contains(&code);
    // The server checks the ids in a request first, so it may refuse for another reason.
    assert!(is_for_it || [403, 404, 409, 410].contains(&answer.status), "{context}");
    is_for_it
}

/// A field of a body, or a query parameter.
struct Field {
    /// Names from the outermost to the innermost.
    path: Vec<String>,
    is_query: bool,
    schema: Value,
}

impl Field {
    /// Values just beyond the limits.
    fn beyond(&self, schemas: &Schemas) -> Vec<Value> {
        let schema = resolved(&self.schema, schemas);
        let number = |word: &str| schema[word].as_f64().map(|number| number as i64);
        let mut wrong = Vec::new();
        wrong.extend(number("maxLength").map(|max| json!("x".repeat(max as usize + 1))));
        wrong.extend(
            number("minLength").filter(|min| *min > 0).map(|min| json!("x".repeat(min as usize - 1))),
        );
        wrong.extend(number("maximum").map(|max| json!(max + 1)));
        wrong.extend(number("minimum").map(|min| json!(min - 1)));
        let id = json!("9007199254740993");
        wrong.extend(number("maxItems").map(|max| vec![id.clone(); max as usize + 1].into()));
        wrong.extend(number("minItems").filter(|min| *min > 0).map(|min| vec![id; min as usize - 1].into()));
        wrong
    }

    /// The request with this value in the field. `None` if it has no such field.
    fn put(&self, mut request: Request, wrong: &Value, schemas: &Schemas) -> Option<Request> {
        if self.is_query {
            request.query.insert(self.path[0].clone(), wrong.clone());
            return Some(request);
        }
        let mut at = request.body.as_mut()?;
        for name in &self.path {
            at = at.as_object_mut()?.get_mut(name)?;
        }
        if at.is_null() {
            return None;
        }
        *at = wrong.clone();
        assert!(check(&self.schema, wrong, schemas).is_err(), "{wrong} is allowed");
        Some(request)
    }
}

fn fields(operation: &Operation, schemas: &Schemas) -> Vec<Field> {
    let mut fields = Vec::new();
    for parameter in operation.described["parameters"].as_array().into_iter().flatten() {
        if parameter["in"] == "query" {
            let name = parameter["name"].as_str().unwrap().to_owned();
            collect(vec![name], &parameter["schema"], true, schemas, &mut fields);
        }
    }
    if let Some(body) = operation.body_schema() {
        collect(Vec::new(), body, false, schemas, &mut fields);
    }
    fields
}

fn collect(path: Vec<String>, schema: &Value, is_query: bool, schemas: &Schemas, fields: &mut Vec<Field>) {
    let name = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next());
    if name.is_some_and(|name| GENEROUS.contains(&name)) {
        return;
    }
    let inner = resolved(schema, schemas);
    for part in ["allOf", "oneOf"].iter().filter_map(|word| inner[*word].as_array()).flatten() {
        collect(path.clone(), part, is_query, schemas, fields);
    }
    for (name, field) in inner["properties"].as_object().into_iter().flatten() {
        let deeper = path.iter().cloned().chain([name.clone()]).collect();
        collect(deeper, field, is_query, schemas, fields);
    }
    let is_known = fields.iter().any(|field| field.path == path && field.is_query == is_query);
    if !path.is_empty() && !is_known && inner.get("type").is_some() {
        fields.push(Field { path, is_query, schema: inner.clone() });
    }
}
