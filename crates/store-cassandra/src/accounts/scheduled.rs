//! Messages that are to be sent later.
//!
//! They are in the account, and beside it in the index of [what is due](crate::due). A row of the index is written before
//! the account has the message, and taken away after it has it no more, with the account's revision as the version. So it
//! may say too much, never too little: whoever finds one looks into the account, and takes away what is not so.

use std::sync::Arc;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use godwit_domain::model::{AccountNote, Scheduled, ScheduledStage};
use godwit_domain::ports::{ReplaceScheduled, ScheduleOutcome, StoreError};
use godwit_protocol::{ScheduledId, Timestamp, UserId};

use super::queue::Before;
use super::rows::{Key, SCHEDULED, ScheduledBody};
use super::snapshot::{AccountRow, Want};
use super::txn::{Stop, Txn, decode};
use super::{Accounts, log};
use crate::due::{Due, DueItem, DueKind};
use crate::values::int;

/// Accounts that are looked into at once.
const LOOKS_AT_ONCE_MAX: usize = 32;
/// How many more rows of the index are read at once when some said too much.
const DUE_AGAIN_MAX: usize = 8;

/// A scheduled message that took the place of another, or nothing did.
struct Replaced {
    outcome: ReplaceScheduled,
    /// When it was due, and with which revision it is not any more.
    was_due: Option<(DueItem, u64)>,
}

impl Accounts {
    pub(crate) async fn schedule(
        &self,
        due: &Arc<Due>,
        scheduled: Scheduled,
        max: usize,
        note: AccountNote,
    ) -> Result<ScheduleOutcome, StoreError> {
        let user = scheduled.user_id;
        let before = indexing(due, &scheduled);
        let run = move |txn: &mut Txn<'_>| {
            let all = all(txn)?;
            let is_same = |other: &&Scheduled| {
                other.conversation == scheduled.conversation
                    && other.draft.client_id == scheduled.draft.client_id
            };
            if let Some(first) = all.iter().find(is_same) {
                return Ok(ScheduleOutcome::Repeated(first.clone()));
            }
            if all.iter().filter(|other| other.stage.is_listed()).count() >= max {
                return Ok(ScheduleOutcome::Full);
            }
            txn.put(Key::scheduled(scheduled.id), &ScheduledBody::from(&scheduled));
            log::write(txn, &note).map(ScheduleOutcome::Scheduled)
        };
        let wants = [Want::all(SCHEDULED), log::wants(&note)];
        self.writer.write_after("schedule a message", user, wants, before, run).await
    }

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

    pub(crate) async fn replace_scheduled(
        &self,
        due: &Arc<Due>,
        expected: Scheduled,
        with: Option<Scheduled>,
        note: Option<AccountNote>,
    ) -> Result<ReplaceScheduled, StoreError> {
        let before = with.as_ref().and_then(|with| indexing(due, with));
        let (user, key) = (expected.user_id, Key::scheduled(expected.id));
        let wants: Vec<Want> = [Want::Row(key)].into_iter().chain(note.as_ref().map(log::wants)).collect();
        let run = move |txn: &mut Txn<'_>| replace(txn, &expected, with.as_ref(), note.as_ref());
        let replaced =
            self.writer.write_after("change a scheduled message", user, wants, before, run).await?;
        if let Some((item, version)) = replaced.was_due {
            due.remove(DueKind::Scheduled, item, version).await?;
        }
        Ok(replaced.outcome)
    }

    /// What is due, by what the accounts say.
    pub(crate) async fn due_scheduled(
        &self,
        due: &Due,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<(UserId, ScheduledId)>, StoreError> {
        let mut found = Vec::new();
        for _ in 0..DUE_AGAIN_MAX {
            let items = due.due(DueKind::Scheduled, now, limit).await?;
            let looks = items.iter().copied().map(|item| self.is_due(due, item));
            let are_due: Vec<bool> = stream::iter(looks).buffered(LOOKS_AT_ONCE_MAX).try_collect().await?;
            found = items
                .iter()
                .zip(&are_due)
                .filter(|(_, is_due)| **is_due)
                .map(|(item, _)| (UserId::new(item.owner), ScheduledId::new(item.item)))
                .collect();
            // Those that said too much are gone, and leave room for others.
            if items.len() < limit || are_due.into_iter().all(|is_due| is_due) {
                break;
            }
        }
        Ok(found)
    }

    /// Whether the account says so too. If not, the row of the index goes, unless the account says otherwise meanwhile.
    async fn is_due(&self, due: &Due, item: DueItem) -> Result<bool, StoreError> {
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
        due.remove(DueKind::Scheduled, item, revision).await?;
        Ok(false)
    }
}

fn replace(
    txn: &mut Txn<'_>,
    expected: &Scheduled,
    with: Option<&Scheduled>,
    note: Option<&AccountNote>,
) -> Result<Replaced, Stop> {
    let (user, id, key) = (txn.user(), expected.id, Key::scheduled(expected.id));
    let unchanged = |outcome| Ok(Replaced { outcome, was_due: None });
    let Some(current) = txn.get(key)?.map(|body: ScheduledBody| body.into_scheduled(id, user)) else {
        return unchanged(ReplaceScheduled::NotFound);
    };
    if current != *expected {
        return unchanged(ReplaceScheduled::Changed);
    }
    match with {
        Some(with) => txn.put(key, &ScheduledBody::from(with)),
        None => txn.remove(key),
    }
    let note = note.map(|note| log::write(txn, note)).transpose()?;
    let is_due = with.and_then(due_item);
    let was_due = due_item(&current).filter(|item| is_due != Some(*item));
    Ok(Replaced {
        outcome: ReplaceScheduled::Replaced(note),
        was_due: was_due.map(|item| (item, txn.revision())),
    })
}

fn all(txn: &mut Txn<'_>) -> Result<Vec<Scheduled>, Stop> {
    let user = txn.user();
    let rows = txn.all::<ScheduledBody>(SCHEDULED)?;
    Ok(rows.into_iter().map(|(key, body)| scheduled(user, key, body)).collect())
}

fn scheduled(user: UserId, key: Key, body: ScheduledBody) -> Scheduled {
    body.into_scheduled(ScheduledId::new(key.id.cast_unsigned()), user)
}

/// When it is due. One that has failed waits for its user.
fn due_item(scheduled: &Scheduled) -> Option<DueItem> {
    let item = DueItem { at: scheduled.send_at, owner: scheduled.user_id.get(), item: scheduled.id.get() };
    (!matches!(scheduled.stage, ScheduledStage::Failed(_))).then_some(item)
}

/// Notes in the index when it is due, before the account has it.
fn indexing(due: &Arc<Due>, scheduled: &Scheduled) -> Option<Before> {
    let (due, item) = (due.clone(), due_item(scheduled)?);
    Some(Box::new(move |revision| {
        let due = due.clone();
        Box::pin(async move { due.put(DueKind::Scheduled, item, revision).await })
    }))
}
