//! Reading the log.

use std::collections::BTreeMap;

use futures_util::future::try_join;
use godwit_domain::model::{ClientId, Entry};
use godwit_domain::ports::{MessageOrder, SeqRange, StoreError};
use godwit_protocol::ids::EPOCH_MS;
use godwit_protocol::ids::{NODE_BITS, SEQUENCE_BITS};
use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp, UserId};
use scylla::errors::PrepareError;

use super::buckets::{self, APPEND_ENTRIES_MAX, BUCKET_ENTRIES};
use super::records::{Class, LOG_COLUMNS, LogRow};
use crate::cql::{Cql, Read};
use crate::values::int;

/// In a search by time every so many entries are looked at first, and then those between two of them.
const SEARCH_STRIDE: u64 = 64;
/// How often a page that others wrote to while it was read is read again.
const TORN_READS_MAX: usize = 8;

#[derive(Debug)]
pub(super) struct Statements {
    forward: Read,
    backward: Read,
    one: Read,
    newest_bucket: Read,
    all_buckets: Read,
    ids_of: Read,
    client_id: Read,
    message_id: Read,
}

impl Statements {
    pub(super) async fn prepare(cql: &Cql) -> Result<Self, PrepareError> {
        let of_class = "FROM log WHERE conversation_id = ? AND bucket = ? AND class = ?";
        Ok(Self {
            forward: cql
                .prepare_read(&format!("SELECT {LOG_COLUMNS} {of_class} AND seq > ? AND seq < ? LIMIT ?"))
                .await?,
            backward: cql
                .prepare_read(&format!(
                    "SELECT {LOG_COLUMNS} {of_class} AND seq > ? AND seq < ? ORDER BY class DESC, seq DESC LIMIT ?"
                ))
                .await?,
            one: cql
                .prepare_read(&format!(
                    "SELECT {LOG_COLUMNS} FROM log WHERE conversation_id = ? AND bucket = ? AND class IN (0, 1) AND seq = ?"
                ))
                .await?,
            newest_bucket: cql
                .prepare_read("SELECT bucket FROM log_buckets WHERE conversation_id = ? LIMIT 1")
                .await?,
            all_buckets: cql
                .prepare_read("SELECT bucket, first_seq, first_id FROM log_buckets WHERE conversation_id = ?")
                .await?,
            ids_of: cql
                .prepare_read(
                    "SELECT seq, id FROM log WHERE conversation_id = ? AND bucket = ? AND class IN (0, 1) AND seq IN ?",
                )
                .await?,
            client_id: cql
                .prepare_read(
                    "SELECT seq FROM client_ids WHERE conversation_id = ? AND sender_id = ? AND client_id = ?",
                )
                .await?,
            message_id: cql
                .prepare_read("SELECT conversation_id, seq FROM message_ids WHERE message_id = ?")
                .await?,
        })
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct History<'a> {
    pub(super) cql: &'a Cql,
    pub(super) statements: &'a Statements,
}

impl History<'_> {
    /// The next entries, of both classes. They are read by two queries, between which others may append: only what
    /// follows without a gap is of one moment.
    pub(super) async fn rows(
        self,
        id: ConversationId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<LogRow>, StoreError> {
        let before = after.get().saturating_add(limit as u64).saturating_add(1);
        let mut rows = Vec::<LogRow>::with_capacity(limit);
        let mut bucket = buckets::first_with(after.next());
        let mut torn = 0;
        while rows.len() < limit {
            let last = rows.last().map_or(after, LogRow::seq);
            let range = SeqRange { after: last, before: Seq::new(before) };
            let (messages, others) = try_join(
                self.page(id, bucket, Class::Message, range, MessageOrder::OldestFirst, limit),
                self.page(id, bucket, Class::Other, range, MessageOrder::OldestFirst, limit),
            )
            .await?;
            let read: BTreeMap<i64, LogRow> =
                messages.into_iter().chain(others).map(|row| (row.seq, row)).collect();
            let (found, next) = (read.len(), last.get() + 1);
            rows.extend(
                read.into_values()
                    .zip(next..)
                    .map_while(|(row, seq)| (row.seq().get() == seq).then_some(row)),
            );
            let taken = rows.last().map_or(after, LogRow::seq).get() - last.get();
            if taken < found as u64 && torn < TORN_READS_MAX {
                torn += 1;
            } else if bucket < buckets::of_append(rows.last().map_or(after, LogRow::seq).next()) {
                bucket += 1;
            } else {
                break;
            }
        }
        Ok(rows)
    }

    pub(super) async fn entries(
        self,
        id: ConversationId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        let rows = self.rows(id, after, limit).await?;
        rows.into_iter().map(|row| row.into_entry(id)).collect()
    }

    pub(super) async fn entry(self, id: ConversationId, seq: Seq) -> Result<Option<Entry>, StoreError> {
        for bucket in (buckets::first_with(seq)..=buckets::of_append(seq)).rev() {
            let values = (int(id.get()), int(bucket), int(seq.get()));
            let row: Option<LogRow> = self.cql.row("read an entry", &self.statements.one, values).await?;
            if let Some(row) = row {
                return row.into_entry(id).map(Some);
            }
        }
        Ok(None)
    }

    pub(super) async fn messages(
        self,
        id: ConversationId,
        range: SeqRange,
        order: MessageOrder,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        let mut rows = Vec::with_capacity(limit);
        let Some(mut bucket) = self.first_bucket(id, range, order, limit).await? else {
            return Ok(Vec::new());
        };
        loop {
            let left = limit - rows.len();
            rows.extend(self.page(id, bucket, Class::Message, range, order, left).await?);
            if rows.len() >= limit {
                break;
            }
            let next = match order {
                MessageOrder::OldestFirst => self.bucket_after(id, bucket, range).await?,
                MessageOrder::NewestFirst => {
                    bucket.checked_sub(1).filter(|next| *next >= buckets::first_with(range.after.next()))
                }
            };
            match next {
                Some(next) => bucket = next,
                None => break,
            }
        }
        rows.into_iter().map(|row| row.into_entry(id)).collect()
    }

    /// Where to begin; `None` when there is nothing to read.
    async fn first_bucket(
        self,
        id: ConversationId,
        range: SeqRange,
        order: MessageOrder,
        limit: usize,
    ) -> Result<Option<u64>, StoreError> {
        if limit == 0 || range.before.get() <= range.after.get().saturating_add(1) {
            return Ok(None);
        }
        match order {
            MessageOrder::OldestFirst => Ok(Some(buckets::first_with(range.after.next()))),
            MessageOrder::NewestFirst => {
                let last = buckets::of_append(Seq::new(range.before.get() - 1));
                // Only the first bucket needs no look at where the log ends.
                if last == 0 { Ok(Some(0)) } else { Ok(Some(last.min(self.newest_bucket(id).await?))) }
            }
        }
    }

    async fn bucket_after(
        self,
        id: ConversationId,
        bucket: u64,
        range: SeqRange,
    ) -> Result<Option<u64>, StoreError> {
        let next = bucket + 1;
        if next > buckets::of_append(Seq::new(range.before.get() - 1)) {
            return Ok(None);
        }
        Ok((next <= self.newest_bucket(id).await?).then_some(next))
    }

    async fn page(
        self,
        id: ConversationId,
        bucket: u64,
        class: Class,
        range: SeqRange,
        order: MessageOrder,
        limit: usize,
    ) -> Result<Vec<LogRow>, StoreError> {
        let statement = match order {
            MessageOrder::OldestFirst => &self.statements.forward,
            MessageOrder::NewestFirst => &self.statements.backward,
        };
        let limit = i32::try_from(limit).unwrap_or(i32::MAX);
        let values = (
            int(id.get()),
            int(bucket),
            class.number(),
            int(range.after.get()),
            int(range.before.get()),
            limit,
        );
        self.cql.rows("read the log", statement, values).await
    }

    /// The bucket where the log ends, or one before it while that is being begun.
    pub(super) async fn newest_bucket(self, id: ConversationId) -> Result<u64, StoreError> {
        let row: Option<(Option<i64>,)> =
            self.cql.row("find the end of a log", &self.statements.newest_bucket, (int(id.get()),)).await?;
        Ok(row.and_then(|(bucket,)| bucket).map_or(0, i64::cast_unsigned))
    }

    pub(super) async fn first_of_bucket(
        self,
        id: ConversationId,
        bucket: u64,
    ) -> Result<Option<(Seq, u64)>, StoreError> {
        let all = SeqRange { after: Seq::ZERO, before: Seq::new(u64::MAX) };
        let first = |class| self.page(id, bucket, class, all, MessageOrder::OldestFirst, 1);
        let (message, other) = try_join(first(Class::Message), first(Class::Other)).await?;
        let first = message.iter().chain(&other).min_by_key(|row| row.seq);
        Ok(first.map(|row| (row.seq(), row.id.cast_unsigned())))
    }

    pub(super) async fn locate(
        self,
        message: MessageId,
    ) -> Result<Option<(ConversationId, Seq)>, StoreError> {
        let row: Option<(i64, i64)> =
            self.cql.row("locate a message", &self.statements.message_id, (int(message.get()),)).await?;
        Ok(row.map(|(id, seq)| (ConversationId::new(id.cast_unsigned()), Seq::new(seq.cast_unsigned()))))
    }

    pub(super) async fn sent_as(
        self,
        id: ConversationId,
        sender: UserId,
        client_id: &ClientId,
    ) -> Result<Option<Seq>, StoreError> {
        let values = (int(id.get()), int(sender.get()), client_id.as_str());
        let row: Option<(i64,)> =
            self.cql.row("look for a client id", &self.statements.client_id, values).await?;
        Ok(row.map(|(seq,)| Seq::new(seq.cast_unsigned())))
    }

    /// Ids rise with seq, and carry the time: first the bucket is found, then a stretch of it, then the entry.
    pub(super) async fn seq_at(self, id: ConversationId, time: Timestamp) -> Result<Seq, StoreError> {
        let first_id = lowest_id_at(time);
        let rows: Vec<(Option<i64>, Option<i64>, Option<i64>)> =
            self.cql.rows("find a time in a log", &self.statements.all_buckets, (int(id.get()),)).await?;
        let mut starts: Vec<(u64, u64, u64)> = rows
            .into_iter()
            .filter_map(|(bucket, seq, id)| Some((bucket?, seq?, id?)))
            .map(|(bucket, seq, id)| (bucket.cast_unsigned(), seq.cast_unsigned(), id.cast_unsigned()))
            .collect();
        starts.sort_unstable();
        // The last bucket that begins before the time has it, or ends before it.
        let after = starts.partition_point(|(_, _, id)| *id < first_id);
        let Some(&(bucket, first_seq, _)) = after.checked_sub(1).and_then(|index| starts.get(index)) else {
            return Ok(Seq::new(1));
        };
        let reach = first_seq + BUCKET_ENTRIES + APPEND_ENTRIES_MAX as u64;
        let stretches: Vec<i64> = (first_seq..reach).step_by(SEARCH_STRIDE as usize).map(int).collect();
        let from = self.last_before(id, bucket, stretches, first_id).await?.unwrap_or(first_seq);
        let stretch: Vec<i64> = (from..from + SEARCH_STRIDE).map(int).collect();
        let last = self.last_before(id, bucket, stretch, first_id).await?.unwrap_or(from);
        Ok(Seq::new(last).next())
    }

    /// Of these entries the last whose id is below.
    async fn last_before(
        self,
        id: ConversationId,
        bucket: u64,
        seqs: Vec<i64>,
        below: u64,
    ) -> Result<Option<u64>, StoreError> {
        let values = (int(id.get()), int(bucket), seqs);
        let rows: Vec<(i64, i64)> =
            self.cql.rows("find a time in a log", &self.statements.ids_of, values).await?;
        let older = rows.into_iter().filter(|(_, id)| id.cast_unsigned() < below);
        Ok(older.map(|(seq, _)| seq.cast_unsigned()).max())
    }
}

fn lowest_id_at(time: Timestamp) -> u64 {
    let ms = time.as_millis().saturating_sub(EPOCH_MS).max(0).cast_unsigned();
    ms.saturating_mul(1 << (NODE_BITS + SEQUENCE_BITS))
}
