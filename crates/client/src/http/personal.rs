//! `/v1/messages/{id}/star`, `/v1/stars`, `/v1/scheduled`

use godwit_protocol::messages::Message;
use godwit_protocol::personal::{
    ScheduleMessage, Scheduled, ScheduledList, Scheduling, StarPage, UpdateScheduled,
};
use godwit_protocol::{MessageId, ScheduledId};
use reqwest::Method;

use super::Http;
use super::request::Request;
use crate::Error;

impl Http {
    /// `PUT /v1/messages/{id}/star`
    pub async fn star(&self, message: MessageId) -> Result<(), Error> {
        self.call_empty(Request::new(Method::PUT, format!("/v1/messages/{message}/star"))).await
    }

    /// `DELETE /v1/messages/{id}/star`
    pub async fn unstar(&self, message: MessageId) -> Result<(), Error> {
        self.call_empty(Request::new(Method::DELETE, format!("/v1/messages/{message}/star"))).await
    }

    /// `GET /v1/stars`. `after` is the `next` of the previous page.
    pub async fn stars(&self, after: Option<&str>, limit: Option<u16>) -> Result<StarPage, Error> {
        self.call(Request::get("/v1/stars").query("after", after).query("limit", limit)).await
    }

    /// `POST /v1/scheduled`
    pub async fn schedule(&self, message: &ScheduleMessage) -> Result<Scheduling, Error> {
        self.call(Request::new(Method::POST, "/v1/scheduled").json(message)?).await
    }

    /// `GET /v1/scheduled`
    pub async fn scheduled(&self, after: Option<&str>) -> Result<ScheduledList, Error> {
        self.call(Request::get("/v1/scheduled").query("after", after)).await
    }

    /// `PATCH /v1/scheduled/{id}`
    pub async fn update_scheduled(
        &self,
        id: ScheduledId,
        update: &UpdateScheduled,
    ) -> Result<Scheduled, Error> {
        self.call(Request::new(Method::PATCH, format!("/v1/scheduled/{id}")).json(update)?).await
    }

    /// `POST /v1/scheduled/{id}/send`
    pub async fn send_scheduled(&self, id: ScheduledId) -> Result<Message, Error> {
        self.call(Request::new(Method::POST, format!("/v1/scheduled/{id}/send"))).await
    }

    /// `DELETE /v1/scheduled/{id}`
    pub async fn cancel_scheduled(&self, id: ScheduledId) -> Result<(), Error> {
        self.call_empty(Request::new(Method::DELETE, format!("/v1/scheduled/{id}"))).await
    }
}
