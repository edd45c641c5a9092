//! The append: the one write of a conversation that needs agreement.

use godwit_domain::model::{Change, Entry, Head};
use godwit_domain::ports::{Append, StoreError};
use godwit_protocol::{ConversationId, Seq};
use scylla::errors::PrepareError;
use scylla::value::CqlValue;

use super::buckets::{self, APPEND_ENTRIES_MAX, BucketStart};
use super::rows::{Class, body_of};
use crate::cql::{Batch, Conditional, Cql, Outcome, SerialRead, Write};
use crate::pause::pause;
use crate::records::{StoredLastMessage, from_json, to_json};
use crate::values::{bigint, int, text};

/// Attempts of an append that is not answered. Under heavy contention on one log, Cassandra may answer none of
/// the appends.
pub(super) const UNANSWERED_ATTEMPTS_MAX: u32 = 8;

#[derive(Debug)]
pub(super) struct Statements {
    /// For a bucket that has entries.
    move_head: Conditional,
    /// For an empty bucket.
    first_head: Conditional,
    head_message: Write,
    insert_message: Write,
    insert_other: Write,
    read_head: SerialRead,
    read_id: SerialRead,
    /// The faults that the next appends suffer.
    #[cfg(test)]
    pub(super) faults: crate::test_faults::Faults,
}

