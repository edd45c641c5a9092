//! Malformed HTTP requests, and checks of their answers.

use std::net::SocketAddr;
use std::time::Duration;

use godwit_client::Http;
use godwit_client::protocol::{ErrorCode, Problem};
use reqwest::header::{ALLOW, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use reqwest::{Body, Method};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::people::soon;

/// Text that no answer may contain: names of internals.
const INTERNALS: &[&str] =
    &[".rs", "::", "panick", "serde", "lsm_tree", "tokio", "axum", "hyper", "backtrace", "/tmp"];

/// Sends hand-written requests to one server.
/// Less than the server waits for another request of a stranger: one that it closes in the same moment would be lost.
const IDLE_MAX: Duration = Duration::from_secs(2);

fn builder() -> reqwest::ClientBuilder {
    reqwest::Client::builder().pool_idle_timeout(IDLE_MAX)
}

#[derive(Clone)]
pub(crate) struct RawHttp {
    client: reqwest::Client,
    url: String,
}

pub(crate) struct Ask {
    request: reqwest::RequestBuilder,
    what: String,
}

pub(crate) struct Answer {
    what: String,
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl RawHttp {
    pub(crate) fn new(url: &str) -> Self {
        Self { client: builder().build().unwrap(), url: url.to_owned() }
    }

    /// From another address of this machine.
    pub(crate) fn new_from(from: [u8; 4], url: &str) -> Self {
        let client = builder().local_address(std::net::IpAddr::from(from)).build().unwrap();
        Self { client, url: url.to_owned() }
    }

    pub(crate) fn ask(&self, method: &str, path: &str) -> Ask {
        let method: Method = method.parse().unwrap();
        let what = format!("{method} {path}");
        Ask { request: self.client.request(method, format!("{}{path}", self.url)), what }
    }

    /// A valid request of a user, and its answer.
    pub(crate) async fn get(&self, http: &Http, path: &str) -> Value {
        self.ask("GET", path).by(http).send().await.ok()
    }

    pub(crate) async fn assert_healthy(&self) {
        for path in ["/healthz", "/readyz"] {
            self.ask("GET", path).send().await.ok();
        }
    }
}

impl Ask {
    /// Adds the token of the user who is signed in at `http`.
    pub(crate) fn by(self, http: &Http) -> Self {
        let token = http.access_token().unwrap();
        self.token(&token)
    }

    pub(crate) fn token(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.request = self.request.header(name, value);
        self
    }

    pub(crate) fn header_value(mut self, name: &'static str, value: HeaderValue) -> Self {
        self.request = self.request.header(name, value);
        self
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.json_text(body.to_string())
    }

    /// Sends any text as JSON.
    pub(crate) fn json_text(self, body: impl Into<Body>) -> Self {
        self.header("content-type", "application/json").body(body)
    }

    pub(crate) fn body(mut self, body: impl Into<Body>) -> Self {
        self.request = self.request.body(body);
        self
    }

    /// Adds context for the message of a failed assertion.
    pub(crate) fn because(mut self, why: &str) -> Self {
        self.what = format!("{}, {why}", self.what);
        self
    }

    pub(crate) async fn send(self) -> Answer {
        let response = soon(&self.what, self.request.send()).await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = soon(&self.what, response.text()).await.unwrap();
        Answer { what: self.what, status, headers, body }
    }

    /// Sends the request and asserts this refusal.
    pub(crate) async fn refused(self, status: u16, code: ErrorCode) -> Problem {
        self.send().await.assert_problem(status, code)
    }
}

impl Answer {
    /// The body of a successful answer.
    pub(crate) fn ok(self) -> Value {
        assert!((200..300).contains(&self.status), "{}: {} {}", self.what, self.status, self.body);
        if self.body.is_empty() { Value::Null } else { serde_json::from_str(&self.body).unwrap() }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Asserts that the answer is a complete problem document with this status and code, without internals of the server.
    pub(crate) fn assert_problem(&self, status: u16, code: ErrorCode) -> Problem {
        let context = format!("{}: {} {}", self.what, self.status, self.body);
        assert_eq!(self.status, status, "{context}");
        assert_eq!(self.header(CONTENT_TYPE.as_str()), Some("application/problem+json"), "{context}");
        let problem: Problem =
            serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {context}"));
        assert_eq!(problem.code, code, "{context}");
        assert_eq!(problem.status, status, "{context}");
        assert_is_whole(&problem, &context);
        let retry_after = self.header(RETRY_AFTER.as_str()).map(|seconds| seconds.parse().unwrap());
        assert_eq!(retry_after, problem.retry_after, "{context}");
        assert_eq!(self.headers.contains_key(WWW_AUTHENTICATE), status == 401, "{context}");
        assert_eq!(self.headers.contains_key(ALLOW), status == 405, "{context}");
        assert_eq!(self.header("x-content-type-options"), Some("nosniff"), "{context}");
        problem
    }
}

/// Asserts that the fields of RFC 9457 are present and consistent, without internals of the server.
pub(crate) fn assert_is_whole(problem: &Problem, context: &str) {
    assert_eq!(problem.r#type, format!("/docs/errors#{}", problem.code), "{context}");
    assert!(!problem.title.is_empty(), "{context}");
    assert_eq!(problem.temporary, problem.retry_after.is_some(), "{context}");
    let said = problem.detail.as_deref().unwrap_or_default().to_ascii_lowercase();
    assert!(said.len() < 2_000, "a detail of {} bytes: {context}", said.len());
    for internal in INTERNALS {
        assert!(!said.contains(internal), "{internal} is nobody's business: {context}");
    }
}

/// A connection for arbitrary bytes.
pub(crate) struct RawConnection {
    pub(crate) stream: TcpStream,
}

impl RawConnection {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        let stream = soon("a connection", TcpStream::connect(address)).await.unwrap();
        Self { stream }
    }

    /// False if the other side no longer accepts the bytes.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> bool {
        soon("writing", self.stream.write_all(bytes)).await.is_ok()
    }

    /// Closes the sending side.
    pub(crate) async fn shut_down(&mut self) {
        // The server may have closed the connection already.
        let _ = self.stream.shutdown().await;
    }

    /// Reads until the server closes the connection.
    pub(crate) async fn read_to_end(&mut self) -> String {
        let mut all = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            match soon("the end of a connection", self.stream.read(&mut buffer)).await {
                Ok(0) | Err(_) => return String::from_utf8_lossy(&all).into_owned(),
                Ok(count) => all.extend_from_slice(&buffer[..count]),
            }
        }
    }
}
