//! Cursors, and the history of their moves.
//!
//! A mark is written with its own value as the timestamp: Cassandra keeps the cell with the highest, so a mark only moves
//! forward, whoever writes it, in whatever order.

use futures_util::future::try_join_all;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use godwit_domain::model::{Cursor, Entry};
use godwit_domain::ports::{CursorMove, ReceiptTimes, StoreError};
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};
use scylla::errors::PrepareError;
use scylla::value::{CqlTimestamp, CqlValue};

use crate::cql::{Cql, Read, Together, Write};
use crate::values::{bigint, int, timestamp};

/// Moves are kept in partitions by what they reached. Larger than the buckets of the log: a user who comes back after a
/// long time is looked for in each of those between.
const MOVES_BUCKET_ENTRIES: u64 = 65_536;
/// Cursors that are moved at once.
const MOVES_AT_ONCE_MAX: usize = 64;

#[derive(Debug)]
pub(super) struct Statements {
    start: Write,
    deliver: Write,
    read: Write,
    record: Write,
    one: Read,
    first_move: Read,
}

impl Statements {
    pub(super) async fn prepare(cql: &Cql) -> Result<Self, PrepareError> {
        let of_member = "WHERE conversation_id = ? AND user_id = ?";
        Ok(Self {
            start: cql
                .prepare_write(&format!(
                    "UPDATE cursors USING TIMESTAMP 0 SET delivered = 0, read = 0, read_ordinal = 0 {of_member}"
                ))
                .await?,
            deliver: cql
                .prepare_write(&format!("UPDATE cursors USING TIMESTAMP ? SET delivered = ? {of_member}"))
                .await?,
            read: cql
                .prepare_write(&format!(
                    "UPDATE cursors USING TIMESTAMP ? SET read = ?, read_ordinal = ? {of_member}"
                ))
                .await?,
            record: cql
                .prepare_write(
                    "INSERT INTO cursor_moves (conversation_id, user_id, bucket, mark, seq, at) VALUES (?, ?, ?, ?, ?, ?)",
                )
                .await?,
            one: cql
                .prepare_read(&format!("SELECT delivered, read, read_ordinal FROM cursors {of_member}"))
                .await?,
            first_move: cql
                .prepare_read(&format!(
                    "SELECT at FROM cursor_moves {of_member} AND bucket = ? AND mark = ? AND seq >= ? LIMIT 1"
                ))
                .await?,
        })
    }
}

#[derive(Debug, Clone, Copy)]
enum Mark {
    Delivered = 0,
    Read = 1,
}

/// Which marks a move takes further, and to where.
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

/// A member who has read nothing.
pub(super) async fn start(
    cql: &Cql,
    statements: &Statements,
    id: ConversationId,
    user: UserId,
) -> Result<(), StoreError> {
    cql.write("start a cursor", &statements.start, (int(id.get()), int(user.get()))).await
}

/// Moves the cursors of members who received or read something. Gives back the moves that took a read mark further.
pub(super) async fn advance(
    cql: &Cql,
    statements: &Statements,
    moves: &[CursorMove],
) -> Result<Vec<CursorMove>, StoreError> {
    let advances = moves.iter().copied().map(|by| async move {
        let Some(before) = cursor(cql, statements, by.conversation, by.user_id).await? else {
            return Ok(None);
        };
        let Some(passed) = Passed::between(before, before.advanced_by(by.cursor)) else { return Ok(None) };
        write(cql, statements, by, passed).await?;
        Ok(passed.read.map(|_| by))
    });
    let read = stream::iter(advances).buffered(MOVES_AT_ONCE_MAX);
    read.try_filter_map(|moved| async move { Ok(moved) }).try_collect().await
}

