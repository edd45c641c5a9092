//! The tokens of a session.
//!
//! A refresh token is valid for one use, and a second use ends the session. Refreshing is therefore single-flight: of all
//! requests that find their access token expired, one refreshes it and the others wait for the result. The refresh runs in
//! its own task, because a caller that is cancelled halfway would lose the only copy of the next refresh token.

use std::sync::{Mutex, MutexGuard, PoisonError};

use godwit_protocol::accounts::{PasswordChanged, Refresh, Tokens};
use godwit_protocol::{ErrorCode, Problem};
use reqwest::Method;

use super::Http;
use super::request::Request;
use crate::Error;

#[derive(Default)]
pub(super) struct Auth {
    credentials: Mutex<Credentials>,
    /// The proof of the last sign-in. It outlives the session.
    device_proof: Mutex<Option<String>>,
    /// Held during a refresh and during every other call that replaces the tokens.
    refreshing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
enum Credentials {
    #[default]
    Nobody,
    Session(Tokens),
    /// A token of the embedding application.
    Application(String),
    /// The server refused the refresh token for good. Waiting callers must not try it again.
    Ended(Box<Problem>),
}

impl Auth {
    pub(super) fn tokens(&self) -> Option<Tokens> {
        match &*self.lock() {
            Credentials::Session(tokens) => Some(tokens.clone()),
            _ => None,
        }
    }

    pub(super) fn access_token(&self) -> Option<String> {
        match &*self.lock() {
            Credentials::Session(tokens) => Some(tokens.access_token.clone()),
            Credentials::Application(token) => Some(token.clone()),
            Credentials::Nobody | Credentials::Ended(_) => None,
        }
    }

    pub(super) fn device_proof(&self) -> Option<String> {
        self.device_proof.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_device_proof(&self, proof: String) {
        *self.device_proof.lock().unwrap_or_else(PoisonError::into_inner) = Some(proof);
    }

    pub(super) fn set_tokens(&self, tokens: Tokens) {
        *self.lock() = Credentials::Session(tokens);
    }

    pub(super) fn set_access_token(&self, token: String) {
        *self.lock() = Credentials::Application(token);
    }

    pub(super) fn clear(&self) {
        *self.lock() = Credentials::Nobody;
    }

    /// The next step for a caller whose access token is stale.
    fn next_step(&self, stale: &str) -> Step {
        match &*self.lock() {
            Credentials::Session(tokens) if tokens.access_token == stale => {
                Step::Refresh(tokens.refresh_token.clone())
            }
            Credentials::Session(tokens) => Step::Use(tokens.access_token.clone()),
            Credentials::Application(token) if token != stale => Step::Use(token.clone()),
            Credentials::Application(_) | Credentials::Nobody => Step::GiveUp,
            Credentials::Ended(problem) => Step::Fail(problem.clone()),
        }
    }

    /// Stores the result of a refresh, unless a user has signed in or out since.
    fn replace(&self, used: &str, next: Credentials) {
        let mut credentials = self.lock();
        if matches!(&*credentials, Credentials::Session(tokens) if tokens.refresh_token == used) {
            *credentials = next;
        }
    }

    /// No code panics while it holds the lock, so the content of a poisoned one is valid.
    fn lock(&self) -> MutexGuard<'_, Credentials> {
        self.credentials.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Step {
    /// Another caller has refreshed the token.
    Use(String),
    Refresh(String),
    /// There is no refresh token.
    GiveUp,
    Fail(Box<Problem>),
}

impl Http {
    /// Sends a request whose answer contains the next tokens of this session. Blocks refreshes until then: a refresh would
    /// use the same refresh token twice, which ends the session.
    pub(super) async fn replace_tokens(&self, request: Request) -> Result<(), Error> {
        let http = self.clone();
        let replacing = tokio::spawn(async move { http.replace_tokens_alone(request).await });
        replacing.await.map_err(|source| Error::transport("replacing the tokens", source))?
    }

    async fn replace_tokens_alone(&self, request: Request) -> Result<(), Error> {
        let mut is_first = true;
        loop {
            let alone = self.auth.refreshing.lock().await;
            let token = self.access_token();
            match self.call_with::<PasswordChanged>(&request, token.as_deref()).await {
                Ok(changed) => {
                    changed.tokens.into_iter().for_each(|tokens| self.auth.set_tokens(tokens));
                    return Ok(());
                }
                Err(error) if is_first && error.code() == Some(ErrorCode::TokenExpired) => {
                    drop(alone);
                    let Some(stale) = token else { return Err(error) };
                    if self.renew(&stale).await?.is_none() {
                        return Err(error);
                    }
                    is_first = false;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// An access token that is not `stale`. `None` if there is no way to get one.
    pub(crate) async fn renew(&self, stale: &str) -> Result<Option<String>, Error> {
        let (http, stale) = (self.clone(), stale.to_owned());
        let renewal = tokio::spawn(async move { http.renew_alone(&stale).await });
        renewal.await.map_err(|source| Error::transport("refreshing the session", source))?
    }

    async fn renew_alone(&self, stale: &str) -> Result<Option<String>, Error> {
        let _alone = self.auth.refreshing.lock().await;
        let refresh_token = match self.auth.next_step(stale) {
            Step::Use(token) => return Ok(Some(token)),
            Step::GiveUp => return Ok(None),
            Step::Fail(problem) => return Err(Error::Api(problem)),
            Step::Refresh(refresh_token) => refresh_token,
        };
        let request = Request::new(Method::POST, "/v1/sessions/refresh")
            .without_token()
            .json(&Refresh { refresh_token: refresh_token.clone() })?;
        match self.call_once::<Tokens>(&request).await {
            Ok(tokens) => {
                let access_token = tokens.access_token.clone();
                self.auth.replace(&refresh_token, Credentials::Session(tokens));
                Ok(Some(access_token))
            }
            Err(error) => {
                if let Error::Api(problem) = &error
                    && !problem.temporary
                {
                    self.auth.replace(&refresh_token, Credentials::Ended(problem.clone()));
                }
                Err(error)
            }
        }
    }
}
