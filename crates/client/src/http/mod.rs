//! The HTTP API, one method per route.
//!
//! - here: what every request has in common
//! - [`auth`](self): the tokens, and refreshing them once for everybody who waits
//! - `accounts`, `people`, `conversations`, `groups`, `messages`, `personal`: the routes
//!
//! Register and sign-in keep the tokens that they get; every later request carries them. A request that is refused with
//! `token_expired` is sent once more with a fresh token.

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
    /// From the first byte of the request to the last of the response.
    pub request_timeout: Duration,
    /// Connections that are kept open while nobody uses them.
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

/// The HTTP API of one server, as one user or as nobody. Clones share the tokens and the connections.
#[derive(Clone)]
pub struct Http {
    client: reqwest::Client,
    base_url: Arc<str>,
    auth: Arc<Auth>,
}

impl Http {
    /// `base_url` is such as `http://127.0.0.1:8080`.
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

    /// The same server over the same connections, with nobody signed in: for another user or device.
    #[must_use]
    pub fn anonymous(&self) -> Self {
        Self { client: self.client.clone(), base_url: self.base_url.clone(), auth: Arc::default() }
    }

    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// What to keep in order to go on with this session in another process.
    pub fn tokens(&self) -> Option<Tokens> {
        self.auth.tokens()
    }

    /// Goes on with a session of an earlier process.
    pub fn set_tokens(&self, tokens: Tokens) {
        self.auth.set_tokens(tokens);
    }

    /// Uses a token of the embedding application, which this library cannot refresh.
    pub fn set_access_token(&self, access_token: impl Into<String>) {
        self.auth.set_access_token(access_token.into());
    }

    /// What to keep for the next sign-in of the same user, also after a sign-out: it proves that the user has signed in on
    /// this device before, and so is not kept out by the attempts of strangers.
    pub fn device_proof(&self) -> Option<String> {
        self.auth.device_proof()
    }

    /// That of an earlier process.
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

/// As the query has it.
const fn delete_for(whom: DeleteFor) -> &'static str {
    match whom {
        DeleteFor::Me => "me",
        DeleteFor::All => "all",
    }
}

/// What a request made, or found because it was made before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created<T> {
    pub value: T,
    /// `false` when it was there already (status 200 rather than 201).
    pub is_new: bool,
}

impl<T> Deref for Created<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}
