//! Whom users block.

use async_trait::async_trait;
use futures_util::future::{try_join, try_join_all};
use futures_util::{StreamExt, TryStreamExt, stream};
use godwit_domain::model::{AccountEntry, AccountNote};
use godwit_domain::ports::{BlockOutcome, BlockStore, StoreError};
use godwit_protocol::UserId;

use super::rows::{BLOCK, BLOCKER, Key, Present};
use super::snapshot::Want;
use super::txn::{Txn, encode};
use super::{Accounts, log};
use crate::CassandraStore;
use crate::values::int;

/// Users whom an account is asked for with one query.
const ASKED_AT_ONCE_MAX: usize = 100;
/// Blocks that are looked up at once.
const LOOKED_UP_AT_ONCE: usize = 16;

#[async_trait]
impl BlockStore for CassandraStore {
    async fn block(
        &self,
        user: UserId,
        blocked: UserId,
        note: AccountNote,
        blocks_max: usize,
    ) -> Result<BlockOutcome, StoreError> {
        let pass = self.gate.enter([]).await?;
        self.accounts.note_blocker(blocked, user).await?;
        let key = Key::block(blocked);
        let run = move |txn: &mut Txn<'_>| {
            if txn.get::<Present>(key)?.is_some() {
                return Ok(BlockOutcome::WasBlocked);
            }
            if txn.head().blocks >= blocks_max as u64 {
                return Ok(BlockOutcome::Full);
            }
            txn.put(key, &Present {});
            txn.head_mut().blocks += 1;
            log::write(txn, &note).map(BlockOutcome::Blocked)
        };
        let wants = [Want::Row(key), log::wants(&note)];
        pass.leave(self.accounts.writer.write("block a user", user, wants, run).await).await
    }

    async fn unblock(
        &self,
        user: UserId,
        blocked: UserId,
        note: AccountNote,
    ) -> Result<Option<AccountEntry>, StoreError> {
        let pass = self.gate.enter([]).await?;
        let key = Key::block(blocked);
        let run = move |txn: &mut Txn<'_>| {
            if txn.get::<Present>(key)?.is_none() {
                return Ok(None);
            }
            txn.remove(key);
            txn.head_mut().blocks -= 1;
            log::write(txn, &note).map(Some)
        };
        let wants = [Want::Row(key), log::wants(&note)];
        pass.leave(self.accounts.writer.write("unblock a user", user, wants, run).await).await
    }

    async fn blocks_between(&self, a: UserId, b: UserId) -> Result<(bool, bool), StoreError> {
        let blocks = async |user: UserId, blocked: UserId| {
            let row: Option<Present> = self.accounts.row(user, Key::block(blocked)).await?;
            Ok::<_, StoreError>(row.is_some())
        };
        try_join(blocks(a, b), blocks(b, a)).await
    }

    async fn blocked_among(&self, user: UserId, others: &[UserId]) -> Result<Vec<UserId>, StoreError> {
        self.accounts.ids_among(user, BLOCK, others).await
    }

    async fn blockers_among(&self, user: UserId, others: &[UserId]) -> Result<Vec<UserId>, StoreError> {
        let once = self.accounts.ids_among(user, BLOCKER, others).await?;
        let now = stream::iter(once).map(|other| async move {
            let row: Option<Present> = self.accounts.row(other, Key::block(user)).await?;
            Ok(row.map(|_| other))
        });
        now.buffer_unordered(LOOKED_UP_AT_ONCE).try_filter_map(async |found| Ok(found)).try_collect().await
    }

    async fn blocked_by(
        &self,
        user: UserId,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<UserId>, StoreError> {
        // The lowest id is 0.
        let after = after.map_or(-1, |after| int(after.get()));
        let limit = i32::try_from(limit).unwrap_or(i32::MAX);
        let (cql, statements) = (&self.accounts.cql, &self.accounts.statements);
        let values = (int(user.get()), BLOCK, after, limit);
        let rows: Vec<(i64,)> = cql.rows("list blocked users", &statements.ids_after, values).await?;
        Ok(rows.into_iter().map(|(id,)| UserId::new(id.cast_unsigned())).collect())
    }
}

impl Accounts {
    /// Says in the account of a user that somebody may block them. It is written before the block and never taken back, so
    /// whoever finds nothing there need not look further; whether they do block them says their own account.
    async fn note_blocker(&self, user: UserId, by: UserId) -> Result<(), StoreError> {
        let row = (int(user.get()), BLOCKER, int(by.get()), encode(&Present {}));
        self.cql.write("note who blocks a user", &self.statements.put, row).await
    }

    /// Those of the others of whom an account has a row of this kind.
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
