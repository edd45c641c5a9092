//! Sending: check → queue → append → acknowledge → deliver.
//!
//! Sends to one conversation that wait at the same time go into one append. Whoever finds nobody at work starts a task
//! that empties the queue; it lives on when the sender's connection does not, so what was begun is finished.

use std::sync::Arc;
use std::time::Instant;

use godwit_protocol::messages as wire;
use godwit_protocol::socket::{EntryEvent, Event};
use godwit_protocol::{ConversationId, MessageId, Seq, UserId};
use metrics::{counter, histogram};
use thiserror::Error;
use tokio::sync::oneshot;

use super::outbox::{Job, Next};
use crate::account_log::AccountLog;
use crate::conversations::{AccessError, Conversations, Live};
use crate::model::{Change, ConversationState, Cursor, Draft, Entry, Forwarded, Head, Kind, Message};
use crate::ports::{Append, AppendOutcome, Clock, CursorMove, Delivery, Store, StoreError};

/// How often an append that was beaten by another node is tried again before its senders are told to.
const APPEND_ATTEMPTS_MAX: usize = 64;

#[derive(Debug)]
pub struct Sending {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) account_log: Arc<AccountLog>,
    pub(crate) delivery: Arc<dyn Delivery>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// A message that is durable.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent {
    pub message: wire::Message,
    /// It was sent before with the same client id: this is the original.
    pub repeated: bool,
}

/// A message that has its place in the queue.
#[derive(Debug)]
pub struct Submitted {
    started: Instant,
    answer: oneshot::Receiver<Result<Sent, SendError>>,
}

impl Submitted {
    /// The second half of sending: when it returns the message is durable.
    pub async fn stored(self) -> Result<Sent, SendError> {
        // The task that should have answered is gone, so nobody knows what became of the message.
        let interrupted = || Err(SendError::Unavailable("the send was interrupted".into()));
        let result = self.answer.await.unwrap_or_else(|_| interrupted());
        histogram!("godwit_send_seconds").record(self.started.elapsed());
        count(match &result {
            Ok(Sent { repeated: true, .. }) => "repeated",
            Ok(_) => "sent",
            Err(error) => outcome_of(error),
        });
        result
    }
}

#[derive(Debug, Error)]
pub enum SendError {
    #[error("no such conversation")]
    NotFound,
    #[error("one of you has blocked the other")]
    Blocked,
    #[error("the message that is replied to is not in this conversation")]
    ReplyNotFound,
    #[error("the message that is forwarded cannot be seen by the sender")]
    ForwardNotFound,
    #[error("too many messages wait to be sent to this conversation")]
    Busy,
    /// It is unknown whether the message was stored: send it again with the same client id.
    #[error("the message could not be stored: {0}")]
    Unavailable(Arc<str>),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<AccessError> for SendError {
    fn from(error: AccessError) -> Self {
        match error {
            AccessError::NotFound => Self::NotFound,
            AccessError::Store(error) => Self::Store(error),
        }
    }
}

impl Sending {
    /// Sends a message. When it returns the message is durable; a repeated client id gives the original back.
    pub async fn send(
        self: &Arc<Self>,
        sender: UserId,
        conversation: ConversationId,
        draft: Draft,
    ) -> Result<Sent, SendError> {
        self.submit(sender, conversation, draft).await?.stored().await
    }

    /// The first half of sending: when it returns the message has its place in the queue, so that messages submitted one
    /// after the other are in the log in that order.
    pub async fn submit(
        self: &Arc<Self>,
        sender: UserId,
        conversation: ConversationId,
        draft: Draft,
    ) -> Result<Submitted, SendError> {
        let started = Instant::now();
        let submitted = self.check_and_enqueue(sender, conversation, draft).await;
        let answer = submitted.inspect_err(|error| count(outcome_of(error)))?;
        Ok(Submitted { started, answer })
    }

    async fn check_and_enqueue(
        self: &Arc<Self>,
        sender: UserId,
        conversation: ConversationId,
        draft: Draft,
    ) -> Result<oneshot::Receiver<Result<Sent, SendError>>, SendError> {
        let live = self.conversations.of_member(sender, conversation).await?;
        self.check_reply(conversation, draft.reply_to).await?;
        let forwarded_from = self.resolve_forward(sender, draft.forwarded_from).await?;
        let (done, answer) = oneshot::channel();
        self.enqueue(
            live,
            Job {
                sender,
                client_id: draft.client_id,
                body: draft.body,
                reply_to: draft.reply_to,
                forwarded_from,
                waiting: vec![done],
            },
        )?;
        Ok(answer)
    }

