//! Cursors, and the history of their moves.
//!
//! A mark is written with its own value as the timestamp. Cassandra keeps the cell with the highest timestamp,
//! so a mark only moves forward, regardless of who writes it and in which order.

use std::collections::HashMap;

use futures_util::future::{try_join, try_join_all};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use godwit_domain::model::{AccountNote, Cursor, Entry};
use godwit_domain::ports::{CursorMove, ReceiptTimes, StoreError};
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};
use scylla::errors::PrepareError;
use scylla::value::{CqlTimestamp, CqlValue};

use super::members::Members;
use crate::cql::{Batch, Cql, Read, Write};
use crate::values::{bigint, int, timestamp};

/// Sequence numbers per partition of moves. Larger than a bucket of the log, because for a user who returns
/// after a long time every partition in between is searched.
pub(super) const MOVES_BUCKET_ENTRIES: u64 = 65_536;
/// Cursors moved concurrently.
pub(super) const MOVES_AT_ONCE_MAX: usize = 64;
/// Cursors in one query by user. ScyllaDB accepts at most 100.
const ASKED_AT_ONCE_MAX: usize = 100;
/// Moves per batch.
const RECORDED_TOGETHER_MAX: usize = 256;

#[derive(Debug)]
pub(super) struct Statements {
    deliver: Write,
    read: Write,
    moved: Write,
    record: Write,
    all: Read,
    of: Read,
    pub(super) after: Read,
    first_move: Read,
    pub(super) moves: Read,
}

impl Statements {
    pub(super) async fn prepare(cql: &Cql) -> Result<Self, PrepareError> {
        let of_member = "WHERE conversation_id = ? AND user_id = ?";
        let of_conversation =
            "SELECT user_id, delivered, read, read_ordinal, moved_at FROM cursors WHERE conversation_id = ?";
        Ok(Self {
            deliver: cql
                .prepare_write(&format!("UPDATE cursors USING TIMESTAMP ? SET delivered = ? {of_member}"))
                .await?,
            read: cql
                .prepare_write(&format!(
                    "UPDATE cursors USING TIMESTAMP ? SET read = ?, read_ordinal = ? {of_member}"
                ))
                .await?,
            moved: cql
                .prepare_write(&format!("UPDATE cursors USING TIMESTAMP ? SET moved_at = ? {of_member}"))
                .await?,
            record: cql
                .prepare_write(
                    "INSERT INTO cursor_moves (conversation_id, user_id, bucket, mark, seq, at) VALUES (?, ?, ?, ?, ?, ?)",
                )
                .await?,
            all: cql.prepare_read(of_conversation).await?,
            of: cql.prepare_read(&format!("{of_conversation} AND user_id IN ?")).await?,
            after: cql.prepare_read(&format!("{of_conversation} AND user_id > ? LIMIT ?")).await?,
            first_move: cql
                .prepare_read(&format!(
                    "SELECT at FROM cursor_moves {of_member} AND bucket = ? AND mark = ? AND seq >= ? LIMIT 1"
                ))
                .await?,
            moves: cql
                .prepare_read(&format!(
                    "SELECT seq, at FROM cursor_moves {of_member} AND bucket = ? AND mark = ? AND seq > ? LIMIT ?"
                ))
                .await?,
        })
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Mark {
    Delivered = 0,
    Read = 1,
}

/// The marks that a move advances, and their new values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Passed {
    delivered: Option<Seq>,
    read: Option<(Seq, u64)>,
}

impl Passed {
    pub(super) const fn both(to: Cursor) -> Self {
        Self { delivered: Some(to.delivered), read: Some((to.read, to.read_ordinal)) }
    }

    fn between(before: Cursor, after: Cursor) -> Option<Self> {
        let delivered = (after.delivered > before.delivered).then_some(after.delivered);
        let read = (after.read > before.read).then_some((after.read, after.read_ordinal));
        (delivered.is_some() || read.is_some()).then_some(Self { delivered, read })
    }
}

pub(super) type CursorRow = (i64, Option<i64>, Option<i64>, Option<i64>, Option<i64>);

/// A cursor, and the time when it last moved.
pub(super) type Moved = (Cursor, Timestamp);

#[derive(Debug, Clone, Copy)]
pub(super) struct Cursors<'a> {
    pub(super) cql: &'a Cql,
    pub(super) statements: &'a Statements,
}

