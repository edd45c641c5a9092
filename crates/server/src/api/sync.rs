//! Changes in all conversations since a token.

use godwit_domain::model::page_limit;
use godwit_protocol::UserId;
use godwit_protocol::sync::SyncPage;

use crate::opaque::List;
use crate::problem::ApiResult;
use crate::state::Shared;

/// One page of the changes since a token.
pub async fn sync_page(
    state: &Shared,
    by: UserId,
    since: Option<&str>,
    limit: Option<u16>,
) -> ApiResult<SyncPage> {
    let limit = page_limit(limit)?;
    state.rates.check_named(by, limit)?;
    let since = state.sealer.open_next(List::Sync, by, since)?;
    let _permit = state.admission.syncs.enter(by).await?;
    let (page, token) = state.app.sync.since(by, since, limit).await?;
    Ok(SyncPage { token: state.sealer.seal(List::Sync, by, token), ..page })
}
