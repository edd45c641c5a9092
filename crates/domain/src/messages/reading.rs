//! Reading: history, single messages with their versions, reactions and threads, the log.

use std::collections::HashMap;
use std::sync::Arc;

use godwit_protocol::conversations::{EditsVisibleTo, Role};
use godwit_protocol::limits::PAGE_BYTES_MAX;
use godwit_protocol::messages::{
    EditList, LogPage, Message as WireMessage, MessagePage, Pin, PinList, Reaction, ReadHistory, ThreadPage,
    Version,
};
use godwit_protocol::{ConversationId, MessageId, Position, Seq, Timestamp, UserId};
use thiserror::Error;

use super::viewing::Viewer;
use crate::bounds::{Budget, cut, entry_bytes, fitting_by, message_bytes, messages_fitting};
use crate::conversations::{AccessError, Conversations};
use crate::model::{Change, LogItem, count_within};
use crate::ports::{Clock, HistoryEnd, SeqRange, Store, StoreError};

#[derive(Debug)]
pub struct Reading {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// The position of a page of the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryPage {
    Newest,
    Before(Position),
    After(Position),
    /// Half of the page before the anchor, the anchor itself and the rest after it.
    Around(Position),
    BeforeTime(Timestamp),
}

#[derive(Debug, Error)]
pub enum ReadError {
    #[error("no such conversation or message")]
    NotFound,
    #[error("the member's role does not allow it")]
    Forbidden,
    #[error("the message was deleted or has expired")]
    Gone,
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

impl HistoryPage {
    /// The page that a request asks for; without a position, the newest. `None` if the request has several positions.
    pub fn asked(request: &ReadHistory) -> Option<Self> {
        let ReadHistory { before, after, around, before_time, .. } = request;
        let places = [
            before.map(Self::Before),
            after.map(Self::After),
            around.map(Self::Around),
            before_time.map(Self::BeforeTime),
        ];
        let mut places = places.into_iter().flatten();
        match (places.next(), places.next()) {
            (place, None) => Some(place.unwrap_or(Self::Newest)),
            (_, Some(_)) => None,
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
        let viewer = self.viewer(by, conversation).await?;
        let mut around = None;
        let (items, more_before, more_after) = match page {
            HistoryPage::Newest => self.before(&viewer, Seq::new(u64::MAX), limit).await?,
            HistoryPage::Before(anchor) => {
                self.before(&viewer, self.resolve(&viewer, anchor).await?, limit).await?
            }
            HistoryPage::After(anchor) => {
                self.after(&viewer, self.resolve(&viewer, anchor).await?, limit).await?
            }
            HistoryPage::Around(anchor) => {
                let anchor = self.resolve(&viewer, anchor).await?;
                around = Some(anchor);
                self.around(&viewer, anchor, limit).await?
            }
            HistoryPage::BeforeTime(time) => {
                let seq = self.store.seq_at(conversation, time).await?;
                self.before(&viewer, seq, limit).await?
            }
        };
        let mut page_read =
            MessagePage { messages: self.show(&viewer, items).await?, more_before, more_after };
        match (page, around) {
            (_, Some(anchor)) => keep_around(&mut page_read, anchor),
            (HistoryPage::After(_), _) => keep_first(&mut page_read),
            _ => keep_last(&mut page_read),
        }
        Ok(page_read)
    }

    pub async fn message(&self, by: UserId, id: MessageId) -> Result<WireMessage, ReadError> {
        let (viewer, item) = self.locate(by, id).await?;
        let shown = self.show(&viewer, vec![item]).await?;
        shown.into_iter().next().ok_or(ReadError::NotFound)
    }

    /// Every change since `after`, in order.
    pub async fn log(
        &self,
        by: UserId,
        conversation: ConversationId,
        after: Seq,
        limit: usize,
    ) -> Result<LogPage, ReadError> {
        let viewer = self.viewer(by, conversation).await?;
        let begins = viewer.from.max(Seq::ZERO.next());
        let head = self.conversations.head_at_least(&viewer.live, after).await?;
        let empty = LogPage {
            conversation_id: conversation,
            entries: Vec::new(),
            begins,
            head,
            more: false,
            truncated: false,
        };
        if after > head {
            // The client has entries that this log does not have: the server was restored from a backup.
            return Ok(LogPage { truncated: true, ..empty });
        }
        let after = after.max(Seq::new(begins.get() - 1));
        let mut items = self.store.entries(conversation, after, limit).await?;
        let full = items.len() == limit;
        items.truncate(count_within(PAGE_BYTES_MAX, &items, |item| item.entry.size_bytes()));
        // The page may contain entries that were appended after the head was read, and more may follow them.
        let head = head.max(items.last().map_or(after, |item| item.entry.seq));
        let mut entries = self.show_entries(&viewer, &items).await?;
        entries.truncate(fitting_by(&entries, entry_bytes));
        let last = entries.last().map_or(after, |entry| entry.seq);
        Ok(LogPage { entries, head, more: full || last < head, ..empty })
    }

    /// The versions of a message, the oldest first. Skips `after` versions, and returns the number to skip for the next page.
    pub async fn edits(
        &self,
        by: UserId,
        id: MessageId,
        after: u32,
    ) -> Result<(EditList, Option<u32>), ReadError> {
        let (viewer, item) = self.locate(by, id).await?;
        let (message, state) = item.message().ok_or(ReadError::NotFound)?;
        if item.is_gone(self.clock.now()) {
            return Err(ReadError::Gone);
        }
        let only_admins = viewer.live.read(|s| s.details.edits_visible_to) == EditsVisibleTo::Admins;
        if only_admins && viewer.member.role == Role::Member && message.sender_id != by {
            return Err(ReadError::Forbidden);
        }
        let first = Version {
            at: item.entry.at(),
            by: message.sender_id,
            text: message.body.text().map(str::to_owned),
        };
        let edits = self.store.items(viewer.live.id(), &state.edits).await?;
        let later = edits.into_iter().flatten().filter_map(|edit| match &edit.entry.change {
            Change::Edited { by, text, .. } => {
                Some(Version { at: edit.entry.at(), by: *by, text: text.as_deref().map(str::to_owned) })
            }
            _ => None,
        });
        let mut versions: Vec<Version> = std::iter::once(first).chain(later).skip(after as usize).collect();
        let next = cut(&mut versions).then(|| after + versions.len() as u32);
        Ok((EditList { versions, next: None }, next))
    }

    /// The reactions to a message, sorted by user. Returns a page after `after`, and the cursor of the next page.
    pub async fn reactions(
        &self,
        by: UserId,
        id: MessageId,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<(Vec<Reaction>, Option<UserId>), ReadError> {
        let (viewer, item) = self.locate(by, id).await?;
        if item.is_gone(self.clock.now()) {
            return Err(ReadError::Gone);
        }
        let stored = self.store.reactions(viewer.live.id(), item.entry.seq, after, limit).await?;
        let next = if stored.len() == limit { stored.last().map(|last| last.user_id) } else { None };
        let reactions = stored.into_iter().map(|stored| Reaction {
            user_id: stored.user_id,
            reaction: stored.reaction.into(),
            at: stored.at,
        });
        Ok((reactions.collect(), next))
    }

    /// The thread that a message started or belongs to. Returns a page of the replies after the `after`-th, and the cursor of
    /// the next page.
    pub async fn thread(
        &self,
        by: UserId,
        id: MessageId,
        after: u32,
        limit: usize,
    ) -> Result<(ThreadPage, Option<u32>), ReadError> {
        let (viewer, item) = self.locate(by, id).await?;
        let (message, _) = item.message().ok_or(ReadError::NotFound)?;
        let (conversation, root) = (viewer.live.id(), message.reply.map_or(item.entry.seq, |r| r.root.seq));
        let mut seqs = self.store.replies(conversation, root, after, limit).await?;
        let numbers: HashMap<Seq, u32> = seqs.iter().copied().zip(after + 1..).collect();
        let mut next = if seqs.len() == limit { Some(after + limit as u32) } else { None };
        seqs.insert(0, root);
        let sight = self.sight(&viewer, seqs.iter().copied()).await?;
        seqs.retain(|seq| sight.sees(*seq));
        let items = self.store.items(conversation, &seqs).await?.into_iter().flatten().collect();
        let mut shown = self.show(&viewer, items).await?;
        let is_root = |first: &WireMessage| first.seq == root;
        let root = if shown.first().is_some_and(is_root) { Some(shown.remove(0)) } else { None };
        let fitting = messages_fitting(shown.iter());
        if fitting < shown.len() {
            shown.truncate(fitting);
            next = shown.last().and_then(|last| numbers.get(&last.seq).copied());
        }
        Ok((ThreadPage { root, replies: shown, next: None }, next))
    }

    /// The pinned messages of a conversation, the latest pin first. Skips `after` pins, and returns the number to skip for the
    /// next page.
    pub async fn pins(
        &self,
        by: UserId,
        conversation: ConversationId,
        after: u32,
    ) -> Result<(PinList, Option<u32>), ReadError> {
        let viewer = self.viewer(by, conversation).await?;
        let pins = viewer.live.read(|state| state.details.pins.clone());
        let sight = self.sight(&viewer, pins.iter().map(|pin| pin.seq)).await?;
        let pins: Vec<_> = pins.into_iter().filter(|pin| sight.sees(pin.seq)).collect();
        let seqs: Vec<Seq> = pins.iter().map(|pin| pin.seq).collect();
        let mut items: Vec<LogItem> =
            self.store.items(conversation, &seqs).await?.into_iter().flatten().collect();
        items.sort_unstable_by_key(|item| item.entry.seq);
        let messages = self.show(&viewer, items).await?;
        let pins = pins.iter().filter_map(|pin| {
            let message = messages.iter().find(|message| message.seq == pin.seq)?.clone();
            Some(Pin { by: pin.by, at: pin.at, message })
        });
        let mut pins: Vec<Pin> = pins.skip(after as usize).collect();
        let next = cut(&mut pins).then(|| after + pins.len() as u32);
        Ok((PinList { pins, next: None }, next))
    }

    /// Finds a message that the user can see.
    pub(super) async fn locate(&self, by: UserId, id: MessageId) -> Result<(Viewer, LogItem), ReadError> {
        let (viewer, item) = self.locate_also_hidden(by, id).await?;
        let sight = self.sight(&viewer, [item.entry.seq]).await?;
        if sight.sees(item.entry.seq) { Ok((viewer, item)) } else { Err(ReadError::NotFound) }
    }

    /// Like [`locate`](Self::locate), and finds messages that the user has hidden too: the user may delete such a message again,
    /// or for everyone.
    pub(super) async fn locate_also_hidden(
        &self,
        by: UserId,
        id: MessageId,
    ) -> Result<(Viewer, LogItem), ReadError> {
        let (conversation, seq) = self.store.locate(id).await?.ok_or(ReadError::NotFound)?;
        let viewer = self.viewer(by, conversation).await?;
        if seq < viewer.from {
            return Err(ReadError::NotFound);
        }
        let items = self.store.items(conversation, &[seq]).await?;
        let item = items.into_iter().next().flatten().ok_or(ReadError::NotFound)?;
        Ok((viewer, item))
    }

    async fn resolve(&self, viewer: &Viewer, anchor: Position) -> Result<Seq, ReadError> {
        match anchor {
            Position::Seq(seq) => Ok(seq),
            Position::Message(id) => match self.store.locate(id).await? {
                Some((conversation, seq)) if conversation == viewer.live.id() && seq >= viewer.from => {
                    Ok(seq)
                }
                _ => Err(ReadError::NotFound),
            },
        }
    }

    /// Half of a page before the anchor, the anchor itself and the rest after it. If one side has fewer messages, the other
    /// fills the page.
    async fn around(
        &self,
        viewer: &Viewer,
        anchor: Seq,
        limit: usize,
    ) -> Result<(Vec<LogItem>, bool, bool), StoreError> {
        let just_before = Seq::new(anchor.get().saturating_sub(1));
        let (mut before, mut more_before, _) = self.before(viewer, anchor, limit / 2).await?;
        let (after, _, more_after) = self.after(viewer, just_before, limit - before.len()).await?;
        if more_before && before.len() + after.len() < limit {
            (before, more_before, _) = self.before(viewer, anchor, limit - after.len()).await?;
        }
        before.extend(after);
        Ok((before, more_before, more_after))
    }

    async fn before(
        &self,
        viewer: &Viewer,
        before: Seq,
        limit: usize,
    ) -> Result<(Vec<LogItem>, bool, bool), StoreError> {
        let range = SeqRange { after: Seq::ZERO, before };
        let (items, more_before) = self.page(viewer, range, HistoryEnd::Newest, limit).await?;
        let last_shown = viewer.live.read(|state| state.head.last_shown());
        let last = items.last().map(|item| item.entry.seq);
        let more_after =
            last_shown.is_some_and(|shown| shown >= before && last.is_none_or(|last| shown > last));
        Ok((items, more_before, more_after))
    }

    async fn after(
        &self,
        viewer: &Viewer,
        after: Seq,
        limit: usize,
    ) -> Result<(Vec<LogItem>, bool, bool), StoreError> {
        let range = SeqRange { after, before: Seq::new(u64::MAX) };
        let earlier = SeqRange { after: Seq::ZERO, before: after.next() };
        let (later, earlier) = tokio::try_join!(
            self.page(viewer, range, HistoryEnd::Oldest, limit),
            self.page(viewer, earlier, HistoryEnd::Newest, 1)
        )?;
        let ((items, more_after), (earlier, _)) = (later, earlier);
        Ok((items, !earlier.is_empty(), more_after))
    }
}

/// Drops the oldest messages that do not fit into a page.
fn keep_last(page: &mut MessagePage) {
    let fitting = messages_fitting(page.messages.iter().rev());
    if fitting < page.messages.len() {
        page.messages.drain(..page.messages.len() - fitting);
        page.more_before = true;
    }
}

/// Drops the newest messages that do not fit into a page.
fn keep_first(page: &mut MessagePage) {
    let fitting = messages_fitting(page.messages.iter());
    if fitting < page.messages.len() {
        page.messages.truncate(fitting);
        page.more_after = true;
    }
}

/// Drops the messages farthest from the anchor that do not fit into a page.
fn keep_around(page: &mut MessagePage, anchor: Seq) {
    let messages = &page.messages;
    let middle = messages.partition_point(|message| message.seq < anchor);
    let (mut kept, mut budget) = (middle..middle, Budget::new(PAGE_BYTES_MAX));
    loop {
        let before = kept.clone();
        if messages.get(kept.end).is_some_and(|next| budget.take_bytes(message_bytes(next))) {
            kept.end += 1;
        }
        if kept.start > 0 && budget.take_bytes(message_bytes(&messages[kept.start - 1])) {
            kept.start -= 1;
        }
        if kept == before {
            break;
        }
    }
    page.more_after |= kept.end < messages.len();
    page.more_before |= kept.start > 0;
    page.messages.truncate(kept.end);
    page.messages.drain(..kept.start);
}
