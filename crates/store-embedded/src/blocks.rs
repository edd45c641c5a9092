//! Whom users block.

use async_trait::async_trait;
use godwit_domain::model::{AccountEntry, AccountNote};
use godwit_domain::ports::{BlockOutcome, BlockStore, StoreError};
use godwit_protocol::UserId;

use crate::engine::{Direction, View};
use crate::keys::{self, Key, KeyRange};
use crate::read::Read;
use crate::records::{CountRecord, present};
use crate::txn::Txn;
use crate::{EmbeddedStore, account_log};

#[async_trait]
impl BlockStore for EmbeddedStore {
    async fn block(
        &self,
        user: UserId,
        blocked: UserId,
        note: AccountNote,
        blocks_max: usize,
    ) -> Result<BlockOutcome, StoreError> {
        let write = move |txn: &mut Txn<'_>| {
            if txn.contains(&keys::block(user, blocked))? {
                return Ok(BlockOutcome::WasBlocked);
            }
            let CountRecord(count) = txn.record(&keys::block_count(user))?.unwrap_or_default();
            if count >= blocks_max as u64 {
                return Ok(BlockOutcome::Full);
            }
            txn.put(keys::block(user, blocked), present());
            txn.put(keys::blocker(blocked, user), present());
            txn.put_record(keys::block_count(user), &CountRecord(count + 1));
            account_log::note(txn, note).map(BlockOutcome::Blocked)
        };
        self.write("block a user", write).await
    }

    async fn unblock(
        &self,
        user: UserId,
        blocked: UserId,
        note: AccountNote,
    ) -> Result<Option<AccountEntry>, StoreError> {
        let write = move |txn: &mut Txn<'_>| {
            if !txn.contains(&keys::block(user, blocked))? {
                return Ok(None);
            }
            let CountRecord(count) = txn.record(&keys::block_count(user))?.unwrap_or_default();
            txn.remove(keys::block(user, blocked));
            txn.remove(keys::blocker(blocked, user));
            txn.put_record(keys::block_count(user), &CountRecord(count.saturating_sub(1)));
            account_log::note(txn, note).map(Some)
        };
        self.write("unblock a user", write).await
    }

    async fn blocks_between(&self, a: UserId, b: UserId) -> Result<(bool, bool), StoreError> {
        let view = self.engine.view();
        Ok((view.contains(&keys::block(a, b))?, view.contains(&keys::block(b, a))?))
    }

    async fn blocked_among(&self, user: UserId, others: &[UserId]) -> Result<Vec<UserId>, StoreError> {
        let any = keys::blocks_after(user, None);
        among(&self.engine.view(), &any, others, |other| keys::block(user, other))
    }

    async fn blockers_among(&self, user: UserId, others: &[UserId]) -> Result<Vec<UserId>, StoreError> {
        among(&self.engine.view(), &keys::blockers(user), others, |other| keys::blocker(user, other))
    }

    async fn blocked_by(
        &self,
        user: UserId,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<UserId>, StoreError> {
        let rows = self.engine.view().page(&keys::blocks_after(user, after), Direction::Forward, limit)?;
        rows.iter().map(|(key, _)| keys::last_id("blocks", key).map(UserId::new)).collect()
    }
}

/// Those of the others who have a row. In most ranges there is none at all, which is found with one look.
fn among(
    view: &View,
    any: &KeyRange,
    others: &[UserId],
    key: impl Fn(UserId) -> Key,
) -> Result<Vec<UserId>, StoreError> {
    if others.is_empty() || view.page(any, Direction::Forward, 1)?.is_empty() {
        return Ok(Vec::new());
    }
    let found = others.iter().map(|other| Ok(view.contains(&key(*other))?.then_some(*other)));
    found.filter_map(Result::transpose).collect()
}
