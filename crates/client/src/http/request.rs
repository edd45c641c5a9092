//! The parts that all requests share: token, status, body.

use godwit_protocol::ErrorCode;
use reqwest::{Method, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Created, Http};
use crate::Error;

/// A response body, in bytes. The largest one is a page of 200 messages with the longest text, all of it escaped.
const RESPONSE_BODY_BYTES_MAX: usize = 32 * 1024 * 1024;

/// A request that can be retried with another token.
pub(super) struct Request {
    method: Method,
    path: String,
    query: Vec<(&'static str, String)>,
    body: Option<Vec<u8>>,
    with_token: bool,
}

impl Request {
    pub(super) fn new(method: Method, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), query: Vec::new(), body: None, with_token: true }
    }

    pub(super) fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path)
    }

    /// Sends no token even if there is one, for routes that create or renew a session.
    pub(super) fn without_token(mut self) -> Self {
        self.with_token = false;
        self
    }

    pub(super) fn query(mut self, name: &'static str, value: Option<impl ToString>) -> Self {
        self.query.extend(value.map(|value| (name, value.to_string())));
        self
    }

    pub(super) fn json(mut self, body: &impl Serialize) -> Result<Self, Error> {
        let bytes = serde_json::to_vec(body).map_err(|source| Error::decode(self.operation(), source))?;
        self.body = Some(bytes);
        Ok(self)
    }

    fn decode<T: DeserializeOwned>(&self, body: &[u8]) -> Result<T, Error> {
        serde_json::from_slice(body).map_err(|source| Error::decode(self.operation(), source))
    }

    fn operation(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

impl Http {
    pub(super) async fn call<T: DeserializeOwned>(&self, request: Request) -> Result<T, Error> {
        self.call_created(request).await.map(|created| created.value)
    }

    pub(super) async fn call_created<T: DeserializeOwned>(
        &self,
        request: Request,
    ) -> Result<Created<T>, Error> {
        let (status, body) = self.exchange(&request).await?;
        let value = request.decode(&body)?;
        Ok(Created { value, is_new: status == StatusCode::CREATED })
    }

    /// Without a token, and so without a retry. The refresh itself uses this.
    pub(super) async fn call_once<T: DeserializeOwned>(&self, request: &Request) -> Result<T, Error> {
        self.call_with(request, None).await
    }

    /// With this token, without a retry.
    pub(super) async fn call_with<T: DeserializeOwned>(
        &self,
        request: &Request,
        token: Option<&str>,
    ) -> Result<T, Error> {
        let (_, body) = self.once(request, token).await?;
        request.decode(&body)
    }

    /// For routes that answer with status 204.
    pub(super) async fn call_empty(&self, request: Request) -> Result<(), Error> {
        self.exchange(&request).await.map(drop)
    }

    pub(super) async fn text(&self, path: &str) -> Result<String, Error> {
        let request = Request::get(path).without_token();
        let (_, body) = self.exchange(&request).await?;
        String::from_utf8(body).map_err(|source| Error::decode(request.operation(), source))
    }

    async fn exchange(&self, request: &Request) -> Result<(StatusCode, Vec<u8>), Error> {
        let token = if request.with_token { self.access_token() } else { None };
        match (self.once(request, token.as_deref()).await, token) {
            (Err(expired), Some(stale)) if expired.code() == Some(ErrorCode::TokenExpired) => {
                match self.renew(&stale).await? {
                    Some(fresh) => self.once(request, Some(&fresh)).await,
                    None => Err(expired),
                }
            }
            (outcome, _) => outcome,
        }
    }

    async fn once(&self, request: &Request, token: Option<&str>) -> Result<(StatusCode, Vec<u8>), Error> {
        let mut builder =
            self.client.request(request.method.clone(), format!("{}{}", self.base_url(), request.path));
        if !request.query.is_empty() {
            builder = builder.query(&request.query);
        }
        if let Some(token) = token {
            builder = builder.bearer_auth(token);
        }
        if let Some(body) = &request.body {
            builder = builder.header("content-type", "application/json").body(body.clone());
        }
        let response =
            builder.send().await.map_err(|source| Error::transport(request.operation(), source))?;
        let status = response.status();
        let body = read_body(request, response).await?;
        if status.is_success() {
            Ok((status, body))
        } else {
            Err(Error::of_response(request.operation(), status.as_u16(), &body))
        }
    }
}

async fn read_body(request: &Request, mut response: reqwest::Response) -> Result<Vec<u8>, Error> {
    let mut body = Vec::new();
    loop {
        let chunk = response.chunk().await.map_err(|source| Error::transport(request.operation(), source))?;
        let Some(chunk) = chunk else { return Ok(body) };
        if body.len() + chunk.len() > RESPONSE_BODY_BYTES_MAX {
            let message = format!("the body is larger than {RESPONSE_BODY_BYTES_MAX} bytes");
            return Err(Error::decode(request.operation(), message));
        }
        body.extend_from_slice(&chunk);
    }
}
