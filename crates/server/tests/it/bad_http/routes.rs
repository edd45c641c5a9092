use std::collections::{BTreeMap, BTreeSet};

use godwit_client::protocol::ErrorCode;

use super::stage::Stage;

/// Routes that OpenAPI does not describe.
const UNDESCRIBED: &[&str] = &[
    "/",
    "/v1/ws",
    "/openapi.json",
    "/asyncapi.json",
    "/docs",
    "/docs/errors",
    "/docs/page.js",
    "/docs/page.css",
];
const METHODS: &[&str] = &["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"];

#[tokio::test]
async fn unknown_routes_are_not_found() {
    let stage = Stage::start().await;
    let before = stage.everything().await;
    for path in [
        "/v1",
        "/v1/",
        "/v1/nowhere",
        "/v1/me/",
        "/V1/me",
        "/v1//me",
        "//v1/me",
        "/v1/users/",
        "/v1/users/1/phone",
        "/v1/conversations/1/messages/2",
        "/v1/me%2Fpassword",
        "/v1/%6De%00",
        "/docs/../v1/nowhere",
        "/docs/..%2f..%2fCargo.toml",
        "/admin",
        "/.env",
    ] {
        for method in ["GET", "POST", "DELETE"] {
            stage.ask(method, path).refused(404, ErrorCode::NoSuchRoute).await;
            stage.raw.ask(method, path).refused(404, ErrorCode::NoSuchRoute).await;
        }
    }
    stage.assert_unharmed(&before).await;
}

#[tokio::test]
async fn a_wrong_method_is_answered_with_the_allowed_ones() {
    let stage = Stage::start().await;
    let before = stage.everything().await;
    let mut routes = BTreeMap::<String, BTreeSet<String>>::new();
    for operation in stage.operations().await {
        let path = operation.path.split('?').next().unwrap().to_owned();
        routes.entry(path).or_default().insert(operation.method);
    }
    routes.extend(UNDESCRIBED.iter().map(|path| ((*path).to_owned(), BTreeSet::from(["GET".to_owned()]))));
    for (path, allowed) in &routes {
        for method in METHODS.iter().filter(|method| !allowed.contains(**method)) {
            let answer = stage.ask(method, path).send().await;
            answer.assert_problem(405, ErrorCode::MethodNotAllowed);
            let mut named: BTreeSet<String> =
                answer.header("allow").unwrap().split(',').map(|name| name.trim().to_owned()).collect();
            // Every GET route supports HEAD too.
            assert_eq!(named.remove("HEAD"), allowed.contains("GET"), "{path}");
            assert_eq!(&named, allowed, "{path}");
        }
    }
    stage.assert_unharmed(&before).await;
}

#[tokio::test]
async fn head_answers_as_get_does_without_the_body() {
    let stage = Stage::start().await;
    for operation in stage.operations().await.iter().filter(|operation| operation.method == "GET") {
        let (get, head) =
            (stage.ask("GET", &operation.path).send().await, stage.ask("HEAD", &operation.path).send().await);
        assert_eq!((get.status, head.status), (200, 200), "{}", operation.path);
        assert_eq!(get.header("content-type"), head.header("content-type"));
        assert_eq!(head.body, "");
    }
    let refused = stage.raw.ask("HEAD", "/v1/me").send().await;
    assert_eq!((refused.status, refused.body.as_str()), (401, ""));
}
