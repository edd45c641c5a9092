//! The errors of requests that fail before a use case runs. They need no store.

use axum::Router;
use axum::body::Body as RawBody;
use axum::http::header::{
    ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use godwit_protocol::accounts::Register;
use godwit_protocol::conversations::CreateConversation;
use godwit_protocol::limits::REQUEST_BODY_BYTES_MAX;
use godwit_protocol::messages::SendMessage;
use godwit_protocol::{ErrorCode, MessageId, Problem, UserId};
use serde::Deserialize;
use tower::ServiceExt;

use super::extract::{Body, IDEMPOTENCY_KEY, Id, IdempotencyKey, Ids, Params};
use super::{docs, layers};
use crate::api::bearer::bearer_token;
use crate::problem::PROBLEM_JSON;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Page {
    limit: Option<u16>,
}

fn router() -> Router {
    layers::all(
        Router::new()
            .route("/register", post(async |Body(request): Body<Register>| request.handle))
            .route("/send", post(async |Body(request): Body<SendMessage>| request.client_id))
            .route("/open", post(async |Body(_): Body<CreateConversation>| "opened"))
            .route("/page", get(async |Params(page): Params<Page>| format!("{:?}", page.limit)))
            .route("/users/{id}", get(async |Id(id): Id<UserId>| id.to_string()))
            .route("/pairs/{one}/{other}", get(async |Ids(a, b): Ids<UserId, MessageId>| format!("{a} {b}")))
            .route("/key", get(async |IdempotencyKey(key): IdempotencyKey| key.unwrap_or_default()))
            .route("/panic", get(panics))
            .route("/slow", get(async || std::future::pending::<()>().await))
            .merge(docs::routes()),
    )
}

async fn panics() {
    panic!("a bug, as the test wants it");
}

async fn ask(method: Method, path: &str, content_type: Option<&str>, body: impl Into<RawBody>) -> Response {
    let mut request = Request::builder().method(method).uri(path);
    if let Some(content_type) = content_type {
        request = request.header(CONTENT_TYPE, content_type);
    }
    router().oneshot(request.body(body.into()).unwrap()).await.unwrap()
}

async fn get_path(path: &str) -> Response {
    ask(Method::GET, path, None, RawBody::empty()).await
}

async fn post_json(path: &str, body: impl Into<RawBody>) -> Response {
    ask(Method::POST, path, Some("application/json"), body).await
}

async fn text(response: Response) -> String {
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

async fn problem(response: Response) -> Problem {
    assert_eq!(response.headers()[CONTENT_TYPE], PROBLEM_JSON);
    let status = response.status().as_u16();
    let problem: Problem = serde_json::from_str(&text(response).await).unwrap();
    assert_eq!(problem.status, status);
    problem
}

#[tokio::test]
async fn unknown_routes_and_methods_are_problems() {
    assert_eq!(problem(get_path("/nowhere").await).await.code, ErrorCode::NoSuchRoute);
    let response = ask(Method::PATCH, "/register", None, RawBody::empty()).await;
    assert_eq!(response.headers()[ALLOW], "POST");
    assert_eq!(problem(response).await.code, ErrorCode::MethodNotAllowed);
}

#[tokio::test]
async fn bodies_must_be_json() {
    for content_type in [None, Some("text/plain"), Some("application/x-www-form-urlencoded"), Some("")] {
        let response = ask(Method::POST, "/register", content_type, r#"{"handle":"ada"}"#).await;
        assert_eq!(problem(response).await.code, ErrorCode::UnsupportedMediaType, "{content_type:?}");
    }
    let body = r#"{"handle":"ada","password":"correct horse"}"#;
    let response = ask(Method::POST, "/register", Some("Application/JSON; charset=utf-8"), body).await;
    assert_eq!(text(response).await, "ada");
}

#[tokio::test]
async fn broken_bodies_are_refused() {
    let nested = "[".repeat(10_000);
    let bodies: [&[u8]; 12] = [
        b"",
        b"{",
        b"null",
        b"[]",
        br#"["ada","correct horse",null,null,null]"#,
        b"{}",
        br#"{"handle":"ada"}"#,
        br#"{"handle":"ada","password":"correct horse","admin":true}"#,
        br#"{"handle":"ada","handle":"eve","password":"correct horse"}"#,
        br#"{"handle":"ada","password":"correct horse"} {}"#,
        b"{\"handle\":\"\xff\xfe\",\"password\":\"correct horse\"}",
        nested.as_bytes(),
    ];
    for body in bodies {
        let problem = problem(post_json("/register", body.to_vec()).await).await;
        assert_eq!(problem.code, ErrorCode::InvalidRequest, "{}", String::from_utf8_lossy(body));
        assert!(problem.detail.is_some_and(|detail| !detail.is_empty()));
    }
}

#[tokio::test]
async fn errors_do_not_repeat_the_input() {
    let body = r#"{"handle":"ada","password":{"old":"hunter2"}}"#;
    let detail = problem(post_json("/register", body).await).await.detail.unwrap();
    assert!(detail.starts_with("password: invalid type: map, expected a string at line 1"), "{detail}");
    let body = r#"{"client_id":"1","kind":"text","reply_to":5,"media":"hunter2 `x`, expected \"y\""}"#;
    let detail = problem(post_json("/send", body).await).await.detail.unwrap();
    assert!(detail.starts_with("reply_to: invalid type: integer, expected an id"), "{detail}");
    let body = r#"{"client_id":"1","kind":"text","media":"hunter2 `x`, expected \"y\""}"#;
    let detail = problem(post_json("/send", body).await).await.detail.unwrap();
    assert!(detail.starts_with("media: invalid type: string, expected an object"), "{detail}");
    let body = format!(r#"{{"{}":1}}"#, "x".repeat(5_000));
    let detail = problem(post_json("/register", body).await).await.detail.unwrap();
    assert!(detail.chars().count() < 400, "{detail}");
}

#[tokio::test]
async fn unknown_kinds_and_their_unknown_fields_are_refused() {
    for body in [
        r#"{"kind":"party","user_id":"5"}"#,
        r#"{"kind":"direct"}"#,
        r#"{"kind":"direct","user_id":"5","name":"x"}"#,
        r#"{"kind":"direct","user_id":5}"#,
        r#"{"user_id":"5"}"#,
    ] {
        assert_eq!(problem(post_json("/open", body).await).await.code, ErrorCode::InvalidRequest, "{body}");
    }
    assert_eq!(post_json("/open", r#"{"kind":"direct","user_id":"5"}"#).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn large_bodies_are_refused() {
    let body = format!(r#"{{"handle":"{}"}}"#, "x".repeat(REQUEST_BODY_BYTES_MAX));
    assert_eq!(problem(post_json("/register", body).await).await.code, ErrorCode::TooLarge);
}

#[tokio::test]
async fn unknown_and_repeated_parameters_are_refused() {
    assert_eq!(text(get_path("/page?limit=5").await).await, "Some(5)");
    assert_eq!(text(get_path("/page").await).await, "None");
    for query in ["limit=x", "limit=", "limit=-1", "limit=70000", "limit=1&limit=2", "offset=1"] {
        let problem = problem(get_path(&format!("/page?{query}")).await).await;
        assert_eq!(problem.code, ErrorCode::InvalidRequest, "{query}");
    }
}

#[tokio::test]
async fn an_id_that_cannot_exist_is_not_found() {
    assert_eq!(text(get_path("/users/118059912994951168").await).await, "118059912994951168");
    for id in ["0", "-1", "x", "1.5", "9999999999999999999999", "%00", "%ff", "%2e%2e"] {
        let problem = problem(get_path(&format!("/users/{id}")).await).await;
        assert_eq!(problem.code, ErrorCode::NotFound, "{id}");
    }
}

#[tokio::test]
async fn both_ids_of_a_path_must_be_valid() {
    assert_eq!(text(get_path("/pairs/5/7").await).await, "5 7");
    for pair in ["0/7", "5/0", "x/7", "5/x", "%ff/7", "5/%00"] {
        let problem = problem(get_path(&format!("/pairs/{pair}")).await).await;
        assert_eq!(problem.code, ErrorCode::NotFound, "{pair}");
    }
}

#[tokio::test]
async fn at_most_one_idempotency_key_is_accepted() {
    let with = async |values: &[&[u8]]| {
        let mut request = Request::builder().uri("/key");
        for value in values {
            request = request.header(IDEMPOTENCY_KEY, HeaderValue::from_bytes(value).unwrap());
        }
        router().oneshot(request.body(RawBody::empty()).unwrap()).await.unwrap()
    };
    assert_eq!(text(with(&[]).await).await, "");
    assert_eq!(text(with(&[b"k-1"]).await).await, "k-1");
    for wrong in [&[&b"k-1"[..], b"k-2"][..], &[b"\xff"]] {
        assert_eq!(problem(with(wrong).await).await.code, ErrorCode::InvalidRequest);
    }
}

#[tokio::test]
async fn a_panic_costs_one_answer() {
    let problem = problem(get_path("/panic").await).await;
    assert_eq!((problem.code, problem.detail), (ErrorCode::Internal, None));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_takes_too_long_times_out() {
    assert_eq!(problem(get_path("/slow").await).await.code, ErrorCode::Unavailable);
}

#[tokio::test]
async fn answers_have_security_headers() {
    let response = get_path("/nowhere").await;
    assert_eq!(response.headers()[X_CONTENT_TYPE_OPTIONS], "nosniff");
    assert_eq!(response.headers()[CACHE_CONTROL], "no-store");
    assert!(response.headers().contains_key("x-request-id"));
    for page in ["/docs", "/docs/errors"] {
        let response = get_path(page).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert!(response.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap().contains("script-src 'self'"));
        let html = text(response).await;
        assert!(
            !html.contains("https://") && !html.contains("<script>"),
            "{page} loads something or has inline code"
        );
    }
}

#[test]
fn a_bearer_token_is_one_word_in_one_header() {
    let with = |values: &[&'static str]| {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, HeaderValue::from_static(value));
        }
        bearer_token(&headers).map(|token| token.map(str::to_owned)).map_err(|error| error.code())
    };
    assert_eq!(with(&[]), Ok(None));
    assert_eq!(with(&["Bearer abc"]), Ok(Some("abc".into())));
    assert_eq!(with(&["bearer  abc "]), Ok(Some("abc".into())));
    for wrong in
        [&["abc"][..], &["Bearer"], &["Bearer "], &["Basic abc"], &["Bearer a b"], &["Bearer a", "Bearer b"]]
    {
        assert_eq!(with(wrong), Err(ErrorCode::Unauthenticated), "{wrong:?}");
    }
}
