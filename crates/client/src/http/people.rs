//! `/v1/users`, `/v1/blocks`

use godwit_protocol::UserId;
use godwit_protocol::people::{UserDetails, UserPage};
use reqwest::Method;

use super::Http;
use super::request::Request;
use crate::Error;

impl Http {
    /// `GET /v1/users?query=`. `after` is the `next` of the previous page.
    pub async fn search_users(
        &self,
        query: &str,
        after: Option<&str>,
        limit: Option<u16>,
    ) -> Result<UserPage, Error> {
        let request = Request::get("/v1/users").query("query", Some(query));
        self.call(request.query("after", after).query("limit", limit)).await
    }

    /// `GET /v1/users?ids=`: the users that exist.
    pub async fn users(&self, ids: &[UserId]) -> Result<UserPage, Error> {
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        self.call(Request::get("/v1/users").query("ids", Some(ids.join(",")))).await
    }

    /// `GET /v1/users/{id}`
    pub async fn user(&self, user: UserId) -> Result<UserDetails, Error> {
        self.call(Request::get(format!("/v1/users/{user}"))).await
    }

    /// `GET /v1/blocks`. `after` is the `next` of the previous page.
    pub async fn blocks(&self, after: Option<&str>, limit: Option<u16>) -> Result<UserPage, Error> {
        self.call(Request::get("/v1/blocks").query("after", after).query("limit", limit)).await
    }

    /// `PUT /v1/blocks/{user_id}`
    pub async fn block(&self, user: UserId) -> Result<(), Error> {
        self.call_empty(Request::new(Method::PUT, format!("/v1/blocks/{user}"))).await
    }

    /// `DELETE /v1/blocks/{user_id}`
    pub async fn unblock(&self, user: UserId) -> Result<(), Error> {
        self.call_empty(Request::new(Method::DELETE, format!("/v1/blocks/{user}"))).await
    }
}
