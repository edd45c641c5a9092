//! Deleting messages and reading the history.

use godwit_domain::messages::HistoryPage;
use godwit_domain::model::page_limit;
use godwit_protocol::conversations::DeleteFor;
use godwit_protocol::messages::{MessagePage, ReadHistory};
use godwit_protocol::{MessageId, UserId};

use crate::problem::{ApiError, ApiResult};
use crate::state::Shared;

/// Deletes a message for the user only, or for all members.
pub async fn delete_for(state: &Shared, by: UserId, id: MessageId, whom: DeleteFor) -> ApiResult<()> {
    match whom {
        DeleteFor::Me => state.app.writing.delete_for_me(by, id).await?,
        DeleteFor::All => state.app.writing.delete_for_all(by, id).await?,
    }
    Ok(())
}

/// A page of the history.
pub async fn history_page(state: &Shared, by: UserId, request: &ReadHistory) -> ApiResult<MessagePage> {
    let limit = page_limit(request.limit)?;
    let page = HistoryPage::asked(request).ok_or_else(|| {
        ApiError::invalid_request("use at most one of before, after, around and before_time")
    })?;
    Ok(state.app.reading.history(by, request.conversation_id, page, limit).await?)
}
