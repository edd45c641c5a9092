//! Commands on messages.

use godwit_domain::actions::Answer;
use godwit_domain::model::Draft;
use godwit_domain::model::message::parse_reaction;
use godwit_protocol::messages::{DeleteMessage, EditMessage, Message, OfMessage, React, SendMessage};
use godwit_protocol::personal::{OfScheduled, ScheduleMessage, Scheduled, Scheduling, UpdateScheduled};
use godwit_protocol::socket::Empty;

use super::{Connection, needed};
use crate::api::messages::delete_for;
use crate::problem::ApiResult;
use crate::socket::frames;

impl Connection {
    /// The reply follows when the message is durable.
    pub(super) async fn send(&self, id: u64, request: SendMessage) -> ApiResult<()> {
        let caller = self.caller()?;
        self.state.rates.check_send(caller.user_id, self.address)?;
        if request.forwarded_from.is_some() {
            self.state.rates.check_forward(caller.user_id)?;
        }
        let conversation = needed("conversation_id", request.conversation_id)?;
        let draft = Draft::parse(request)?;
        let socket = self.socket.clone();
        socket.outgoing.owe();
        let answer = Answer::new(move |outcome| socket.outgoing.reply(frames::sent(id, outcome)));
        self.state.app.writing.submit(caller.user_id, conversation, draft, answer).await;
        Ok(())
    }

    pub(super) async fn edit(&self, request: EditMessage) -> ApiResult<Message> {
        let by = self.limited_caller()?;
        let message = needed("message_id", request.message_id)?;
        Ok(self.state.app.writing.edit(by, message, request.text).await?)
    }

    pub(super) async fn delete(&self, request: DeleteMessage) -> ApiResult<Empty> {
        let by = self.limited_caller()?;
        delete_for(&self.state, by, request.message_id, request.r#for).await?;
        Ok(Empty {})
    }

    pub(super) async fn react(&self, request: React) -> ApiResult<Message> {
        let by = self.limited_caller()?;
        let message = needed("message_id", request.message_id)?;
        let reaction = parse_reaction(&request.reaction)?;
        Ok(self.state.app.writing.react(by, message, Some(reaction)).await?)
    }

    pub(super) async fn unreact(&self, request: OfMessage) -> ApiResult<Message> {
        let by = self.limited_caller()?;
        Ok(self.state.app.writing.react(by, request.message_id, None).await?)
    }

    pub(super) async fn pin(&self, request: OfMessage) -> ApiResult<Empty> {
        let by = self.limited_caller()?;
        self.state.app.writing.pin(by, request.message_id).await?;
        Ok(Empty {})
    }

    pub(super) async fn unpin(&self, request: OfMessage) -> ApiResult<Empty> {
        let by = self.limited_caller()?;
        self.state.app.writing.unpin(by, request.message_id).await?;
        Ok(Empty {})
    }

    pub(super) async fn star(&self, request: OfMessage) -> ApiResult<Empty> {
        let by = self.limited_caller()?;
        self.state.app.personal.star(by, request.message_id).await?;
        Ok(Empty {})
    }

    pub(super) async fn unstar(&self, request: OfMessage) -> ApiResult<Empty> {
        let by = self.limited_caller()?;
        self.state.app.personal.unstar(by, request.message_id).await?;
        Ok(Empty {})
    }

    pub(super) async fn schedule(&self, request: ScheduleMessage) -> ApiResult<Scheduling> {
        let by = self.limited_caller()?;
        self.state.rates.check_send(by, self.address)?;
        if request.message.forwarded_from.is_some() {
            self.state.rates.check_forward(by)?;
        }
        Ok(self.state.app.personal.schedule(by, request).await?.scheduling)
    }

    pub(super) async fn update_scheduled(&self, request: UpdateScheduled) -> ApiResult<Scheduled> {
        let by = self.limited_caller()?;
        let id = needed("scheduled_id", request.scheduled_id)?;
        Ok(self.state.app.personal.update_scheduled(by, id, request).await?)
    }

    pub(super) async fn send_scheduled(&self, request: OfScheduled) -> ApiResult<Message> {
        let by = self.limited_caller()?;
        self.state.rates.check_send(by, self.address)?;
        Ok(self.state.app.personal.send_scheduled_now(by, request.scheduled_id).await?)
    }

    pub(super) async fn cancel_scheduled(&self, request: OfScheduled) -> ApiResult<Empty> {
        let by = self.limited_caller()?;
        self.state.app.personal.cancel_scheduled(by, request.scheduled_id).await?;
        Ok(Empty {})
    }
}
