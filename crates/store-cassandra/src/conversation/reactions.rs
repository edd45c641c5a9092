//! Reactions, in two tables: by message, for the list of who reacted, and by user, for a user's own reactions
//! on a page.

use std::collections::{BTreeMap, HashMap};

use futures_util::future::{try_join, try_join_all};
use godwit_domain::ports::{StoreError, StoredReaction};
use godwit_domain::projection::ReactionWrite;
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};
use scylla::errors::PrepareError;
use scylla::value::CqlTimestamp;

use crate::cql::{Cql, Read, Write};
use crate::values::{int, row_limit, time};

/// Sequence numbers per partition of a user's own reactions.
const BUCKET_ENTRIES: u64 = 4_096;
/// Reactions in one query by seq. ScyllaDB accepts at most 100.
const ASKED_AT_ONCE_MAX: usize = 100;

#[derive(Debug)]
pub(super) struct Statements {
    put: Write,
    remove: Write,
    put_own: Write,
    remove_own: Write,
    after: Read,
    own: Read,
}

impl Statements {
    pub(super) async fn prepare(cql: &Cql) -> Result<Self, PrepareError> {
        let of_message = "conversation_id = ? AND seq = ?";
        let of_user = "conversation_id = ? AND user_id = ? AND bucket = ?";
        Ok(Self {
            put: cql
                .prepare_write(
                    "INSERT INTO reactions (conversation_id, seq, user_id, reaction, at) VALUES (?, ?, ?, ?, ?) \
                     USING TIMESTAMP ?",
                )
                .await?,
            remove: cql
                .prepare_write(&format!(
                    "DELETE FROM reactions USING TIMESTAMP ? WHERE {of_message} AND user_id = ?"
                ))
                .await?,
            put_own: cql
                .prepare_write(
                    "INSERT INTO own_reactions (conversation_id, user_id, bucket, seq, reaction) \
                     VALUES (?, ?, ?, ?, ?) USING TIMESTAMP ?",
                )
                .await?,
            remove_own: cql
                .prepare_write(&format!(
                    "DELETE FROM own_reactions USING TIMESTAMP ? WHERE {of_user} AND seq = ?"
                ))
                .await?,
            after: cql
                .prepare_read(&format!(
                    "SELECT user_id, reaction, at FROM reactions WHERE {of_message} AND user_id > ? LIMIT ?"
                ))
                .await?,
            own: cql
                .prepare_read(&format!("SELECT seq, reaction FROM own_reactions WHERE {of_user} AND seq IN ?"))
                .await?,
        })
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Reactions<'a> {
    pub(super) cql: &'a Cql,
    pub(super) statements: &'a Statements,
}

impl Reactions<'_> {
    /// `through` is the last entry that this follows from.
    pub(super) async fn write(
        self,
        id: ConversationId,
        write: &ReactionWrite,
        through: Seq,
    ) -> Result<(), StoreError> {
        const OPERATION: &str = "write a reaction";
        let ReactionWrite { seq, user_id, reaction, at } = write;
        let (id, user, through, bucket) =
            (int(id.get()), int(user_id.get()), int(through.get()), int(bucket(*seq)));
        let seq = int(seq.get());
        match reaction.as_deref() {
            Some(reaction) => {
                let by_message = (id, seq, user, reaction, time(*at), through);
                let by_user = (id, user, bucket, seq, reaction, through);
                try_join(
                    self.cql.write(OPERATION, &self.statements.put, by_message),
                    self.cql.write(OPERATION, &self.statements.put_own, by_user),
                )
                .await?;
            }
            None => {
                try_join(
                    self.cql.write(OPERATION, &self.statements.remove, (through, id, seq, user)),
                    self.cql.write(OPERATION, &self.statements.remove_own, (through, id, user, bucket, seq)),
                )
                .await?;
            }
        }
        Ok(())
    }

    pub(crate) async fn after(
        self,
        id: ConversationId,
        seq: Seq,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<StoredReaction>, StoreError> {
        let Some(limit) = row_limit(limit) else { return Ok(Vec::new()) };
        // The lowest id is 0.
        let after = after.map_or(-1, |after| int(after.get()));
        let values = (int(id.get()), int(seq.get()), after, limit);
        let rows: Vec<(i64, String, CqlTimestamp)> =
            self.cql.rows("list reactions", &self.statements.after, values).await?;
        let reaction = |(user, reaction, CqlTimestamp(at)): (i64, String, CqlTimestamp)| StoredReaction {
            user_id: UserId::new(user.cast_unsigned()),
            reaction: reaction.into(),
            at: Timestamp::from_millis(at),
        };
        Ok(rows.into_iter().map(reaction).collect())
    }

    pub(crate) async fn by(
        self,
        id: ConversationId,
        asked: &[(Seq, UserId)],
    ) -> Result<Vec<Option<Box<str>>>, StoreError> {
        let mut by_partition = BTreeMap::<(UserId, u64), Vec<i64>>::new();
        for (seq, user) in asked {
            by_partition.entry((*user, bucket(*seq))).or_default().push(int(seq.get()));
        }
        let queries = by_partition.iter().flat_map(|((user, bucket), seqs)| {
            seqs.chunks(ASKED_AT_ONCE_MAX).map(|seqs| async {
                let values = (int(id.get()), int(user.get()), int(*bucket), seqs.to_vec());
                let rows: Vec<(i64, String)> =
                    self.cql.rows("read reactions", &self.statements.own, values).await?;
                Ok::<_, StoreError>((*user, rows))
            })
        });
        let mut found = HashMap::<(Seq, UserId), Box<str>>::new();
        for (user, rows) in try_join_all(queries).await? {
            found.extend(
                rows.into_iter()
                    .map(|(seq, reaction)| ((Seq::new(seq.cast_unsigned()), user), reaction.into())),
            );
        }
        Ok(asked.iter().map(|key| found.get(key).cloned()).collect())
    }
}

const fn bucket(seq: Seq) -> u64 {
    seq.get() / BUCKET_ENTRIES
}
