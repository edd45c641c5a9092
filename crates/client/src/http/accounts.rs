//! `/v1/accounts`, `/v1/sessions`, `/v1/me`, `/v1/devices`

use godwit_protocol::DeviceId;
use godwit_protocol::accounts::{
    ChangePassword, DeviceList, Me, Register, SignIn, SignedIn, Tokens, UpdateMe,
};
use reqwest::Method;

use super::Http;
use super::request::Request;
use crate::Error;

impl Http {
    /// `POST /v1/accounts`. Signs the new user in.
    pub async fn register(&self, register: &Register) -> Result<SignedIn, Error> {
        self.enter(Request::new(Method::POST, "/v1/accounts").json(register)?).await
    }

    /// `POST /v1/sessions`. Replaces the session of this client. Without a device proof in the request, the client sends the
    /// proof of its last sign-in; the server ignores the proof of another user.
    pub async fn sign_in(&self, sign_in: &SignIn) -> Result<SignedIn, Error> {
        let device_proof = sign_in.device_proof.clone().or_else(|| self.device_proof());
        let sign_in = SignIn { device_proof, ..sign_in.clone() };
        self.enter(Request::new(Method::POST, "/v1/sessions").json(&sign_in)?).await
    }

    async fn enter(&self, request: Request) -> Result<SignedIn, Error> {
        let signed_in: SignedIn = self.call(request.without_token()).await?;
        self.set_tokens(signed_in.tokens.clone());
        self.set_device_proof(signed_in.device_proof.clone());
        Ok(signed_in)
    }

    /// `POST /v1/sessions/refresh`. The client calls this on its own when a token has expired.
    pub async fn refresh(&self) -> Result<Tokens, Error> {
        let stale = self.access_token().ok_or(Error::NotSignedIn)?;
        self.renew(&stale).await?;
        self.tokens().ok_or(Error::NotSignedIn)
    }

    /// `DELETE /v1/sessions/current`. Removes the tokens of this client too.
    pub async fn sign_out(&self) -> Result<(), Error> {
        self.call_empty(Request::new(Method::DELETE, "/v1/sessions/current")).await?;
        self.auth.clear();
        Ok(())
    }

    /// `GET /v1/me`
    pub async fn me(&self) -> Result<Me, Error> {
        self.call(Request::get("/v1/me")).await
    }

    /// `PATCH /v1/me`
    pub async fn update_me(&self, update: &UpdateMe) -> Result<Me, Error> {
        self.call(Request::new(Method::PATCH, "/v1/me").json(update)?).await
    }

    /// `PUT /v1/me/password`. Ends every other session of the user, and gives this one new tokens.
    pub async fn change_password(&self, change: &ChangePassword) -> Result<(), Error> {
        self.replace_tokens(Request::new(Method::PUT, "/v1/me/password").json(change)?).await
    }

    /// `GET /v1/devices`
    pub async fn devices(&self) -> Result<DeviceList, Error> {
        self.call(Request::get("/v1/devices")).await
    }

    /// `DELETE /v1/devices/{id}`
    pub async fn revoke_device(&self, device: DeviceId) -> Result<(), Error> {
        self.call_empty(Request::new(Method::DELETE, format!("/v1/devices/{device}"))).await
    }
}
