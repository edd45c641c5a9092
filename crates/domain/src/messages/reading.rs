//! Reading: history, one message, the log, receipts.

use std::str::FromStr;
use std::sync::Arc;

use godwit_protocol::limits::LOG_PAGE_BYTES_MAX;
use godwit_protocol::messages::{LogPage, Message as WireMessage, MessagePage, Receipt, ReceiptList};
use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp, UserId};
use thiserror::Error;

use crate::conversations::{AccessError, Conversations, Live};
use crate::model::{Entry, InvalidField, count_within};
use crate::ports::{MessageOrder, SeqRange, Store, StoreError};
use crate::snowflake::IdGenerator;

#[derive(Debug)]
pub struct Reading {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) conversations: Arc<Conversations>,
}

/// A place in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    Message(MessageId),
    Seq(Seq),
}

/// Which part of the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryPage {
    Newest,
    Before(Anchor),
    After(Anchor),
    /// Half of the page before the anchor, the anchor itself and the rest after it.
    Around(Anchor),
    BeforeTime(Timestamp),
}

#[derive(Debug, Error)]
pub enum ReadError {
    #[error("no such conversation or message")]
    NotFound,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<AccessError> for ReadError {
    fn from(error: AccessError) -> Self {
        match error {
            AccessError::NotFound => Self::NotFound,
            AccessError::Store(error) => Self::Store(error),
        }
    }
}

impl FromStr for Anchor {
    type Err = InvalidField;

    /// A small number is a position, a large one the id of a message: ids are never below 2^53.
    fn from_str(text: &str) -> Result<Self, InvalidField> {
        let invalid = || InvalidField::new("anchor", "must be the id of a message or a seq");
        let value: u64 = text.parse().map_err(|_| invalid())?;
        if value < IdGenerator::MIN {
            Ok(Self::Seq(Seq::new(value)))
        } else {
            text.parse().map(Self::Message).map_err(|_| invalid())
        }
    }
}

impl Reading {
    pub async fn history(
        &self,
        by: UserId,
        conversation: ConversationId,
        page: HistoryPage,
        limit: usize,
    ) -> Result<MessagePage, ReadError> {
        let live = self.conversations.of_member(by, conversation).await?;
        let entries = match page {
            HistoryPage::Newest => self.before(&live, Seq::new(u64::MAX), limit).await?,
            HistoryPage::Before(anchor) => {
                self.before(&live, self.resolve(&live, anchor).await?, limit).await?
            }
            HistoryPage::After(anchor) => {
                self.after(&live, self.resolve(&live, anchor).await?, limit).await?
            }
            HistoryPage::Around(anchor) => {
                self.around(&live, self.resolve(&live, anchor).await?, limit).await?
            }
            HistoryPage::BeforeTime(time) => {
                let seq = self.store.seq_at(conversation, time).await?;
                self.before(&live, seq, limit).await?
            }
        };
        let after = matches!(page, HistoryPage::After(_));
        Ok(live.read(|state| {
            // The ordinals of the first and the last say what lies beyond them; an empty page lies at an end.
            let (more_before, more_after) = match (entries.first(), entries.last()) {
                (Some(first), Some(last)) => (first.ordinal > 1, last.ordinal < state.head.ordinal),
                _ => (after && state.head.ordinal > 0, !after && state.head.ordinal > 0),
            };
            let messages = entries.iter().filter_map(|e| Some(e.message()?.to_wire(e.seq, state))).collect();
            MessagePage { messages, more_before, more_after }
        }))
    }

    pub async fn message(&self, by: UserId, id: MessageId) -> Result<WireMessage, ReadError> {
        let (live, entry) = self.locate(by, id).await?;
        let message = entry.message().ok_or(ReadError::NotFound)?;
        Ok(live.read(|state| message.to_wire(entry.seq, state)))
    }

    /// Every change since `after`, in order.
    pub async fn log(
        &self,
        by: UserId,
        conversation: ConversationId,
        after: Seq,
        limit: usize,
    ) -> Result<LogPage, ReadError> {
        let live = self.conversations.of_member(by, conversation).await?;
        let head = self.conversations.head_at_least(&live, after).await?;
        if after > head {
            // The client has seen what this log does not have, as after a restore from a backup.
            return Ok(LogPage {
                conversation_id: conversation,
                entries: vec![],
                head,
                more: false,
                truncated: true,
            });
        }
        let mut entries = self.store.entries(conversation, after, limit).await?;
        let full = entries.len() == limit;
        entries.truncate(count_within(LOG_PAGE_BYTES_MAX, &entries, Entry::size_bytes));
        let last = entries.last().map_or(after, |entry| entry.seq);
        // Reading may have found entries that came after the look at the head, and there may be more of them.
        let head = head.max(last);
        let entries = live.read(|state| entries.iter().map(|entry| entry.to_wire(state)).collect());
        Ok(LogPage {
            conversation_id: conversation,
            entries,
            head,
            more: full || last < head,
            truncated: false,
        })
    }

