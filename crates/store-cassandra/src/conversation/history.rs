//! Reads the log, together with the states of its messages.

use std::collections::{BTreeMap, HashMap};

use futures_util::future::{try_join, try_join_all, try_join3};
use godwit_domain::model::{Entry, LogItem};
use godwit_domain::ports::{HistoryEnd, SeqRange, StoreError};
use godwit_protocol::{ConversationId, Seq};
use scylla::errors::PrepareError;

use super::buckets;
use super::message_states::{FoundStates, States};
use super::rows::{Class, LOG_COLUMNS, LogRow};
use crate::cql::{Cql, Read};
use crate::values::int;

/// How often a page is read again that other nodes appended to while it was read.
const TORN_READS_MAX: usize = 8;
/// Entries in one query by seq. ScyllaDB accepts at most 100.
const ASKED_AT_ONCE_MAX: usize = 100;

#[derive(Debug)]
pub(super) struct Statements {
    forward: Read,
    backward: Read,
    of: Read,
    newest_bucket: Read,
}

impl Statements {
    pub(super) async fn prepare(cql: &Cql) -> Result<Self, PrepareError> {
        let of_class =
            format!("SELECT {LOG_COLUMNS} FROM log WHERE conversation_id = ? AND bucket = ? AND class = ?");
        Ok(Self {
            forward: cql.prepare_read(&format!("{of_class} AND seq > ? AND seq < ? LIMIT ?")).await?,
            backward: cql
                .prepare_read(&format!(
                    "{of_class} AND seq > ? AND seq < ? ORDER BY class DESC, seq DESC LIMIT ?"
                ))
                .await?,
            of: cql.prepare_read(&format!("{of_class} AND seq IN ?")).await?,
            newest_bucket: cql
                .prepare_read("SELECT bucket FROM log_buckets WHERE conversation_id = ? LIMIT 1")
                .await?,
        })
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct History<'a> {
    pub(super) cql: &'a Cql,
    pub(super) statements: &'a Statements,
    pub(super) states: States<'a>,
}

/// An entry, and the bucket that contains it.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) bucket: u64,
    pub(super) item: LogItem,
}