/// First when a mark came there, then that it is there: a mark that can be seen has its time.
pub(super) async fn write(
    cql: &Cql,
    statements: &Statements,
    by: CursorMove,
    passed: Passed,
) -> Result<(), StoreError> {
    let member = || [bigint(by.conversation.get()), bigint(by.user_id.get())];
    let mut marks = Together::new();
    let mut records: Vec<(Mark, Seq)> = Vec::with_capacity(2);
    if let Some(seq) = passed.delivered {
        let [id, user] = member();
        marks.write(&statements.deliver, [bigint(seq.get()), bigint(seq.get()), id, user]);
        records.push((Mark::Delivered, seq));
    }
    if let Some((seq, ordinal)) = passed.read {
        let [id, user] = member();
        marks.write(&statements.read, [bigint(seq.get()), bigint(seq.get()), bigint(ordinal), id, user]);
        records.push((Mark::Read, seq));
    }
    let same_bucket = records.windows(2).all(|pair| moves_bucket(pair[0].1) == moves_bucket(pair[1].1));
    let recorded = records.iter().map(|(mark, seq)| {
        let [id, user] = member();
        [
            id,
            user,
            bigint(moves_bucket(*seq)),
            CqlValue::TinyInt(*mark as i8),
            bigint(seq.get()),
            timestamp(by.at),
        ]
    });
    if same_bucket {
        let mut together = Together::new();
        recorded.for_each(|values| together.write(&statements.record, values));
        cql.write_together("record a cursor's move", together).await?;
    } else {
        try_join_all(recorded.map(|values| {
            let mut alone = Together::new();
            alone.write(&statements.record, values);
            cql.write_together("record a cursor's move", alone)
        }))
        .await?;
    }
    cql.write_together("move a cursor", marks).await
}

/// `None` for who is not a member.
async fn cursor(
    cql: &Cql,
    statements: &Statements,
    id: ConversationId,
    user: UserId,
) -> Result<Option<Cursor>, StoreError> {
    let values = (int(id.get()), int(user.get()));
    let row: Option<(Option<i64>, Option<i64>, Option<i64>)> =
        cql.row("read a cursor", &statements.one, values).await?;
    Ok(row.map(|(delivered, read, ordinal)| cursor_from(delivered, read, ordinal)))
}

pub(super) fn cursor_from(delivered: Option<i64>, read: Option<i64>, ordinal: Option<i64>) -> Cursor {
    let seq = |value: Option<i64>| Seq::new(value.unwrap_or(0).cast_unsigned());
    let stored = Cursor {
        delivered: seq(delivered),
        read: seq(read),
        read_ordinal: ordinal.unwrap_or(0).cast_unsigned(),
    };
    // What was read was delivered, whichever of the two writes is seen first.
    stored.advanced_by(stored)
}

/// When users had an entry: at the first moves that reached it, and their own messages when they sent them.
pub(super) async fn receipts(
    cql: &Cql,
    statements: &Statements,
    id: ConversationId,
    seq: Seq,
    entry: Option<&Entry>,
    users: &[UserId],
) -> Result<Vec<ReceiptTimes>, StoreError> {
    let sent = entry.and_then(|entry| entry.message().map(|message| (message.sender_id, entry.at())));
    let times = users.iter().copied().map(|user_id| async move {
        if let Some((_, at)) = sent.filter(|(sender, _)| *sender == user_id) {
            return Ok(ReceiptTimes { user_id, delivered_at: Some(at), read_at: Some(at) });
        }
        let cursor = cursor(cql, statements, id, user_id).await?.unwrap_or_default();
        let first = |mark, reached| first_move(cql, statements, id, user_id, mark, seq, reached);
        let delivered_at = first(Mark::Delivered, cursor.delivered).await?;
        Ok(ReceiptTimes { user_id, delivered_at, read_at: first(Mark::Read, cursor.read).await? })
    });
    stream::iter(times).buffered(MOVES_AT_ONCE_MAX).try_collect().await
}

async fn first_move(
    cql: &Cql,
    statements: &Statements,
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
        let row: Option<(CqlTimestamp,)> = cql.row("read a receipt", &statements.first_move, values).await?;
        if let Some((CqlTimestamp(ms),)) = row {
            return Ok(Some(Timestamp::from_millis(ms)));
        }
    }
    Ok(None)
}

const fn moves_bucket(seq: Seq) -> u64 {
    seq.get() / MOVES_BUCKET_ENTRIES
}
