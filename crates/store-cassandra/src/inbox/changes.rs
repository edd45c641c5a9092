//! The order of change: a second order of a user's conversations, by their last change of any kind.
//!
//! Each member has a row per conversation at the time of its last change, rounded up to a minute. Further
//! changes within the minute write nothing; the first change of a later minute moves the rows of all members.
//! The column `log_buckets.changed_at`, the *mark*, says where the rows of a conversation are, and only a row
//! at the mark counts. A move writes the new rows, then the mark, then deletes the old rows. A node that
//! crashes in between has not acknowledged the change, so the change and its move are made again, and rows that
//! are not at the mark do not count.
//!
//! A user who joins gets a row at the mark or at the time of joining, whichever is later, because further
//! changes within the same minute write no rows.
//!
//! A user may join on one node while a cursor moves on another, after that node has read the members. So both
//! nodes read again what the other one writes:
//!
//! ```text
//! joining node   write the member ──▶ read the mark ──▶ write a row at the mark ──▶ read the mark again: raised?
//! cursor's node  read the members ──▶ write rows ──▶ raise the mark ──▶ read the members again ──▶ rows for new ones
//! ```
//!
//! Each node writes before its last read, so at least one of the two sees the write of the other. Appends need no
//! second read: a user who joins after an append has a later time.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::{try_join, try_join_all};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use godwit_domain::ports::{ActivityPosition, ChangedRow, InboxRow, StoreError, change_time};
use godwit_protocol::{ConversationId, Timestamp, UserId};
use quick_cache::sync::Cache;
use scylla::errors::PrepareError;

use super::{Inbox, Standing};
use crate::account::Section;
use crate::cql::{Cql, Read, Write};
use crate::values::int;

/// Conversations whose mark is cached.
const CONVERSATIONS_CACHED_MAX: usize = 100_000;
/// Rows of one conversation written concurrently.
const WRITES_AT_ONCE_MAX: usize = 128;

#[derive(Debug)]
pub(super) struct Changes {
    cql: Arc<Cql>,
    /// Lower bounds of the marks.
    known: Cache<ConversationId, Timestamp>,
    mark: Read,
    raise: Write,
    first: Read,
    after: Read,
    put: Write,
    remove: Write,
}

/// The mark of a conversation, and whether the conversation has no rows because it is fanned out on read.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ChangeMark {
    pub(crate) at: Timestamp,
    pub(crate) fanned_out_on_read: bool,
}

impl Changes {
    pub(super) async fn new(cql: Arc<Cql>) -> Result<Self, PrepareError> {
        let page = "SELECT changed_at, conversation_id FROM inbox_changes WHERE user_id = ?";
        Ok(Self {
            known: Cache::new(CONVERSATIONS_CACHED_MAX),
            mark: cql
                .prepare_read(
                    "SELECT changed_at, fanned_out_on_read FROM log_buckets WHERE conversation_id = ? LIMIT 1",
                )
                .await?,
            raise: cql
                .prepare_write("UPDATE log_buckets USING TIMESTAMP ? SET changed_at = ? WHERE conversation_id = ?")
                .await?,
            first: cql.prepare_read(&format!("{page} AND changed_at >= ? LIMIT ?")).await?,
            after: cql
                .prepare_read(&format!(
                    "{page} AND (changed_at, conversation_id) < (?, ?) AND (changed_at) >= (?) LIMIT ?"
                ))
                .await?,
            put: cql
                .prepare_write(
                    "INSERT INTO inbox_changes (user_id, changed_at, conversation_id) VALUES (?, ?, ?) \
                     USING TIMESTAMP ?",
                )
                .await?,
            remove: cql
                .prepare_write(
                    "DELETE FROM inbox_changes USING TIMESTAMP ? \
                     WHERE user_id = ? AND changed_at = ? AND conversation_id = ?",
                )
                .await?,
            cql,
        })
    }

