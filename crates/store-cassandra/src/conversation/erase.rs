//! Erases the content of entries.
//!
//! The log is written only by conditional batches, so erasing is one too. It is idempotent, and is skipped
//! where no content is left.

use std::collections::BTreeMap;

use godwit_domain::model::LastMessage;
use godwit_domain::ports::StoreError;
use godwit_protocol::{ConversationId, Seq};
use scylla::errors::PrepareError;
use scylla::value::CqlValue;

use super::append::Log;
use super::history::{Found, History};
use super::rows::{Class, erased_body_of};
use crate::cql::{Batch, Conditional, Cql, Outcome, Write, unavailable};
use crate::pause::pause;
use crate::records::{StoredLastMessage, to_json};
use crate::values::{bigint, int, text};

/// Attempts of an erasure. Under heavy contention on one log, Cassandra may answer none of the writes.
const ATTEMPTS_MAX: u32 = 8;
/// Entries of one bucket erased with one compare-and-set.
const ERASED_TOGETHER_MAX: usize = 50;

#[derive(Debug)]
pub(super) struct Statements {
    erase: Conditional,
    erase_too: Write,
    erase_preview: Conditional,
}

impl Statements {
    pub(super) async fn prepare(cql: &Cql) -> Result<Self, PrepareError> {
        let erase =
            "UPDATE log SET body = ? WHERE conversation_id = ? AND bucket = ? AND class = ? AND seq = ?";
        Ok(Self {
            erase: cql.prepare_conditional(&format!("{erase} IF EXISTS")).await?,
            erase_too: cql.prepare_write(erase).await?,
            erase_preview: cql
                .prepare_conditional(
                    "UPDATE log SET head_message = ? WHERE conversation_id = ? AND bucket = ? IF head_seq = ?",
                )
                .await?,
        })
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Erasing<'a> {
    pub(super) cql: &'a Cql,
    pub(super) statements: &'a Statements,
    pub(super) history: History<'a>,
    pub(super) log: Log<'a>,
}

impl Erasing<'_> {
    pub(super) async fn erase(self, id: ConversationId, seqs: &[Seq]) -> Result<(), StoreError> {
        let mut by_bucket = BTreeMap::<u64, Vec<Found>>::new();
        for found in self.history.find(id, seqs).await?.into_values() {
            by_bucket.entry(found.bucket).or_default().push(found);
        }
        for (bucket, found) in by_bucket {
            let left: Vec<(&Found, String)> = found
                .iter()
                .filter_map(|found| Some((found, erased_body_of(&found.item.entry.change)?)))
                .collect();
            for batch in left.chunks(ERASED_TOGETHER_MAX) {
                self.until_answered(|| {
                    self.cql.conditional_batch("erase entries", self.batch(id, bucket, batch))
                })
                .await?;
            }
            self.erase_previews(id, bucket, &found).await?;
        }
        Ok(())
    }

    /// The first statement carries the condition for the whole batch.
    fn batch(self, id: ConversationId, bucket: u64, erased: &[(&Found, String)]) -> Batch {
        let mut batch = Batch::new();
        for (number, (found, body)) in erased.iter().enumerate() {
            let entry = &found.item.entry;
            let class = CqlValue::TinyInt(Class::of(entry).number());
            let values = [text(&**body), bigint(id.get()), bigint(bucket), class, bigint(entry.seq.get())];
            if number == 0 {
                batch.condition(&self.statements.erase, values);
            } else {
                batch.write(&self.statements.erase_too, values);
            }
        }
        batch
    }

    /// Erases the previews of the last message. Every bucket keeps the last message as of its end, and so do
    /// the buckets after it in which none was shown. In the newest bucket the append of the deletion has
    /// already replaced the preview; in full buckets it stays until it is erased here.
    async fn erase_previews(
        self,
        id: ConversationId,
        bucket: u64,
        found: &[Found],
    ) -> Result<(), StoreError> {
        let is_erased = |seq: Seq| found.iter().any(|found| found.item.entry.seq == seq);
        let mut bucket = bucket;
        while let Some(head) = self.log.head_of_bucket(id, bucket).await? {
            let Some(last) = head.last_message.filter(|last| is_erased(last.seq)) else { break };
            if !last.gone {
                let erased = LastMessage { gone: true, preview: Box::default(), ..last };
                let erased = to_json(&StoredLastMessage::from(&erased));
                let values = (erased, int(id.get()), int(bucket), int(head.seq.get()));
                self.until_answered(|| {
                    self.cql.conditional("erase a preview", &self.statements.erase_preview, &values)
                })
                .await?;
            }
            bucket += 1;
        }
        Ok(())
    }

    /// Repeats a write whose outcome is unknown. A failed condition means that there is nothing left to erase.
    async fn until_answered<F>(self, write: impl Fn() -> F) -> Result<(), StoreError>
    where
        F: Future<Output = Outcome>,
    {
        let mut unknown = None;
        for attempt in 0..ATTEMPTS_MAX {
            pause(attempt).await;
            match write().await {
                Outcome::Applied | Outcome::NotApplied => return Ok(()),
                Outcome::Unknown(error) => unknown = Some(error),
            }
        }
        Err(unknown.unwrap_or_else(|| unavailable("erase entries", "the cluster did not answer")))
    }
}
