//! History, log and `sync`; cursors and typing notices.

use godwit_domain::model::page_limit;
use godwit_protocol::conversations::MoveCursor;
use godwit_protocol::messages::{LogPage, MessagePage, ReadHistory};
use godwit_protocol::socket::{Empty, ReadLog, Sync, Typing};
use godwit_protocol::sync::SyncPage;

use super::{Connection, needed};
use crate::api::messages::history_page;
use crate::api::sync::sync_page;
use crate::problem::ApiResult;
use crate::socket::frames;

impl Connection {
    /// The reply follows when the move is durable.
    pub(super) async fn cursor(&self, id: u64, request: MoveCursor) -> ApiResult<()> {
        let by = self.limited_caller()?;
        let conversation = needed("conversation_id", request.conversation_id)?;
        let cursors = self.state.app.cursors.clone();
        let cursor = cursors.advance(by, conversation, request.delivered, request.read).await?;
        let socket = self.socket.clone();
        socket.outgoing.owe();
        tokio::spawn(async move {
            socket.outgoing.reply(match cursors.written(conversation, cursor).await {
                Ok(()) => frames::ok(id, &cursor),
                Err(error) => frames::error(Some(id), (&error).into()),
            });
        });
        Ok(())
    }

    pub(super) async fn typing(&self, request: Typing) -> ApiResult<Empty> {
        let by = self.limited_caller()?;
        self.state.app.presence.typing(by, request.conversation_id, request.typing).await?;
        Ok(Empty {})
    }

    pub(super) async fn history(&self, request: ReadHistory) -> ApiResult<MessagePage> {
        let by = self.limited_caller()?;
        history_page(&self.state, by, &request).await
    }

    pub(super) async fn log(&self, request: ReadLog) -> ApiResult<LogPage> {
        let by = self.limited_caller()?;
        let limit = page_limit(request.limit)?;
        Ok(self.state.app.reading.log(by, request.conversation_id, request.after, limit).await?)
    }

    pub(super) async fn sync(&self, request: Sync) -> ApiResult<SyncPage> {
        let by = self.limited_caller()?;
        sync_page(&self.state, by, request.since.as_deref(), request.limit).await
    }
}
