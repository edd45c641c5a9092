use godwit_client::protocol::ErrorCode;
use godwit_client::protocol::socket::{CloseCode, Command, Event};
use serde_json::Value;

use crate::raw_http::RawHttp;
use crate::unlimited::unlimited;

/// Every `$ref` in the document.
fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("$ref").and_then(Value::as_str));
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

fn assert_references_resolve(document: &Value) {
    let mut found = Vec::new();
    references(document, &mut found);
    assert!(found.len() > 20, "{found:?}");
    for reference in found {
        let pointer = reference.strip_prefix('#').unwrap_or_else(|| panic!("{reference} leads elsewhere"));
        assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
}

#[tokio::test]
async fn the_http_api_is_described() {
    let server = unlimited().await;
    let raw = RawHttp::new(&server.url());
    let answer = raw.ask("GET", "/openapi.json").send().await;
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let document = answer.ok();
    assert!(document["openapi"].as_str().unwrap().starts_with("3."));
    assert_references_resolve(&document);
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            // The document describes every parameter in the path.
            let described = operation["parameters"].as_array().map_or(0, |parameters| {
                parameters.iter().filter(|parameter| parameter["in"] == "path").count()
            });
            assert_eq!(path.matches('{').count(), described, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn the_socket_is_described() {
    let server = unlimited().await;
    let raw = RawHttp::new(&server.url());
    let document = raw.ask("GET", "/asyncapi.json").send().await.ok();
    assert!(document["asyncapi"].as_str().unwrap().starts_with("3."));
    assert_references_resolve(&document);
    let text = document.to_string();
    for name in Command::NAMES.iter().chain(Event::NAMES) {
        assert!(text.contains(&format!("\"{name}\"")), "{name} is not described");
    }
    for code in CloseCode::ALL {
        assert!(text.contains(&code.code().to_string()), "close code {} is not described", code.code());
    }
}

/// The pages work without the internet, and a browser runs only their own script.
#[tokio::test]
async fn the_documentation_pages_are_self_contained() {
    let server = unlimited().await;
    let raw = RawHttp::new(&server.url());
    for (path, content_type) in [
        ("/docs", "text/html; charset=utf-8"),
        ("/docs/errors", "text/html; charset=utf-8"),
        ("/docs/page.js", "text/javascript"),
        ("/docs/page.css", "text/css"),
    ] {
        let answer = raw.ask("GET", path).send().await;
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.header("content-type").unwrap().starts_with(content_type), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{path}: {policy}");
        for elsewhere in ["src=\"http", "src=\"//", "href=\"http", "@import", "cdn."] {
            assert!(!answer.body.contains(elsewhere), "{path} needs something from elsewhere: {elsewhere}");
        }
    }
    let errors = raw.ask("GET", "/docs/errors").send().await.body;
    for (code, _) in ErrorCode::ALL {
        assert!(errors.contains(&format!("id=\"{code}\"")), "the type of a problem leads nowhere: {code}");
    }
    let landing = raw.ask("GET", "/").send().await;
    assert_eq!(landing.status, 200);
    if landing.body.contains("<!doctype html>") {
        let policy = landing.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        return;
    }
    assert!(landing.body.contains("built without its web client"));
    for path in ["/docs", "/openapi.json", "/asyncapi.json", "/healthz", "/readyz"] {
        assert!(landing.body.contains(path), "{path} is not named");
    }
}