impl Statements {
    pub(super) async fn prepare(cql: &Cql) -> Result<Self, PrepareError> {
        let of_bucket = "WHERE conversation_id = ? AND bucket = ?";
        let set_head =
            format!("UPDATE log SET head_seq = ?, head_id = ?, head_ordinal = ? {of_bucket} IF head_seq =");
        Ok(Self {
            move_head: cql.prepare_conditional(&format!("{set_head} ?")).await?,
            first_head: cql.prepare_conditional(&format!("{set_head} null")).await?,
            head_message: cql.prepare_write(&format!("UPDATE log SET head_message = ? {of_bucket}")).await?,
            insert_message: cql
                .prepare_write(
                    "INSERT INTO log (conversation_id, bucket, class, seq, id, ordinal, body, sender_id, client_id) \
                     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                )
                .await?,
            insert_other: cql
                .prepare_write(
                    "INSERT INTO log (conversation_id, bucket, class, seq, id, ordinal, body) \
                     VALUES (?, ?, ?, ?, ?, ?, ?)",
                )
                .await?,
            read_head: cql
                .prepare_serial_read(&format!(
                    "SELECT head_seq, head_id, head_ordinal, head_message FROM log {of_bucket} LIMIT 1"
                ))
                .await?,
            read_id: cql
                .prepare_serial_read(&format!("SELECT id FROM log {of_bucket} AND class = ? AND seq = ?"))
                .await?,
            #[cfg(test)]
            faults: crate::test_faults::Faults::default(),
        })
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Log<'a> {
    pub(super) cql: &'a Cql,
    pub(super) statements: &'a Statements,
}

/// Entries to append to a log.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewEntries<'a> {
    pub(super) conversation: ConversationId,
    pub(super) expected_head: Seq,
    pub(super) entries: &'a [Entry],
    /// The head of the log after the append.
    pub(super) head: &'a Head,
}

impl<'a> From<&'a Append> for NewEntries<'a> {
    fn from(append: &'a Append) -> Self {
        let Append { conversation, expected_head, entries, effects } = append;
        Self { conversation: *conversation, expected_head: *expected_head, entries, head: &effects.head }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Appended {
    No,
    Yes,
    /// Appended as the first entries of a bucket that is not in `log_buckets` yet.
    AsFirstOf(BucketStart),
}

/// The condition of an append.
#[derive(Debug, Clone, Copy)]
enum Bucket {
    IsEmpty,
    EndsAtHead,
}

impl Log<'_> {
    /// Appends the entries. The result is final: if they are not in the log now, they never will be.
    ///
    /// The expected head determines the bucket that the next append goes to, so a condition on that bucket
    /// suffices: it ends at the head or, if the head is in the bucket before, it is empty.
    pub(super) async fn append(self, new: NewEntries<'_>) -> Result<Appended, StoreError> {
        assert!(
            (1..=APPEND_ENTRIES_MAX).contains(&new.entries.len()),
            "an append has 1 to {APPEND_ENTRIES_MAX} entries"
        );
        let (head, bucket) = (new.expected_head, buckets::of_append(new.entries[0].seq));
        if head == Seq::ZERO || buckets::of_append(head) < bucket {
            return self.append_if(new, Bucket::IsEmpty).await;
        }
        if self.append_if(new, Bucket::EndsAtHead).await? == Appended::Yes {
            return Ok(Appended::Yes);
        }
        // The head may belong to an append that began in the bucket before and reached into the sequence
        // numbers of this one.
        let is_empty = buckets::first_with(head) < bucket
            && self.head_of_bucket(new.conversation, bucket).await?.is_none();
        if is_empty { self.append_if(new, Bucket::IsEmpty).await } else { Ok(Appended::No) }
    }

    /// Repeats an append whose outcome is unknown and that is not in the log, until it succeeds or another
    /// append is in its place.
    async fn append_if(self, new: NewEntries<'_>, condition: Bucket) -> Result<Appended, StoreError> {
        let (first, bucket) = (&new.entries[0], buckets::of_append(new.entries[0].seq));
        let appended = match condition {
            Bucket::EndsAtHead => Appended::Yes,
            Bucket::IsEmpty => Appended::AsFirstOf(BucketStart::new(bucket, first)),
        };
        let mut attempt = 0;
        loop {
            attempt += 1;
            match self.compare_and_set(new, condition).await {
                Outcome::Applied => return Ok(appended),
                Outcome::NotApplied if attempt == 1 => return Ok(Appended::No),
                // The condition may have failed because an earlier attempt of the same append arrived late.
                Outcome::NotApplied => {
                    let is_there = self.is_appended(new.conversation, bucket, first).await?;
                    return Ok(if is_there { appended } else { Appended::No });
                }
                Outcome::Unknown(error) => {
                    tracing::debug!(conversation = %new.conversation, %error, "reading back an append");
                    if self.is_appended(new.conversation, bucket, first).await? {
                        return Ok(appended);
                    }
                    if attempt == UNANSWERED_ATTEMPTS_MAX {
                        return Err(error);
                    }
                    pause(attempt).await;
                }
            }
        }
    }

    async fn compare_and_set(self, new: NewEntries<'_>, condition: Bucket) -> Outcome {
        let send = || self.cql.conditional_batch("append to a log", self.batch(new, condition));
        #[cfg(test)]
        let send = || self.statements.faults.strike(send);
        send().await
    }

    fn batch(self, new: NewEntries<'_>, condition: Bucket) -> Batch {
        let NewEntries { conversation, expected_head, entries, head } = new;
        let bucket = buckets::of_append(entries[0].seq);
        let partition = || [bigint(conversation.get()), bigint(bucket)];
        let mut batch = Batch::new();
        let mut values = vec![bigint(head.seq.get()), bigint(head.id), bigint(head.ordinal)];
        values.extend(partition());
        match condition {
            Bucket::IsEmpty => batch.condition(&self.statements.first_head, values),
            Bucket::EndsAtHead => {
                values.push(bigint(expected_head.get()));
                batch.condition(&self.statements.move_head, values);
            }
        }
        if let Some(last) = &head.last_message {
            let [id, bucket] = partition();
            let last = text(to_json(&StoredLastMessage::from(last)));
            batch.write(&self.statements.head_message, [last, id, bucket]);
        }
        for entry in entries {
            self.insert(&mut batch, partition(), entry);
        }
        batch
    }

    fn insert(self, batch: &mut Batch, [id, bucket]: [CqlValue; 2], entry: &Entry) {
        let class = CqlValue::TinyInt(Class::of(entry).number());
        let mut values = vec![id, bucket, class];
        values.extend([entry.seq.get(), entry.id, entry.ordinal].map(bigint));
        values.push(text(body_of(&entry.change)));
        match &entry.change {
            Change::Message(message) => {
                values.extend([bigint(message.sender_id.get()), text(message.client_id.as_str())]);
                batch.write(&self.statements.insert_message, values);
            }
            _ => batch.write(&self.statements.insert_other, values),
        }
    }

    /// Entry ids are unique: either the entry with this id is at its seq, or another entry is or will be.
    async fn is_appended(
        self,
        conversation: ConversationId,
        bucket: u64,
        entry: &Entry,
    ) -> Result<bool, StoreError> {
        let values = (int(conversation.get()), int(bucket), Class::of(entry).number(), int(entry.seq.get()));
        let found: Option<(i64,)> =
            self.cql.serial_row("read back an append", &self.statements.read_id, values).await?;
        Ok(found == Some((int(entry.id),)))
    }

    /// The head of the log, after every append begun before this read, and its bucket. `bucket` is the last
    /// bucket known. `None` when there is no log.
    pub(super) async fn head(
        self,
        id: ConversationId,
        bucket: u64,
    ) -> Result<Option<(Head, u64)>, StoreError> {
        let mut newest = None;
        let mut bucket = bucket;
        while let Some(head) = self.head_of_bucket(id, bucket).await? {
            let next = buckets::of_append(head.seq.next());
            newest = Some((head, bucket));
            if next == bucket {
                break;
            }
            bucket = next;
        }
        Ok(newest)
    }

    pub(super) async fn head_of_bucket(
        self,
        id: ConversationId,
        bucket: u64,
    ) -> Result<Option<Head>, StoreError> {
        type Row = (Option<i64>, Option<i64>, Option<i64>, Option<String>);
        let values = (int(id.get()), int(bucket));
        let row: Option<Row> =
            self.cql.serial_row("read the head of a log", &self.statements.read_head, values).await?;
        let Some((Some(seq), Some(head_id), Some(ordinal), last)) = row else { return Ok(None) };
        let last = last.map(|text| {
            from_json::<StoredLastMessage>("log", || format!("{id}/{bucket}/head"), &text).map(Into::into)
        });
        Ok(Some(Head {
            seq: Seq::new(seq.cast_unsigned()),
            id: head_id.cast_unsigned(),
            ordinal: ordinal.cast_unsigned(),
            last_message: last.transpose()?,
        }))
    }
}
