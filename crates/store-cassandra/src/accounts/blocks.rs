//! Whom users block.

use async_trait::async_trait;
use futures_util::future::try_join;
use godwit_domain::model::{AccountEntry, AccountNote};
use godwit_domain::ports::{BlockOutcome, BlockStore, StoreError};
use godwit_protocol::UserId;

use super::log;
use super::rows::{BLOCK, Key, Present};
use super::snapshot::Want;
use super::txn::Txn;
use crate::CassandraStore;
use crate::values::int;

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