impl History<'_> {
    /// The next entries of both classes. Two queries read them, and other nodes may append in between, so only
    /// entries without a gap are consistent.
    pub(crate) async fn entries(
        self,
        id: ConversationId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<LogItem>, StoreError> {
        let before = Seq::new(after.get().saturating_add(limit as u64).saturating_add(1));
        let mut rows = Vec::<LogRow>::with_capacity(limit);
        let mut states = FoundStates::new();
        let mut bucket = buckets::first_with(after.next());
        let mut torn = 0;
        while rows.len() < limit {
            let last = rows.last().map_or(after, LogRow::seq);
            let range = SeqRange { after: last, before };
            let (shown, others, of_messages) = try_join3(
                self.rows(id, bucket, Class::Shown, range, HistoryEnd::Oldest, limit),
                self.rows(id, bucket, Class::Other, range, HistoryEnd::Oldest, limit),
                self.states.page(id, bucket, range, HistoryEnd::Oldest, limit),
            )
            .await?;
            states.extend(of_messages);
            let read: BTreeMap<i64, LogRow> =
                shown.into_iter().chain(others).map(|row| (row.seq, row)).collect();
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
        items(id, rows, states)
    }

    pub(crate) async fn history(
        self,
        id: ConversationId,
        range: SeqRange,
        end: HistoryEnd,
        limit: usize,
    ) -> Result<Vec<LogItem>, StoreError> {
        let (mut rows, mut states) = (Vec::with_capacity(limit), FoundStates::new());
        let Some(mut bucket) = self.first_bucket(id, range, end, limit).await? else {
            return Ok(Vec::new());
        };
        loop {
            let left = limit - rows.len();
            let (shown, of_messages) = try_join(
                self.rows(id, bucket, Class::Shown, range, end, left),
                self.states.page(id, bucket, range, end, left),
            )
            .await?;
            rows.extend(shown);
            states.extend(of_messages);
            if rows.len() >= limit {
                break;
            }
            let next = match end {
                HistoryEnd::Oldest => self.bucket_after(id, bucket, range).await?,
                HistoryEnd::Newest => {
                    bucket.checked_sub(1).filter(|next| *next >= buckets::first_with(range.after.next()))
                }
            };
            match next {
                Some(next) => bucket = next,
                None => break,
            }
        }
        if end == HistoryEnd::Newest {
            rows.reverse();
        }
        items(id, rows, states)
    }

    pub(crate) async fn items(
        self,
        id: ConversationId,
        seqs: &[Seq],
    ) -> Result<Vec<Option<LogItem>>, StoreError> {
        let found = self.find(id, seqs).await?;
        Ok(seqs.iter().map(|seq| found.get(seq).map(|found| found.item.clone())).collect())
    }

    pub(super) async fn entry(self, id: ConversationId, seq: Seq) -> Result<Option<Entry>, StoreError> {
        Ok(self.find(id, &[seq]).await?.remove(&seq).map(|found| found.item.entry))
    }

    /// Reads single entries, each from its bucket.
    pub(super) async fn find(
        self,
        id: ConversationId,
        seqs: &[Seq],
    ) -> Result<HashMap<Seq, Found>, StoreError> {
        let mut by_bucket = BTreeMap::<u64, Vec<i64>>::new();
        for seq in seqs {
            for bucket in buckets::first_with(*seq)..=buckets::of_append(*seq) {
                by_bucket.entry(bucket).or_default().push(int(seq.get()));
            }
        }
        let asked = by_bucket.iter().flat_map(|(bucket, seqs)| {
            seqs.chunks(ASKED_AT_ONCE_MAX).map(|seqs| self.find_in(id, *bucket, seqs))
        });
        let found = try_join_all(asked).await?;
        Ok(found.into_iter().flatten().map(|found| (found.item.entry.seq, found)).collect())
    }

    async fn find_in(self, id: ConversationId, bucket: u64, seqs: &[i64]) -> Result<Vec<Found>, StoreError> {
        let of_class = |class: Class| {
            let values = (int(id.get()), int(bucket), class.number(), seqs.to_vec());
            self.cql.rows::<LogRow>("read entries", &self.statements.of, values)
        };
        let (shown, others, states) = try_join3(
            of_class(Class::Shown),
            of_class(Class::Other),
            self.states.of(id, bucket, seqs.to_vec()),
        )
        .await?;
        let items = items(id, shown.into_iter().chain(others), states)?;
        Ok(items.into_iter().map(|item| Found { bucket, item }).collect())
    }

    /// The bucket where reading begins. `None` when there is nothing to read.
    async fn first_bucket(
        self,
        id: ConversationId,
        range: SeqRange,
        end: HistoryEnd,
        limit: usize,
    ) -> Result<Option<u64>, StoreError> {
        if limit == 0 || range.before.get() <= range.after.get().saturating_add(1) {
            return Ok(None);
        }
        match end {
            HistoryEnd::Oldest => Ok(Some(buckets::first_with(range.after.next()))),
            HistoryEnd::Newest => {
                let last = buckets::of_append(Seq::new(range.before.get() - 1));
                // If the range ends in bucket 0, the end of the log does not matter.
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

    async fn rows(
        self,
        id: ConversationId,
        bucket: u64,
        class: Class,
        range: SeqRange,
        end: HistoryEnd,
        limit: usize,
    ) -> Result<Vec<LogRow>, StoreError> {
        let statement = match end {
            HistoryEnd::Oldest => &self.statements.forward,
            HistoryEnd::Newest => &self.statements.backward,
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

    /// The bucket where the log ends, or the one before it if the new bucket is not in `log_buckets` yet.
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
        let first = |class| self.rows(id, bucket, class, all, HistoryEnd::Oldest, 1);
        let (shown, other) = try_join(first(Class::Shown), first(Class::Other)).await?;
        let first = shown.iter().chain(&other).min_by_key(|row| row.seq);
        Ok(first.map(|row| (row.seq(), row.id.cast_unsigned())))
    }
}

fn items(
    id: ConversationId,
    rows: impl IntoIterator<Item = LogRow>,
    mut states: FoundStates,
) -> Result<Vec<LogItem>, StoreError> {
    let item = |row: LogRow| {
        let state = states.remove(&row.seq()).unwrap_or_default();
        Ok(LogItem { entry: row.into_entry(id)?, state: state.into() })
    };
    rows.into_iter().map(item).collect()
}