    async fn check_reply(
        &self,
        conversation: ConversationId,
        reply_to: Option<MessageId>,
    ) -> Result<(), SendError> {
        let Some(message) = reply_to else { return Ok(()) };
        match self.store.locate(message).await? {
            Some((home, _)) if home == conversation => Ok(()),
            _ => Err(SendError::ReplyNotFound),
        }
    }

    async fn resolve_forward(
        &self,
        sender: UserId,
        forwarded: Option<MessageId>,
    ) -> Result<Option<Forwarded>, SendError> {
        let Some(message_id) = forwarded else { return Ok(None) };
        let (home, seq) = self.store.locate(message_id).await?.ok_or(SendError::ForwardNotFound)?;
        match self.conversations.of_member(sender, home).await {
            Ok(_) => {}
            Err(AccessError::NotFound) => return Err(SendError::ForwardNotFound),
            Err(AccessError::Store(error)) => return Err(error.into()),
        }
        let entry = self.store.entry(home, seq).await?;
        let origin = entry.as_ref().and_then(Entry::message).ok_or(SendError::ForwardNotFound)?;
        Ok(Some(Forwarded { message_id, sender_id: origin.sender_id }))
    }

    fn enqueue(self: &Arc<Self>, live: Arc<Live>, job: Job) -> Result<(), SendError> {
        if live.outbox.push(job)? == Next::StartDraining {
            let this = Arc::clone(self);
            tokio::spawn(async move { this.drain(&live).await });
        }
        Ok(())
    }

    async fn drain(&self, live: &Live) {
        let _abandon = AbandonOnPanic(live);
        while let Some(batch) = live.outbox.take_batch() {
            histogram!("godwit_append_messages").record(batch.len() as f64);
            self.append_all(live, batch).await;
        }
    }

    /// Gets a batch into the log, however often another node is faster, and answers everybody in it.
    async fn append_all(&self, live: &Live, mut batch: Vec<Job>) {
        for _ in 0..APPEND_ATTEMPTS_MAX {
            if let Err(error) = self.append_once(live, &mut batch).await {
                tracing::warn!(conversation = %live.id(), %error, "append failed");
                fail_all(batch, &error);
                // What the store has is no longer known for certain: look before the next append.
                if let Err(error) = self.conversations.reload(live).await {
                    tracing::warn!(conversation = %live.id(), %error, "reload failed");
                }
                return;
            }
            if batch.is_empty() {
                return;
            }
            counter!("godwit_append_conflicts_total").increment(1);
            if let Err(error) = self.conversations.reload(live).await {
                return fail_all(batch, &error);
            }
        }
        fail_all(batch, &"other nodes were faster, too often");
    }

    /// One attempt. Jobs that are answered leave the batch; those that stay have to be tried again on a newer head.
    async fn append_once(&self, live: &Live, batch: &mut Vec<Job>) -> Result<(), StoreError> {
        self.answer_refused_and_repeated(live, batch).await?;
        if batch.is_empty() {
            return Ok(());
        }
        let append = self.build_append(live, batch)?;
        let AppendOutcome::Appended(account_entries) = self.store.append(append.clone()).await? else {
            return Ok(());
        };
        let entries = take_over(live, append);
        for (job, entry) in batch.drain(..).zip(&entries) {
            if let wire::Change::Message { message } = &entry.change {
                job.acknowledge(&Sent { message: (**message).clone(), repeated: false });
            }
        }
        self.deliver(live, entries);
        self.account_log.announce(&account_entries).await;
        Ok(())
    }