    async fn mark(&self, id: ConversationId) -> Result<ChangeMark, StoreError> {
        let row: Option<(Option<i64>, Option<bool>)> =
            self.cql.row("read when a conversation changed", &self.mark, (int(id.get()),)).await?;
        let (at, fanned_out_on_read) = row.unwrap_or_default();
        Ok(ChangeMark {
            at: Timestamp::from_millis(at.unwrap_or(0)),
            fanned_out_on_read: fanned_out_on_read.unwrap_or(false),
        })
    }

    async fn raise(&self, id: ConversationId, at: Timestamp) -> Result<(), StoreError> {
        let values = (at.as_millis(), at.as_millis(), int(id.get()));
        self.cql.write("say when a conversation changed", &self.raise, values).await
    }

    /// Writes a row for a user who joins the conversation.
    pub(super) async fn enter(
        &self,
        user: UserId,
        id: ConversationId,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let mark = self.mark(id).await?;
        self.place(user, id, mark.at.max(change_time(at))).await
    }

    /// Writes a row at this time, or at the mark if that is raised above it meanwhile. The mark is raised at
    /// most once a minute.
    pub(super) async fn place(
        &self,
        user: UserId,
        id: ConversationId,
        mut at: Timestamp,
    ) -> Result<(), StoreError> {
        loop {
            self.put(user, id, at).await?;
            let mark = self.mark(id).await?.at;
            if mark <= at {
                return Ok(());
            }
            at = mark;
        }
    }

    async fn put(&self, user: UserId, id: ConversationId, at: Timestamp) -> Result<(), StoreError> {
        let values = (int(user.get()), at.as_millis(), int(id.get()), at.as_millis());
        self.cql.write("write a row of the order of change", &self.put, values).await
    }

    async fn remove(&self, user: UserId, id: ConversationId, at: Timestamp) -> Result<(), StoreError> {
        let values = (at.as_millis() + 1, int(user.get()), at.as_millis(), int(id.get()));
        self.cql.write("remove a row of the order of change", &self.remove, values).await
    }

    async fn page(
        &self,
        user: UserId,
        floor: Timestamp,
        after: Option<ActivityPosition>,
        limit: usize,
    ) -> Result<Vec<ActivityPosition>, StoreError> {
        let (user, floor) = (int(user.get()), floor.as_millis());
        let limit = i32::try_from(limit).unwrap_or(i32::MAX);
        let rows: Vec<(i64, i64)> = match after {
            None => self.cql.rows("read the order of change", &self.first, (user, floor, limit)).await?,
            Some(ActivityPosition { at, conversation }) => {
                let values = (user, at.as_millis(), int(conversation.get()), floor, limit);
                self.cql.rows("read the order of change", &self.after, values).await?
            }
        };
        let position = |(at, id): (i64, i64)| ActivityPosition {
            at: Timestamp::from_millis(at),
            conversation: ConversationId::new(id.cast_unsigned()),
        };
        Ok(rows.into_iter().map(position).collect())
    }
}

impl Inbox {
    /// The present mark, or `None` if members already have rows for a change at this time.
    pub(crate) async fn change_to_tell(
        &self,
        id: ConversationId,
        at: Timestamp,
    ) -> Result<Option<ChangeMark>, StoreError> {
        let at = change_time(at);
        if self.changes.known.get(&id).is_some_and(|known| known >= at) {
            return Ok(None);
        }
        let mark = self.changes.mark(id).await?;
        if mark.at >= at {
            self.changes.known.insert(id, mark.at);
            return Ok(None);
        }
        Ok(Some(mark))
    }

    /// Moves the rows of members to the time of a change. Returns `false` if they were already there.
    pub(crate) async fn touch(
        &self,
        id: ConversationId,
        at: Timestamp,
        members: &[UserId],
    ) -> Result<bool, StoreError> {
        let Some(before) = self.change_to_tell(id, at).await? else { return Ok(false) };
        let at = change_time(at);
        let puts: Vec<_> = members.iter().map(|user| self.changes.put(*user, id, at)).collect();
        stream::iter(puts).buffer_unordered(WRITES_AT_ONCE_MAX).try_collect::<()>().await?;
        self.changes.raise(id, at).await?;
        self.changes.known.insert(id, at);
        if before.at > Timestamp::default() {
            let removals: Vec<_> =
                members.iter().map(|user| self.changes.remove(*user, id, before.at)).collect();
            stream::iter(removals).buffer_unordered(WRITES_AT_ONCE_MAX).try_collect::<()>().await?;
        }
        Ok(true)
    }