    /// Who has received and read a message, and when.
    pub async fn receipts(&self, by: UserId, id: MessageId) -> Result<ReceiptList, ReadError> {
        let (live, entry) = self.locate(by, id).await?;
        let sender = entry.message().ok_or(ReadError::NotFound)?.sender_id;
        let others =
            live.read(|s| s.members.iter().filter(|m| m.user_id != sender).copied().collect::<Vec<_>>());
        let ids: Vec<UserId> = others.iter().map(|m| m.user_id).collect();
        let stored = self.store.receipts(live.id(), entry.seq, &ids).await?;
        let receipts: Vec<Receipt> = others
            .iter()
            .map(|member| {
                let times = stored.iter().find(|t| t.user_id == member.user_id);
                // A move of the last second is not in the store yet.
                let moved_at = self.conversations.unsaved.of(live.id(), member.user_id).map(|moved| moved.at);
                let reached = |stored: Option<Timestamp>, mark: Seq| {
                    if mark >= entry.seq { stored.or(moved_at) } else { None }
                };
                Receipt {
                    user_id: member.user_id,
                    delivered_at: reached(times.and_then(|t| t.delivered_at), member.cursor.delivered),
                    read_at: reached(times.and_then(|t| t.read_at), member.cursor.read),
                }
            })
            .collect();
        Ok(ReceiptList {
            delivered_to_all: others.iter().all(|m| m.cursor.delivered >= entry.seq),
            read_by_all: others.iter().all(|m| m.cursor.read >= entry.seq),
            receipts,
        })
    }

    async fn locate(&self, by: UserId, id: MessageId) -> Result<(Arc<Live>, Entry), ReadError> {
        let (conversation, seq) = self.store.locate(id).await?.ok_or(ReadError::NotFound)?;
        let live = self.conversations.of_member(by, conversation).await?;
        let entry = self.store.entry(conversation, seq).await?.ok_or(ReadError::NotFound)?;
        Ok((live, entry))
    }

    async fn resolve(&self, live: &Live, anchor: Anchor) -> Result<Seq, ReadError> {
        match anchor {
            Anchor::Seq(seq) => Ok(seq),
            Anchor::Message(id) => match self.store.locate(id).await? {
                Some((conversation, seq)) if conversation == live.id() => Ok(seq),
                _ => Err(ReadError::NotFound),
            },
        }
    }

    async fn before(&self, live: &Live, before: Seq, limit: usize) -> Result<Vec<Entry>, StoreError> {
        let range = SeqRange { after: Seq::ZERO, before };
        let mut entries = self.store.messages(live.id(), range, MessageOrder::NewestFirst, limit).await?;
        entries.reverse();
        Ok(entries)
    }

    async fn after(&self, live: &Live, after: Seq, limit: usize) -> Result<Vec<Entry>, StoreError> {
        let range = SeqRange { after, before: Seq::new(u64::MAX) };
        self.store.messages(live.id(), range, MessageOrder::OldestFirst, limit).await
    }

    async fn around(&self, live: &Live, anchor: Seq, limit: usize) -> Result<Vec<Entry>, StoreError> {
        let mut entries = self.before(live, anchor, limit / 2).await?;
        let just_before = Seq::new(anchor.get().saturating_sub(1));
        entries.extend(self.after(live, just_before, limit - entries.len()).await?);
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_number_is_a_seq_and_a_large_one_an_id() {
        assert_eq!("0".parse(), Ok(Anchor::Seq(Seq::ZERO)));
        assert_eq!("9007199254740991".parse(), Ok(Anchor::Seq(Seq::new((1 << 53) - 1))));
        assert_eq!("9007199254740992".parse(), Ok(Anchor::Message(MessageId::new(1 << 53))));
        for wrong in ["", "-1", "abc", "1.5", "18446744073709551616", "18446744073709551615"] {
            assert!(wrong.parse::<Anchor>().is_err(), "{wrong:?} was taken for an anchor");
        }
    }
}
