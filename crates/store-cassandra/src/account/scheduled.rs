//! Scheduled messages.
//!
//! They are stored in the account, and the index [`due`](crate::due) says when they are due. An index row is
//! written before the account has the message and removed after it no longer has it, with the revision of the
//! account as its version. So an index row may be stale, but none is missing. A reader checks each row against
//! the account and removes stale ones.

use futures_util::stream::{self, StreamExt, TryStreamExt};
use godwit_domain::model::Scheduled;
use godwit_domain::ports::StoreError;
use godwit_protocol::{ScheduledId, Timestamp, UserId};

use super::Accounts;
use super::rows::{Key, SCHEDULED, ScheduledBody};
use super::snapshot::AccountRow;
use super::txn::decode;
use crate::due::{DueItem, DueKind};
use crate::values::int;

/// Accounts read concurrently.
const LOOKS_AT_ONCE_MAX: usize = 32;
/// Attempts to fill a page when index rows turn out to be stale.
const DUE_AGAIN_MAX: usize = 8;

impl Accounts {
    pub(crate) async fn scheduled(&self, user: UserId) -> Result<Vec<Scheduled>, StoreError> {
        let rows = self.rows_of(user, SCHEDULED).await?;
        rows.into_iter().map(|(key, body)| Ok(scheduled(user, key, decode(user, key, &body)?))).collect()
    }

    pub(crate) async fn scheduled_one(
        &self,
        user: UserId,
        id: ScheduledId,
    ) -> Result<Option<Scheduled>, StoreError> {
        let body: Option<ScheduledBody> = self.row(user, Key::scheduled(id)).await?;
        Ok(body.map(|body| body.into_scheduled(id, user)))
    }

    /// The scheduled messages that are due, as the accounts say.
    pub(crate) async fn due_scheduled(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<(UserId, ScheduledId)>, StoreError> {
        let mut found = Vec::new();
        for _ in 0..DUE_AGAIN_MAX {
            let items = self.beside.due.due(DueKind::Scheduled, now, limit).await?;
            let looks = items.iter().copied().map(|item| self.is_due(item));
            let are_due: Vec<bool> = stream::iter(looks).buffered(LOOKS_AT_ONCE_MAX).try_collect().await?;
            found = items
                .iter()
                .zip(&are_due)
                .filter(|(_, is_due)| **is_due)
                .map(|(item, _)| (UserId::new(item.owner), ScheduledId::new(item.item)))
                .collect();
            // Stale rows have been removed, which makes room for others.
            if items.len() < limit || are_due.into_iter().all(|is_due| is_due) {
                break;
            }
        }
        Ok(found)
    }

    /// Whether the account confirms an index row. If not, the row is removed, unless a newer revision has
    /// written it again.
    async fn is_due(&self, item: DueItem) -> Result<bool, StoreError> {
        let (user, key) = (UserId::new(item.owner), Key::scheduled(ScheduledId::new(item.item)));
        let keys: Vec<(i8, i64)> = [key, Key::ANCHOR].map(|key| (key.kind, key.id)).into();
        let values = (int(user.get()), keys);
        let rows: Vec<AccountRow> = self.cql.rows("read an account", &self.statements.rows, values).await?;
        let revision = rows.first().map_or(0, |row| row.revision.cast_unsigned());
        let row = rows.into_iter().find(|row| row.kind == key.kind);
        let stored = row.map(|row| decode(user, key, &row.body).map(|body| scheduled(user, key, body)));
        if stored.transpose()?.and_then(|scheduled| due_item(&scheduled)) == Some(item) {
            return Ok(true);
        }
        self.beside.forget_due(item, revision).await?;
        Ok(false)
    }
}

fn scheduled(user: UserId, key: Key, body: ScheduledBody) -> Scheduled {
    body.into_scheduled(ScheduledId::new(key.number()), user)
}

pub(super) fn due_item(scheduled: &Scheduled) -> Option<DueItem> {
    let (owner, item) = (scheduled.user_id.get(), scheduled.id.get());
    scheduled.due_at().map(|at| DueItem { at, owner, item })
}
