//! Users.

use futures_util::{StreamExt, TryStreamExt, stream};
use godwit_domain::model::User;
use godwit_domain::ports::StoreError;
use godwit_protocol::UserId;

use super::Accounts;
use super::rows::{Key, ProfileBody};

/// Users read concurrently.
const READS_AT_ONCE_MAX: usize = 16;

impl Accounts {
    pub(crate) async fn user(&self, id: UserId) -> Result<Option<User>, StoreError> {
        let body: Option<ProfileBody> = self.row(id, Key::PROFILE).await?;
        Ok(body.map(|body| body.into_user(id)))
    }

    pub(crate) async fn users(&self, ids: &[UserId]) -> Result<Vec<User>, StoreError> {
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        ids.dedup();
        let users = stream::iter(ids).map(|id| self.user(id)).buffer_unordered(READS_AT_ONCE_MAX);
        users.try_filter_map(|user| async { Ok(user) }).try_collect().await
    }
}