impl Cursors<'_> {
    /// The cursors of all present and former members, for conversations that are not large. A user who is
    /// missing has read nothing.
    pub(super) async fn all(self, id: ConversationId) -> Result<HashMap<UserId, Moved>, StoreError> {
        let rows = self.cql.rows("load cursors", &self.statements.all, (int(id.get()),)).await?;
        Ok(by_user(rows))
    }

    pub(super) async fn of(
        self,
        id: ConversationId,
        users: &[UserId],
    ) -> Result<HashMap<UserId, Moved>, StoreError> {
        let asked = users.chunks(ASKED_AT_ONCE_MAX).map(|users| {
            let users: Vec<i64> = users.iter().map(|user| int(user.get())).collect();
            self.cql.rows("read cursors", &self.statements.of, (int(id.get()), users))
        });
        let rows: Vec<Vec<CursorRow>> = try_join_all(asked).await?;
        Ok(by_user(rows.into_iter().flatten()))
    }

    async fn one(self, id: ConversationId, user: UserId) -> Result<Cursor, StoreError> {
        Ok(self.of(id, &[user]).await?.remove(&user).unwrap_or_default().0)
    }

    /// The moves of present members that advance a mark.
    pub(super) async fn passing(
        self,
        members: Members<'_>,
        moves: &[CursorMove],
    ) -> Result<Vec<(CursorMove, Passed, Option<AccountNote>)>, StoreError> {
        let passing = moves.iter().copied().map(|by| async move {
            let (id, user) = (by.conversation, by.user_id);
            let (member, before) = try_join(members.one(id, user), self.one(id, user)).await?;
            let after = before.advanced_by(by.cursor);
            let passed = Passed::between(before, after).filter(|_| member.is_some());
            Ok(passed.map(|passed| (by, passed, by.note(before, after))))
        });
        let passing = stream::iter(passing).buffered(MOVES_AT_ONCE_MAX);
        passing.try_filter_map(|passing| async move { Ok(passing) }).try_collect().await
    }

    /// Writes moves. Returns their notes, which are not written yet.
    pub(super) async fn advance(
        self,
        passing: Vec<(CursorMove, Passed, Option<AccountNote>)>,
    ) -> Result<Vec<AccountNote>, StoreError> {
        let advances = passing.into_iter().map(|(by, passed, note)| async move {
            self.write(by, passed).await?;
            Ok(note)
        });
        let notes = stream::iter(advances).buffered(MOVES_AT_ONCE_MAX);
        notes.try_filter_map(|note| async move { Ok(note) }).try_collect().await
    }

    /// Records the time of a move before the mark moves, so that a visible mark always has its time.
    pub(super) async fn write(self, by: CursorMove, passed: Passed) -> Result<(), StoreError> {
        let delivered = passed.delivered.map(|seq| (Mark::Delivered, seq, by.at));
        let read = passed.read.map(|(seq, _)| (Mark::Read, seq, by.at));
        self.record(by.conversation, by.user_id, delivered.into_iter().chain(read)).await?;
        self.pass(by.conversation, by.user_id, passed, by.at).await
    }

    /// Writes the times of moves.
    pub(super) async fn record(
        self,
        id: ConversationId,
        user: UserId,
        moves: impl Iterator<Item = (Mark, Seq, Timestamp)>,
    ) -> Result<(), StoreError> {
        let mut buckets = HashMap::<u64, Vec<[CqlValue; 6]>>::new();
        for (mark, seq, at) in moves {
            let (bucket, mark) = (moves_bucket(seq), CqlValue::TinyInt(mark as i8));
            let [id, user, seq] = [id.get(), user.get(), seq.get()].map(bigint);
            let values = [id, user, bigint(bucket), mark, seq, timestamp(at)];
            buckets.entry(bucket).or_default().push(values);
        }
        let recorded = buckets.values().flat_map(|rows| rows.chunks(RECORDED_TOGETHER_MAX)).map(|rows| {
            let mut batch = Batch::new();
            for values in rows {
                batch.write(&self.statements.record, values.clone());
            }
            self.cql.write_batch("record a cursor's move", batch)
        });
        try_join_all(recorded).await?;
        Ok(())
    }

    /// Moves the marks.
    pub(super) async fn pass(
        self,
        id: ConversationId,
        user: UserId,
        passed: Passed,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let member = || [bigint(id.get()), bigint(user.get())];
        let mut marks = Batch::new();
        let at = CqlValue::BigInt(at.as_millis());
        marks.write(&self.statements.moved, [[at.clone(), at], member()].concat());
        if let Some(seq) = passed.delivered {
            let [id, user] = member();
            marks.write(&self.statements.deliver, [bigint(seq.get()), bigint(seq.get()), id, user]);
        }
        if let Some((seq, ordinal)) = passed.read {
            let [id, user] = member();
            let values = [bigint(seq.get()), bigint(seq.get()), bigint(ordinal), id, user];
            marks.write(&self.statements.read, values);
        }
        self.cql.write_batch("move a cursor", marks).await
    }

    /// When users received and read an entry: the times of the first moves that reached it. For their own
    /// message it is the time when it was sent.
    pub(super) async fn receipts(
        self,
        id: ConversationId,
        seq: Seq,
        entry: Option<&Entry>,
        users: &[UserId],
    ) -> Result<Vec<ReceiptTimes>, StoreError> {
        let times = users.iter().copied().map(|user_id| async move {
            if let Some(sent) = ReceiptTimes::of_sender(user_id, entry) {
                return Ok(sent);
            }
            let cursor = self.one(id, user_id).await?;
            let first = |mark, reached| self.first_move(id, user_id, mark, seq, reached);
            let delivered_at = first(Mark::Delivered, cursor.delivered).await?;
            Ok(ReceiptTimes { user_id, delivered_at, read_at: first(Mark::Read, cursor.read).await? })
        });
        stream::iter(times).buffered(MOVES_AT_ONCE_MAX).try_collect().await
    }

    async fn first_move(
        self,
        id: ConversationId,
        user: UserId,
        mark: Mark,
        seq: Seq,
        reached: Seq,
    ) -> Result<Option<Timestamp>, StoreError> {
        if reached < seq {
            return Ok(None);
        }
        for bucket in moves_bucket(seq)..=moves_bucket(reached) {
            let values = (int(id.get()), int(user.get()), int(bucket), mark as i8, int(seq.get()));
            let row: Option<(CqlTimestamp,)> =
                self.cql.row("read a receipt", &self.statements.first_move, values).await?;
            if let Some((CqlTimestamp(ms),)) = row {
                return Ok(Some(Timestamp::from_millis(ms)));
            }
        }
        Ok(None)
    }
}

fn by_user(rows: impl IntoIterator<Item = CursorRow>) -> HashMap<UserId, Moved> {
    rows.into_iter().map(of_user).collect()
}

pub(super) fn of_user((user, delivered, read, ordinal, moved_at): CursorRow) -> (UserId, Moved) {
    let seq = |value: Option<i64>| Seq::new(value.unwrap_or(0).cast_unsigned());
    let stored = Cursor {
        delivered: seq(delivered),
        read: seq(read),
        read_ordinal: ordinal.unwrap_or(0).cast_unsigned(),
    };
    // A read entry counts as delivered, whichever of the two writes becomes visible first.
    let moved_at = Timestamp::from_millis(moved_at.unwrap_or(0));
    (UserId::new(user.cast_unsigned()), (stored.advanced_by(stored), moved_at))
}

pub(super) const fn moves_bucket(seq: Seq) -> u64 {
    seq.get() / MOVES_BUCKET_ENTRIES
}
