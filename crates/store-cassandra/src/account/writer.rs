//! The one way to change an account: an optimistic transaction on its partition.
//!
//! ```text
//! waiting operations of one account (queue)
//!        │ at most one task of this process works on an account
//!        ▼
//! read the rows that the operations want ──▶ snapshot at revision r  ◀───────┐
//!        ▼                                                                   │
//! run the operations, one after the other, on a Txn ── unread row: read it ──┤
//!        ▼                                                                   │
//! write rows outside the account that must be durable first (`before`), new  │
//! search words (`People::add`), the mark for a transfer (`Gate::change`)     │
//!        ▼                                                                   │
//! conditional batch: IF revision = r: rows, revision r + 1, writer row       │
//!        ├── applied      ─▶ answer every caller; remove old search words    │
//!        ├── not applied  ─▶ another process was faster: start again ────────┘
//!        └── no answer    ─▶ serial read of the writer row of revision r + 1:
//!                            this writer ─▶ applied      another writer ─▶ not applied
//!                            no writer   ─▶ send the batch again
//! ```
//!
//! Each batch writes a random `writer` name into the row of its revision, which settles the outcome of a batch whose answer was
//! lost. The rows are reused after [`WRITERS_KNOWN`](super::rows::WRITERS_KNOWN) revisions. If a later revision has overwritten
//! the row, the outcome stays unknown, and the callers get that as an error.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{try_join_all, try_join3};
use godwit_domain::ports::{Part, StoreError};
use godwit_protocol::UserId;
use scylla::value::CqlValue;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::people::{People, Reindexed};
use super::queue::{Before, Gone, Operation, Queues, Turn, Waiting};
use super::rows::{Key, Present, WriterBody};
use super::snapshot::{Snapshot, Want};
use super::statements::Statements;
use super::txn::{Changes, Stop, Txn, decode, encode};
use crate::cql::{Batch, Cql, Outcome, unavailable};
use crate::pause::{leave_room, pause};
use crate::transfer::{Gate, UnderWay};
use crate::values::{bigint, int, text};

/// Attempts while other processes change the same account.
const ATTEMPTS_MAX: u32 = 40;
/// Attempts of a batch whose outcome is unknown.
const UNKNOWN_ATTEMPTS_MAX: u32 = 3;
/// Maximum rows of a snapshot that is kept for the next batch of operations. A larger one is dropped.
const KNOWN_ROWS_MAX: usize = 1_024;

pub(super) struct Written {
    reindexed: Reindexed,
    /// The duration of the successful attempt.
    took: Duration,
}

/// The result of one attempt.
enum Attempt {
    Written(Reindexed),
    NothingToWrite,
    /// Another process changed the account.
    Beaten,
}

/// The outcome of a batch whose answer was lost.
enum Fate {
    Written,
    /// Another batch has written the revision, so this one can never apply.
    Beaten,
    /// No batch has written the revision yet.
    Pending,
    /// A later revision has overwritten the row with the writer.
    Forgotten,
}

#[derive(Debug)]
pub(super) struct Writer {
    cql: Arc<Cql>,
    statements: Arc<Statements>,
    people: Arc<People>,
    gate: Arc<Gate>,
    queues: Arc<Queues>,
    #[cfg(test)]
    pub(super) faults: crate::test_faults::Faults,
}

impl Writer {
    pub(super) fn new(
        cql: Arc<Cql>,
        statements: Arc<Statements>,
        people: Arc<People>,
        gate: Arc<Gate>,
    ) -> Self {
        Self {
            cql,
            statements,
            people,
            gate,
            queues: Arc::default(),
            #[cfg(test)]
            faults: crate::test_faults::Faults::default(),
        }
    }

