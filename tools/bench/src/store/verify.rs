//! Verification: reads every log completely and compares order and content.

use futures_util::stream::{self, StreamExt, TryStreamExt};
use godwit_domain::model::{Entry, Head};
use godwit_domain::ports::Store;
use godwit_protocol::{ConversationId, Seq, UserId};
use thiserror::Error;

use super::chat::Chat;
use crate::progress::{Done, Step};

/// Logs that are read concurrently.
const LOGS_AT_ONCE_MAX: usize = 8;
const PAGE: usize = 500;

/// A violation of the store's contract, which invalidates all measurements.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum Violation {
    #[error("an id was given out twice: {id}")]
    IdTwice { id: u64 },
    #[error("conversation {conversation}: an append after {head} was refused, although nobody else appends")]
    HeadMoved { conversation: ConversationId, head: Seq },
    #[error("conversation {conversation}: after {after} comes {found}")]
    Order { conversation: ConversationId, after: Seq, found: Seq },
    #[error("conversation {conversation}: {seq} is not what was written there")]
    Changed { conversation: ConversationId, seq: Seq },
    #[error("conversation {conversation}: the log ends at {found}, and {acknowledged} was acknowledged")]
    End { conversation: ConversationId, acknowledged: Seq, found: Seq },
    #[error("conversation {conversation}: it is not loaded as it was written")]
    Loaded { conversation: ConversationId },
    #[error("conversation {conversation}: a page of the newest messages is wrong")]
    Page { conversation: ConversationId },
    #[error("conversation {conversation}: message {ordinal} is not found by its client id as it should be")]
    ClientId { conversation: ConversationId, ordinal: u64 },
    #[error("user {user}: a page of the inbox is wrong")]
    Inbox { user: UserId },
}

/// Reads every log from its beginning to its end.
pub(super) async fn logs(store: &dyn Store, chats: &[&Chat], step: Step) -> anyhow::Result<()> {
    let done = &step.done();
    let logs = chats.iter().map(|chat| log(store, chat, done));
    stream::iter(logs).buffer_unordered(LOGS_AT_ONCE_MAX).try_collect().await
}

async fn log(store: &dyn Store, chat: &Chat, done: &Done) -> anyhow::Result<()> {
    let mut reading = Reading::new(chat);
    loop {
        let page = store.entries(chat.id, reading.head.seq, PAGE).await?;
        for item in &page {
            reading.entry(&item.entry)?;
        }
        done.add(page.len());
        if page.len() < PAGE {
            break;
        }
    }
    reading.end()?;
    let loaded = store.load(chat.id).await?;
    if loaded.is_none_or(|state| state.head != *chat.head()) {
        return Err(Violation::Loaded { conversation: chat.id }.into());
    }
    Ok(())
}

/// A log that is being read.
pub(super) struct Reading<'a> {
    chat: &'a Chat,
    /// The head after the entries so far.
    head: Head,
}

impl<'a> Reading<'a> {
    pub(super) const fn new(chat: &'a Chat) -> Self {
        Self { chat, head: Head::empty() }
    }

    pub(super) fn entry(&mut self, entry: &Entry) -> Result<(), Violation> {
        let (conversation, seq) = (self.chat.id, entry.seq);
        if seq != self.head.seq.next() {
            return Err(Violation::Order { conversation, after: self.head.seq, found: seq });
        }
        let is_first = self.head.seq == Seq::ZERO;
        let is_right = if is_first {
            entry.message().is_none()
        } else {
            *entry == self.chat.message_after(&self.head, entry.id)
        };
        if !is_right || entry.id <= self.head.id {
            return Err(Violation::Changed { conversation, seq });
        }
        self.head.advance(entry);
        Ok(())
    }

    pub(super) fn end(&self) -> Result<(), Violation> {
        if self.head == *self.chat.head() {
            return Ok(());
        }
        let (conversation, acknowledged) = (self.chat.id, self.chat.head().seq);
        Err(Violation::End { conversation, acknowledged, found: self.head.seq })
    }
}