    /// Writes rows for users who joined after the other members were read.
    pub(crate) async fn touch_newcomers(
        &self,
        id: ConversationId,
        at: Timestamp,
        newcomers: &[UserId],
    ) -> Result<(), StoreError> {
        let at = change_time(at);
        let rows: Vec<_> = newcomers.iter().map(|user| self.changes.place(*user, id, at)).collect();
        stream::iter(rows).buffer_unordered(WRITES_AT_ONCE_MAX).try_collect().await
    }

    /// A page of the changed conversations, each at the time of its activity or of its last other change,
    /// whichever is later.
    pub(crate) async fn changed(
        self: &Arc<Self>,
        user: UserId,
        floor: Timestamp,
        mut after: Option<ActivityPosition>,
        limit: usize,
    ) -> Result<Vec<ChangedRow>, StoreError> {
        let mut page = Vec::new();
        let recent = self.recent(user).await?;
        while page.len() < limit {
            let (active, changes) = try_join(
                self.sections(user, &recent, &Section::ALL, floor, after, limit),
                self.changes.page(user, floor, after, limit),
            )
            .await?;
            let is_last = active.len() < limit && changes.len() < limit;
            let mut positions: Vec<ActivityPosition> = active.iter().map(InboxRow::activity).collect();
            positions.extend(&changes);
            positions.sort_unstable_by_key(|position| Reverse(*position));
            positions.dedup();
            // Past these positions, one of the two lists may have more.
            positions.truncate(if is_last { positions.len() } else { limit });
            after = positions.last().copied().or(after);
            let known = self.last_changes(user, &recent, active, &positions).await?;
            page.extend(positions.into_iter().filter_map(|ActivityPosition { at, conversation }| {
                let (row, mark) = known.get(&conversation)?;
                (row.activity_at.max(*mark) == at).then(|| ChangedRow {
                    conversation,
                    settings: row.settings.clone(),
                    changed_at: at,
                })
            }));
            if is_last {
                break;
            }
        }
        page.truncate(limit);
        Ok(page)
    }

    /// The conversations at these positions that are in the inbox, with their activity and their marks.
    async fn last_changes(
        &self,
        user: UserId,
        recent: &[Standing],
        active: Vec<InboxRow>,
        positions: &[ActivityPosition],
    ) -> Result<HashMap<ConversationId, (InboxRow, Timestamp)>, StoreError> {
        let mut rows: HashMap<ConversationId, InboxRow> =
            active.into_iter().map(|row| (row.conversation, row)).collect();
        for standing in recent.iter().filter(|standing| standing.is_listed()) {
            rows.entry(standing.conversation).or_insert_with(|| standing.clone().into_row());
        }
        let mut ids: Vec<ConversationId> = positions.iter().map(|position| position.conversation).collect();
        ids.sort_unstable();
        ids.dedup();
        let others: Vec<ConversationId> = ids.iter().filter(|id| !rows.contains_key(id)).copied().collect();
        for (conversation, membership) in self.accounts.memberships(user, &others).await? {
            let place = membership.place.map(|place| place.at);
            let standing = place.map(|activity_at| Standing { conversation, membership, activity_at });
            let listed = standing.filter(Standing::is_listed);
            rows.extend(listed.map(|standing| (conversation, standing.into_row())));
        }
        let marks = try_join_all(ids.iter().map(|id| self.changes.mark(*id))).await?;
        let with_mark = |(id, mark): (ConversationId, ChangeMark)| Some((id, (rows.remove(&id)?, mark.at)));
        Ok(ids.into_iter().zip(marks).filter_map(with_mark).collect())
    }
}
