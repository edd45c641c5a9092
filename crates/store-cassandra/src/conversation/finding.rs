//! Finds entries by message id, by the sender's client id, and by time. The indexes of the first two are part
//! of the projection.

use futures_util::future::try_join_all;
use godwit_domain::model::{ClientId, Entry};
use godwit_domain::ports::StoreError;
use godwit_protocol::ids::{EPOCH_MS, NODE_BITS, SEQUENCE_BITS};
use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp, UserId};
use scylla::errors::PrepareError;

use super::buckets::{APPEND_ENTRIES_MAX, BUCKET_ENTRIES};
use super::rows::Class;
use crate::cql::{Cql, Read, Write};
use crate::values::int;

/// A search by time first samples every 64th entry, and then reads the entries between two samples.
const SEARCH_STRIDE: u64 = 64;

#[derive(Debug)]
pub(super) struct Statements {
    all_buckets: Read,
    ids_of: Read,
    client_id: Read,
    message_id: Read,
    index_client_id: Write,
    index_message_id: Write,
}

impl Statements {
    pub(super) async fn prepare(cql: &Cql) -> Result<Self, PrepareError> {
        Ok(Self {
            all_buckets: cql
                .prepare_read("SELECT bucket, first_seq, first_id FROM log_buckets WHERE conversation_id = ?")
                .await?,
            ids_of: cql
                .prepare_read(
                    "SELECT seq, id FROM log WHERE conversation_id = ? AND bucket = ? AND class = ? AND seq IN ?",
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
            index_client_id: cql
                .prepare_write(
                    "INSERT INTO client_ids (conversation_id, sender_id, client_id, seq) VALUES (?, ?, ?, ?)",
                )
                .await?,
            index_message_id: cql
                .prepare_write("INSERT INTO message_ids (message_id, conversation_id, seq) VALUES (?, ?, ?)")
                .await?,
        })
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Finding<'a> {
    pub(super) cql: &'a Cql,
    pub(super) statements: &'a Statements,
}

impl Finding<'_> {
    /// Indexes the id of an entry that is shown.
    pub(super) async fn index_id(self, id: ConversationId, entry: &Entry) -> Result<(), StoreError> {
        if !entry.shown {
            return Ok(());
        }
        let values = (int(entry.id), int(id.get()), int(entry.seq.get()));
        self.cql.write("index a message", &self.statements.index_message_id, values).await
    }

    /// Indexes the client id of a message.
    pub(super) async fn index_client_id(self, id: ConversationId, entry: &Entry) -> Result<(), StoreError> {
        let Some(message) = entry.message() else { return Ok(()) };
        let (sender, seq) = (int(message.sender_id.get()), int(entry.seq.get()));
        let values = (int(id.get()), sender, message.client_id.as_str(), seq);
        self.cql.write("index a client id", &self.statements.index_client_id, values).await
    }

    pub(crate) async fn locate(
        self,
        message: MessageId,
    ) -> Result<Option<(ConversationId, Seq)>, StoreError> {
        let row: Option<(i64, i64)> =
            self.cql.row("locate a message", &self.statements.message_id, (int(message.get()),)).await?;
        Ok(row.map(|(id, seq)| (ConversationId::new(id.cast_unsigned()), Seq::new(seq.cast_unsigned()))))
    }

    pub(crate) async fn sent_as(
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

    /// Entry ids grow with the seq and contain the time. So the search finds the bucket, then a stretch of 64
    /// entries, then the entry.
    pub(crate) async fn seq_at(self, id: ConversationId, time: Timestamp) -> Result<Seq, StoreError> {
        let first_id = lowest_id_at(time);
        let rows: Vec<(Option<i64>, Option<i64>, Option<i64>)> =
            self.cql.rows("find a time in a log", &self.statements.all_buckets, (int(id.get()),)).await?;
        let mut starts: Vec<(u64, u64, u64)> = rows
            .into_iter()
            .filter_map(|(bucket, seq, id)| Some((bucket?, seq?, id?)))
            .map(|(bucket, seq, id)| (bucket.cast_unsigned(), seq.cast_unsigned(), id.cast_unsigned()))
            .collect();
        starts.sort_unstable();
        // The last bucket that begins before the time contains the entry, or ends before it.
        let after = starts.partition_point(|(_, _, id)| *id < first_id);
        let Some(&(bucket, first_seq, _)) = after.checked_sub(1).and_then(|index| starts.get(index)) else {
            return Ok(Seq::new(1));
        };
        let reach = first_seq + BUCKET_ENTRIES + APPEND_ENTRIES_MAX as u64;
        let stretches: Vec<i64> = (first_seq..reach).step_by(SEARCH_STRIDE as usize).map(int).collect();
        let from = self.last_before(id, bucket, &stretches, first_id).await?.unwrap_or(first_seq);
        let stretch: Vec<i64> = (from..from + SEARCH_STRIDE).map(int).collect();
        let last = self.last_before(id, bucket, &stretch, first_id).await?.unwrap_or(from);
        Ok(Seq::new(last).next())
    }

    /// The last of these entries with an id below `below`. The caller passes no more entries than one query
    /// accepts.
    async fn last_before(
        self,
        id: ConversationId,
        bucket: u64,
        seqs: &[i64],
        below: u64,
    ) -> Result<Option<u64>, StoreError> {
        let of_class = Class::ALL.map(|class| {
            let values = (int(id.get()), int(bucket), class.number(), seqs.to_vec());
            self.cql.rows::<(i64, i64)>("find a time in a log", &self.statements.ids_of, values)
        });
        let rows = try_join_all(of_class).await?.into_iter().flatten();
        let older = rows.filter(|(_, id)| id.cast_unsigned() < below);
        Ok(older.map(|(seq, _)| seq.cast_unsigned()).max())
    }
}

fn lowest_id_at(time: Timestamp) -> u64 {
    let ms = time.as_millis().saturating_sub(EPOCH_MS).max(0).cast_unsigned();
    ms.saturating_mul(1 << (NODE_BITS + SEQUENCE_BITS))
}
