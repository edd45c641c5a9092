//! Marks: the parts that have changed since they were copied.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use futures_util::future::try_join_all;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use godwit_domain::model::ClientId;
use godwit_domain::ports::{Part, StoreError};
use godwit_protocol::{ConversationId, UserId};
use scylla::errors::PrepareError;
use scylla::value::CqlValue;

use crate::cql::{Batch, Cql, Read, Write};
use crate::records::corrupt;
use crate::values::{bigint, int, row_limit, text};

const SHARDS: u64 = 16;
/// Marks per batch.
const WRITTEN_TOGETHER_MAX: usize = 256;
/// Partitions written concurrently.
const WRITES_AT_ONCE_MAX: usize = 32;

#[derive(Debug)]
pub(super) struct Marks {
    cql: Arc<Cql>,
    put: Write,
    remove: Write,
    remove_all: Write,
    read: Read,
}

/// The row of a part.
type Row = (i8, i64, i64, String);

impl Marks {
    pub(super) async fn new(cql: Arc<Cql>) -> Result<Self, PrepareError> {
        let of_shard = "WHERE round = ? AND shard = ?";
        Ok(Self {
            put: cql
                .prepare_write(
                    "INSERT INTO changed_parts (round, shard, kind, owner, item, key) VALUES (?, ?, ?, ?, ?, ?)",
                )
                .await?,
            remove: cql
                .prepare_write(&format!(
                    "DELETE FROM changed_parts {of_shard} AND kind = ? AND owner = ? AND item = ? AND key = ?"
                ))
                .await?,
            remove_all: cql.prepare_write(&format!("DELETE FROM changed_parts {of_shard}")).await?,
            read: cql
                .prepare_read(&format!("SELECT kind, owner, item, key FROM changed_parts {of_shard} LIMIT ?"))
                .await?,
            cql,
        })
    }

    pub(super) async fn put(&self, round: u64, parts: &[Part]) -> Result<(), StoreError> {
        self.write("mark changed parts", &self.put, round..round + 1, parts).await
    }

    pub(super) async fn remove(&self, rounds: Range<u64>, parts: &[Part]) -> Result<(), StoreError> {
        self.write("remove marks of copied parts", &self.remove, rounds, parts).await
    }

    async fn write(
        &self,
        operation: &'static str,
        statement: &Write,
        rounds: Range<u64>,
        parts: &[Part],
    ) -> Result<(), StoreError> {
        let mut by_shard = HashMap::<i8, Vec<Row>>::new();
        for part in parts {
            let row = row_of(part);
            by_shard.entry(shard_of(&row)).or_default().push(row);
        }
        let mut writes = Vec::new();
        for round in rounds {
            for (shard, rows) in &by_shard {
                for rows in rows.chunks(WRITTEN_TOGETHER_MAX) {
                    let mut batch = Batch::new();
                    for (kind, owner, item, key) in rows {
                        let partition = [bigint(round), CqlValue::TinyInt(*shard)];
                        let ids = [CqlValue::BigInt(*owner), CqlValue::BigInt(*item)];
                        let row = [[CqlValue::TinyInt(*kind)].as_slice(), &ids, &[text(key)]].concat();
                        batch.write(statement, [partition.as_slice(), &row].concat());
                    }
                    writes.push(self.cql.write_batch(operation, batch));
                }
            }
        }
        stream::iter(writes).buffer_unordered(WRITES_AT_ONCE_MAX).try_collect().await
    }

    /// Removes all marks of these rounds.
    pub(super) async fn forget(&self, rounds: Range<u64>) -> Result<(), StoreError> {
        let partitions = rounds.flat_map(|round| (0..SHARDS).map(move |shard| (int(round), shard as i8)));
        let removals = partitions
            .map(|values| self.cql.write("remove the marks of a transfer", &self.remove_all, values));
        stream::iter(removals).buffer_unordered(WRITES_AT_ONCE_MAX).try_collect().await
    }

    /// Up to `limit` parts marked in these rounds, and the first round that has any.
    pub(super) async fn within(
        &self,
        rounds: Range<u64>,
        limit: usize,
    ) -> Result<(BTreeSet<Part>, Option<u64>), StoreError> {
        let (mut parts, mut first) = (BTreeSet::new(), None);
        for round in rounds {
            if parts.len() >= limit {
                break;
            }
            let found = self.of_round(round, limit).await?;
            if !found.is_empty() {
                first = first.or(Some(round));
            }
            parts.extend(found);
        }
        while parts.len() > limit {
            parts.pop_last();
        }
        Ok((parts, first))
    }

    pub(super) async fn are_any(&self, round: u64) -> Result<bool, StoreError> {
        Ok(!self.of_round(round, 1).await?.is_empty())
    }

    /// Up to `limit` parts of each shard.
    async fn of_round(&self, round: u64, limit: usize) -> Result<Vec<Part>, StoreError> {
        let Some(limit) = row_limit(limit) else { return Ok(Vec::new()) };
        let shards = (0..SHARDS).map(|shard| {
            let values = (int(round), shard as i8, limit);
            self.cql.rows::<Row>("read marks of changed parts", &self.read, values)
        });
        try_join_all(shards).await?.into_iter().flatten().map(part_of).collect()
    }
}

const CONVERSATION: i8 = 0;
const CREATION: i8 = 1;
const MEMBERSHIP: i8 = 2;
const ACCOUNT: i8 = 3;

fn row_of(part: &Part) -> Row {
    match part {
        Part::Conversation(id) => (CONVERSATION, int(id.get()), 0, String::new()),
        Part::Creation(by, key) => (CREATION, int(by.get()), 0, key.as_str().to_owned()),
        Part::Membership(user, id) => (MEMBERSHIP, int(user.get()), int(id.get()), String::new()),
        Part::Account(user) => (ACCOUNT, int(user.get()), 0, String::new()),
    }
}

fn part_of((kind, owner, item, key): Row) -> Result<Part, StoreError> {
    let user = UserId::new(owner.cast_unsigned());
    match kind {
        CONVERSATION => Ok(Part::Conversation(ConversationId::new(owner.cast_unsigned()))),
        CREATION => Ok(Part::Creation(user, ClientId::from_stored(key))),
        MEMBERSHIP => Ok(Part::Membership(user, ConversationId::new(item.cast_unsigned()))),
        ACCOUNT => Ok(Part::Account(user)),
        _ => Err(corrupt("changed_parts", format!("{kind}, {owner}, {item}"), "an unknown kind")),
    }
}

/// Ids differ least in their lowest bits, so the bits are mixed.
const fn shard_of((_, owner, item, _): &Row) -> i8 {
    let mixed = owner.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ item.cast_unsigned().wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    ((mixed >> 32) % SHARDS) as i8
}
