//! Blocked users.

use futures_util::future::{try_join, try_join_all};
use futures_util::{StreamExt, TryStreamExt, stream};
use godwit_domain::ports::StoreError;
use godwit_protocol::UserId;

use super::Accounts;
use super::rows::{BLOCK, BLOCKER, Key, Present};
use crate::values::int;

/// Users in one query. ScyllaDB accepts at most 100.
const ASKED_AT_ONCE_MAX: usize = 100;
/// Blocks looked up concurrently.
const LOOKED_UP_AT_ONCE: usize = 16;

impl Accounts {
    pub(crate) async fn blocks_between(&self, a: UserId, b: UserId) -> Result<(bool, bool), StoreError> {
        let blocks = async |user: UserId, blocked: UserId| {
            let row: Option<Present> = self.row(user, Key::block(blocked)).await?;
            Ok::<_, StoreError>(row.is_some())
        };
        try_join(blocks(a, b), blocks(b, a)).await
    }

    pub(crate) async fn blocked_among(
        &self,
        user: UserId,
        others: &[UserId],
    ) -> Result<Vec<UserId>, StoreError> {
        self.ids_among(user, BLOCK, others).await
    }

    pub(crate) async fn blockers_among(
        &self,
        user: UserId,
        others: &[UserId],
    ) -> Result<Vec<UserId>, StoreError> {
        let once = self.ids_among(user, BLOCKER, others).await?;
        let now = stream::iter(once).map(|other| async move {
            let row: Option<Present> = self.row(other, Key::block(user)).await?;
            Ok(row.map(|_| other))
        });
        now.buffer_unordered(LOOKED_UP_AT_ONCE).try_filter_map(async |found| Ok(found)).try_collect().await
    }

    pub(crate) async fn blocked_by(
        &self,
        user: UserId,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<UserId>, StoreError> {
        // The lowest id is 0.
        let after = after.map_or(-1, |after| int(after.get()));
        let limit = i32::try_from(limit).unwrap_or(i32::MAX);
        let (cql, statements) = (&self.cql, &self.statements);
        let values = (int(user.get()), BLOCK, after, limit);
        let rows: Vec<(i64,)> = cql.rows("list blocked users", &statements.ids_after, values).await?;
        Ok(rows.into_iter().map(|(id,)| UserId::new(id.cast_unsigned())).collect())
    }

    /// Filters `others` to the users for whom the account has a row of this kind.
    async fn ids_among(&self, user: UserId, kind: i8, others: &[UserId]) -> Result<Vec<UserId>, StoreError> {
        let parts = others.chunks(ASKED_AT_ONCE_MAX).map(|part| {
            let ids: Vec<i64> = part.iter().map(|id| int(id.get())).collect();
            let values = (int(user.get()), kind, ids);
            self.cql.rows::<(i64, String)>("look for users", &self.statements.bodies_of, values)
        });
        let rows = try_join_all(parts).await?.into_iter().flatten();
        Ok(rows.map(|(id, _)| UserId::new(id.cast_unsigned())).collect())
    }
}
