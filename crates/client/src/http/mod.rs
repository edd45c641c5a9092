//! The HTTP API, one method per route.
//!
//! - here: the parts that all requests share
//! - [`auth`](self): the tokens, and their single-flight refresh
//! - `accounts`, `people`, `conversations`, `groups`, `messages`, `personal`: the routes
//!
//! Registration and sign-in store their tokens, and every later request sends them. A request that is refused with
//! `token_expired` is retried once with a fresh token.

mod accounts;
mod auth;
mod conversations;
mod groups;
mod messages;
mod people;
mod personal;
mod request;

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use godwit_protocol::accounts::Tokens;
use godwit_protocol::conversations::DeleteFor;

pub use groups::Members;

use self::auth::Auth;
use crate::Error;

#[derive(Debug, Clone)]
pub struct HttpConfig {
    pub connect_timeout: Duration,
    /// From the first byte of the request to the last byte of the response.
    pub request_timeout: Duration,
    /// The maximum number of idle connections that are kept open.
    pub idle_connections_max: usize,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(30),
            idle_connections_max: 8,
        }
    }
}

/// The HTTP API of one server, for one user or without one. Clones share the tokens and the connections.
#[derive(Clone)]
pub struct Http {
    client: reqwest::Client,
    base_url: Arc<str>,
    auth: Arc<Auth>,
}

impl Http {
    /// `base_url` has the form `http://127.0.0.1:8080`.
    pub fn new(base_url: &str) -> Result<Self, Error> {
        Self::with_config(base_url, &HttpConfig::default())
    }

    pub fn with_config(base_url: &str, config: &HttpConfig) -> Result<Self, Error> {
        let client = reqwest::Client::builder()
            .connect_timeout(config.connect_timeout)
            .timeout(config.request_timeout)
            .pool_max_idle_per_host(config.idle_connections_max)
            .tcp_nodelay(true)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|source| Error::transport("making the HTTP client", source))?;
        Ok(Self { client, base_url: base_url.trim_end_matches('/').into(), auth: Arc::default() })
    }

    /// The same server over the same connections, without a user: for another user or device.
    #[must_use]
    pub fn anonymous(&self) -> Self {
        Self { client: self.client.clone(), base_url: self.base_url.clone(), auth: Arc::default() }
    }

    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The tokens, to store and continue this session in another process.
    pub fn tokens(&self) -> Option<Tokens> {
        self.auth.tokens()
    }

    /// Continues a session of an earlier process.
    pub fn set_tokens(&self, tokens: Tokens) {
        self.auth.set_tokens(tokens);
    }

    /// Uses a token of the embedding application, which this library cannot refresh.
    pub fn set_access_token(&self, access_token: impl Into<String>) {
        self.auth.set_access_token(access_token.into());
    }

    /// The device proof, to store for the next sign-in of the same user, also after a sign-out. It proves that the user has
    /// signed in on this device before, so failed attempts of strangers do not lock the user out.
    pub fn device_proof(&self) -> Option<String> {
        self.auth.device_proof()
    }

    /// Sets the device proof of an earlier process.
    pub fn set_device_proof(&self, proof: impl Into<String>) {
        self.auth.set_device_proof(proof.into());
    }

    pub fn access_token(&self) -> Option<String> {
        self.auth.access_token()
    }

    /// `GET /healthz`
    pub async fn healthz(&self) -> Result<String, Error> {
        self.text("/healthz").await
    }

    /// `GET /readyz`
    pub async fn readyz(&self) -> Result<String, Error> {
        self.text("/readyz").await
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let signed_in = self.auth.access_token().is_some();
        f.debug_struct("Http").field("base_url", &self.base_url).field("signed_in", &signed_in).finish()
    }
}

/// The query parameter.
const fn delete_for(whom: DeleteFor) -> &'static str {
    match whom {
        DeleteFor::Me => "me",
        DeleteFor::All => "all",
    }
}

/// A value that a request created, or that existed before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created<T> {
    pub value: T,
    /// `false` if it existed (status 200 instead of 201).
    pub is_new: bool,
}

impl<T> Deref for Created<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}