    /// What may not be sent, or was sent before, is answered and leaves the batch. This is the last look before the
    /// append: whoever changes what it depends on, and then waits for the outbox to settle, can rely on it.
    async fn answer_refused_and_repeated(&self, live: &Live, batch: &mut Vec<Job>) -> Result<(), StoreError> {
        let Kind::Direct(pair) = live.read(|state| state.conversation.kind);
        let sent: Vec<_> = batch.iter().map(|job| (job.sender, &job.client_id)).collect();
        let (blocked, seqs) = tokio::try_join!(
            self.store.is_blocked(pair.low(), pair.high()),
            self.store.sent_as_each(live.id(), &sent)
        )?;
        let mut originals = Vec::with_capacity(batch.len());
        for seq in seqs {
            originals.push(match seq {
                Some(seq) => self.original(live, seq).await?,
                None => None,
            });
        }
        for (job, original) in std::mem::take(batch).into_iter().zip(originals) {
            if !live.read(|state| state.member(job.sender).is_some()) {
                job.refuse(|| SendError::NotFound);
            } else if let Some((seq, message)) = original {
                let message = live.read(|state| message.to_wire(seq, state));
                job.acknowledge(&Sent { message, repeated: true });
            } else if blocked {
                job.refuse(|| SendError::Blocked);
            } else {
                batch.push(job);
            }
        }
        Ok(())
    }

    /// The message that was sent before.
    async fn original(&self, live: &Live, seq: Seq) -> Result<Option<(Seq, Message)>, StoreError> {
        let entry = self.store.entry(live.id(), seq).await?;
        Ok(entry.and_then(|entry| match entry.change {
            Change::Message(message) => Some((seq, message)),
            Change::Created { .. } => None,
        }))
    }

    fn build_append(&self, live: &Live, jobs: &[Job]) -> Result<Append, StoreError> {
        let (head, members) = live.read(|state| (state.head.clone(), state.member_ids()));
        // The first message makes the conversation appear to everybody.
        let list_for = if head.ordinal == 0 { members.clone() } else { Vec::new() };
        let expected_head = head.seq;
        let (mut entries, mut cursors, mut head) =
            (Vec::with_capacity(jobs.len()), Vec::<CursorMove>::new(), head);
        for job in jobs {
            let entry = self.build_entry(&head, job)?;
            let cursor = CursorMove {
                conversation: live.id(),
                user_id: job.sender,
                cursor: Cursor::at(entry.seq, entry.ordinal),
                at: entry.at(),
            };
            match cursors.iter_mut().find(|c| c.user_id == job.sender) {
                Some(earlier) => *earlier = cursor,
                None => cursors.push(cursor),
            }
            head = head.after(&entry);
            entries.push(entry);
        }
        Ok(Append { conversation: live.id(), expected_head, entries, head, cursors, members, list_for })
    }

    fn build_entry(&self, head: &Head, job: &Job) -> Result<Entry, StoreError> {
        let id = self.store.ids().next_after(head.id)?;
        Ok(Entry {
            seq: head.seq.next(),
            id,
            ordinal: head.ordinal + 1,
            change: Change::Message(Message {
                id: MessageId::new(id),
                sender_id: job.sender,
                client_id: job.client_id.clone(),
                body: job.body.clone(),
                reply_to: job.reply_to,
                forwarded_from: job.forwarded_from,
            }),
        })
    }

    fn deliver(&self, live: &Live, entries: Vec<wire::LogEntry>) {
        let members = live.read(ConversationState::member_ids);
        for entry in entries {
            histogram!("godwit_delivery_lag_seconds")
                .record(self.clock.now().millis_since(entry.at).max(0) as f64 / 1_000.0);
            self.delivery.deliver(&members, &Event::Entry(EntryEvent { conversation_id: live.id(), entry }));
        }
    }
}

/// The state after an append, and its entries as the wire has them.
fn take_over(live: &Live, append: Append) -> Vec<wire::LogEntry> {
    live.write(|state| {
        state.head = append.head;
        for moved in append.cursors {
            if let Some(member) = state.member_mut(moved.user_id) {
                member.cursor = member.cursor.advanced_by(moved.cursor);
            }
        }
        append.entries.iter().map(|entry| entry.to_wire(state)).collect()
    })
}

fn fail_all(batch: Vec<Job>, reason: &dyn std::fmt::Display) {
    let reason: Arc<str> = reason.to_string().into();
    for job in batch {
        job.fail(&reason);
    }
}

fn outcome_of(error: &SendError) -> &'static str {
    match error {
        SendError::Busy | SendError::Unavailable(_) | SendError::Store(_) => "failed",
        _ => "refused",
    }
}

fn count(outcome: &'static str) {
    counter!("godwit_sends_total", "outcome" => outcome).increment(1);
}

/// A bug that panics in one batch must not leave the conversation stuck for ever.
struct AbandonOnPanic<'a>(&'a Live);

impl Drop for AbandonOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.outbox.abandon();
        }
    }
}