    /// Runs an operation on an account, in one batch with other waiting operations. The operation may run several times, and
    /// reads and changes the account only through the [`Txn`]. A failed operation has written nothing. The operation runs even
    /// if the caller gives up.
    pub(super) async fn write<T, F>(
        self: &Arc<Self>,
        operation: &'static str,
        user: UserId,
        wants: impl Into<Vec<Want>>,
        run: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&mut Txn<'_>) -> Result<T, Stop> + Send + 'static,
    {
        self.write_after(operation, user, wants, None, run).await
    }

    /// Like [`write`](Self::write). If the operation changes anything, `before` runs before the changes are written, with the
    /// revision that they will have. It runs again for every attempt.
    pub(super) async fn write_after<T, F>(
        self: &Arc<Self>,
        operation: &'static str,
        user: UserId,
        wants: impl Into<Vec<Want>>,
        before: Option<Before<T>>,
        run: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&mut Txn<'_>) -> Result<T, Stop> + Send + 'static,
    {
        let (caller, answer) = oneshot::channel();
        let wants = wants.into();
        let waiting = Waiting { operation, wants, run, before, result: None, changes: false, caller };
        let turn = self.queues.join(user, Box::new(waiting));
        if let Some(turn) = turn.map_err(|full| unavailable(operation, full))? {
            // A separate task, because it serves other callers too and must not end with this one.
            tokio::spawn(Arc::clone(self).work(turn, self.gate.begin()));
        }
        answer.await.unwrap_or_else(|_| Err(unavailable(operation, Gone)))
    }

    /// Works on one account until its queue is empty. Operations whose callers have given up still count as writes in progress
    /// for the gate.
    async fn work(self: Arc<Self>, mut turn: Turn, mut under_way: UnderWay) {
        let mut known = None;
        while let Some(mut operations) = turn.next() {
            match self.run(turn.user(), &mut operations, &mut known).await {
                Ok(written) => {
                    operations.into_iter().for_each(Operation::answer);
                    if let Some(Written { reindexed, took }) = written {
                        self.people.remove(turn.user(), &reindexed).await;
                        // Gives other processes a chance to change the account.
                        leave_room(took).await;
                    }
                }
                Err(error) => {
                    let error = Arc::new(error);
                    operations.into_iter().for_each(|operation| operation.fail(&error));
                }
            }
            under_way = self.gate.begin();
        }
        drop(under_way);
    }

    /// Repeats the operations until no other process has changed the account in the meantime. `None` if they change nothing.
    pub(super) async fn run(
        &self,
        user: UserId,
        operations: &mut [Box<dyn Operation>],
        known: &mut Option<Snapshot>,
    ) -> Result<Option<Written>, StoreError> {
        let mut wants: HashSet<Want> =
            operations.iter().flat_map(|operation| operation.wants()).copied().collect();
        let mut took = Duration::ZERO;
        for _ in 0..ATTEMPTS_MAX {
            leave_room(took).await;
            let begun = Instant::now();
            let attempt = self.attempt(user, operations, known, &mut wants).await?;
            took = begun.elapsed();
            match attempt {
                Attempt::Written(reindexed) => return Ok(Some(Written { reindexed, took })),
                Attempt::NothingToWrite => return Ok(None),
                Attempt::Beaten => {}
            }
        }
        Err(unavailable("change an account", "other processes keep changing it"))
    }

    async fn attempt(
        &self,
        user: UserId,
        operations: &mut [Box<dyn Operation>],
        known: &mut Option<Snapshot>,
        wants: &mut HashSet<Want>,
    ) -> Result<Attempt, StoreError> {
        let old = known.take().map(Snapshot::into_old);
        let Some((mut snapshot, changes)) = self.try_run(user, operations, old, wants).await? else {
            return Ok(Attempt::Beaten);
        };
        if changes.rows.is_empty() && changes.head == snapshot.head {
            // Without a write, no condition checks that the old snapshot is still current, so read it again.
            if snapshot.is_old() {
                return Ok(Attempt::Beaten);
            }
            *known = Some(snapshot);
            return Ok(Attempt::NothingToWrite);
        }
        let reindexed = Reindexed::by(user, &snapshot, &changes)?;
        let revision = snapshot.next_revision().cast_unsigned();
        let before = try_join_all(operations.iter().filter_map(|operation| operation.before(revision)));
        let changing = self.gate.change(Part::Account(user));
        let (_, (), _changing) = try_join3(before, self.people.add(user, &reindexed), changing).await?;
        if !self.commit(user, &snapshot, &changes).await? {
            return Ok(Attempt::Beaten);
        }
        snapshot.advance(changes);
        *known = Some(snapshot).filter(|known| known.len() <= KNOWN_ROWS_MAX);
        Ok(Attempt::Written(reindexed))
    }

    /// Runs the operations until every row that they ask for has been read. `None` if the account has changed in the meantime.
    async fn try_run(
        &self,
        user: UserId,
        operations: &mut [Box<dyn Operation>],
        mut known: Option<Snapshot>,
        wants: &mut HashSet<Want>,
    ) -> Result<Option<(Snapshot, Changes)>, StoreError> {
        loop {
            let read = Snapshot::read(&self.cql, &self.statements, user, known, wants).await?;
            let Some(snapshot) = read else { return Ok(None) };
            let mut txn = Txn::new(user, &snapshot);
            for operation in operations.iter_mut() {
                operation.run(&mut txn);
            }
            match txn.end() {
                Ok(changes) => return Ok(Some((snapshot, changes))),
                Err(more) => wants.extend(more),
            }
            known = Some(snapshot);
        }
    }

    /// Writes all changes if the account still has the revision of the snapshot, and otherwise nothing. Returns whether it wrote.
    async fn commit(&self, user: UserId, snapshot: &Snapshot, changes: &Changes) -> Result<bool, StoreError> {
        let writer = format!("{:032x}", rand::random::<u128>());
        let mut unknown = None;
        for attempt in 0..UNKNOWN_ATTEMPTS_MAX {
            pause(attempt).await;
            match self.compare_and_set(user, &writer, snapshot, changes).await {
                Outcome::Applied => return Ok(true),
                Outcome::NotApplied if unknown.is_none() => return Ok(false),
                // An earlier attempt without an answer may have written the revision.
                Outcome::NotApplied => {}
                Outcome::Unknown(error) => unknown = Some(error),
            }
            match self.fate(user, &writer, snapshot.next_revision()).await? {
                Fate::Written => return Ok(true),
                Fate::Beaten => return Ok(false),
                Fate::Pending => {}
                Fate::Forgotten => break,
            }
        }
        Err(unknown
            .unwrap_or_else(|| unavailable("change an account", "the outcome of the write is unknown")))
    }

    /// Reads which batch has written a revision.
    async fn fate(&self, user: UserId, writer: &str, revision: i64) -> Result<Fate, StoreError> {
        let key = Key::writer(revision);
        let values = (int(user.get()), key.kind, key.id);
        let row: Option<(String,)> =
            self.cql.serial_row("change an account", &self.statements.settled_body, values).await?;
        let made: Option<WriterBody> = row.map(|(body,)| decode(user, key, &body)).transpose()?;
        Ok(match made {
            Some(made) if made.revision == revision && *made.writer == *writer => Fate::Written,
            Some(made) if made.revision == revision => Fate::Beaten,
            Some(made) if made.revision > revision => Fate::Forgotten,
            _ => Fate::Pending,
        })
    }

    async fn compare_and_set(
        &self,
        user: UserId,
        writer: &str,
        snapshot: &Snapshot,
        changes: &Changes,
    ) -> Outcome {
        let send =
            || self.cql.conditional_batch("change an account", self.batch(user, writer, snapshot, changes));
        #[cfg(test)]
        let send = || self.faults.strike(send);
        send().await
    }

    fn batch(&self, user: UserId, writer: &str, snapshot: &Snapshot, changes: &Changes) -> Batch {
        let Changes { head, rows } = changes;
        let mut batch = Batch::new();
        let mut set = vec![
            CqlValue::BigInt(snapshot.next_revision()),
            bigint(head.log_last),
            bigint(head.log_floor),
            bigint(head.log_count),
            bigint(head.blocks),
            bigint(head.naming),
            bigint(head.stars),
            bigint(user.get()),
        ];
        match snapshot.revision() {
            Some(revision) => {
                set.push(CqlValue::BigInt(revision));
                batch.condition(&self.statements.advance, set);
            }
            None => batch.condition(&self.statements.begin, set),
        }
        let mut write = |key: Key, body: Option<&str>| {
            let mut row = vec![bigint(user.get()), CqlValue::TinyInt(key.kind), CqlValue::BigInt(key.id)];
            row.extend(body.map(text));
            let statement = if body.is_some() { &self.statements.put } else { &self.statements.remove };
            batch.write(statement, row);
        };
        if snapshot.revision().is_none() {
            write(Key::ANCHOR, Some(&encode(&Present {})));
        }
        let made = WriterBody { revision: snapshot.next_revision(), writer: writer.into() };
        write(Key::writer(made.revision), Some(&encode(&made)));
        for (key, body) in rows {
            write(*key, body.as_deref());
        }
        batch
    }
}
