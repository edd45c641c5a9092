//! A conversation as one of its members sees it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use godwit_protocol::messages as wire;
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};

use super::reading::{ReadError, Reading};
use crate::conversations::Live;
use crate::model::{LogItem, Member, Settings};
use crate::ports::{HistoryEnd, SeqRange, StoreError};
use crate::show::View;

/// A member, and what bounds their sight.
pub(super) struct Viewer {
    pub(super) live: Arc<Live>,
    pub(super) member: Member,
    /// The first entry that they see.
    pub(super) from: Seq,
    pub(super) hides_reading: bool,
}

impl Reading {
    pub(super) async fn viewer(&self, by: UserId, conversation: ConversationId) -> Result<Viewer, ReadError> {
        let (live, member) = self.conversations.of_member(by, conversation).await?;
        let pair = live.read(|state| state.conversation.kind.pair());
        let hiding = async {
            match pair {
                Some(pair) => {
                    let users = self.store.users(&[pair.low(), pair.high()]).await?;
                    Ok::<_, StoreError>(users.iter().any(|user| !user.read_receipts))
                }
                None => Ok(false),
            }
        };
        let (settings, hides_reading): (Settings, bool) =
            tokio::try_join!(self.store.settings(by, conversation), hiding)?;
        Ok(Viewer { from: member.history_from(&settings), live, member, hides_reading })
    }

    /// Messages for one who looks, with what else has to be known about them.
    pub(super) async fn show(
        &self,
        viewer: &Viewer,
        items: Vec<LogItem>,
    ) -> Result<Vec<wire::Message>, StoreError> {
        let known = self.look_up(viewer, &items).await?;
        Ok(viewer.live.read(|state| {
            let view = known.view(viewer, state, self.clock.now());
            // All of them, almost always: room for them is made once.
            let mut messages = Vec::with_capacity(items.len());
            messages.extend(items.into_iter().filter_map(|item| view.message(item)));
            messages
        }))
    }

    pub(super) async fn show_entries(
        &self,
        viewer: &Viewer,
        items: &[LogItem],
    ) -> Result<Vec<wire::LogEntry>, StoreError> {
        let known = self.look_up(viewer, items).await?;
        Ok(viewer.live.read(|state| {
            let view = known.view(viewer, state, self.clock.now());
            items.iter().map(|item| view.entry(item)).collect()
        }))
    }

    /// A part of what is shown to somebody, and whether there is more of it at the other end.
    pub(super) async fn page(
        &self,
        viewer: &Viewer,
        range: SeqRange,
        end: HistoryEnd,
        limit: usize,
    ) -> Result<(Vec<LogItem>, bool), StoreError> {
        let id = viewer.live.id();
        let just_before = Seq::new(viewer.from.get().saturating_sub(1));
        let mut range = SeqRange { after: range.after.max(just_before), ..range };
        let mut items = Vec::new();
        // What is hidden from the user makes room for more.
        loop {
            let missing = limit + 1 - items.len();
            let mut found = self.store.history(id, range, end, missing).await?;
            let is_last = found.len() < missing;
            let (Some(first), Some(last)) = (found.first(), found.last()) else { break };
            let (first, last) = (first.entry.seq, last.entry.seq);
            let hidden = self.hidden(viewer, first, last).await?;
            if !hidden.is_empty() {
                found.retain(|item| !hidden.contains(&item.entry.seq));
            }
            match end {
                HistoryEnd::Oldest => {
                    range.after = last;
                    items.append(&mut found);
                }
                HistoryEnd::Newest => {
                    range.before = first;
                    found.append(&mut items);
                    items = found;
                }
            }
            if is_last || items.len() > limit {
                break;
            }
        }
        let more = items.len() > limit;
        match end {
            HistoryEnd::Oldest => items.truncate(limit),
            HistoryEnd::Newest => drop(items.drain(..items.len().saturating_sub(limit))),
        }
        Ok((items, more))
    }

    /// What the user has deleted for themselves, from one place to another, both included.
    pub(super) async fn hidden(
        &self,
        viewer: &Viewer,
        first: Seq,
        last: Seq,
    ) -> Result<HashSet<Seq>, StoreError> {
        let range = SeqRange { after: Seq::new(first.get().saturating_sub(1)), before: last.next() };
        let hidden = self.store.hidden(viewer.member.user_id, viewer.live.id(), range).await?;
        Ok(hidden.into_iter().collect())
    }

    async fn look_up(&self, viewer: &Viewer, items: &[LogItem]) -> Result<LookedUp, StoreError> {
        let id = viewer.live.id();
        let mut quoted: HashMap<Seq, LogItem> = HashMap::new();
        let mut missing: Vec<Seq> = Vec::new();
        let mut reacted: Vec<(Seq, UserId)> = Vec::new();
        for item in items {
            let Some((message, state)) = item.message() else { continue };
            if !state.reactions.is_empty() {
                reacted.push((item.entry.seq, viewer.member.user_id));
            }
            let Some(reply) = message.reply.filter(|reply| reply.to.seq >= viewer.from) else { continue };
            match items.iter().find(|item| item.entry.seq == reply.to.seq) {
                Some(item) => drop(quoted.insert(reply.to.seq, item.clone())),
                None if !missing.contains(&reply.to.seq) => missing.push(reply.to.seq),
                None => {}
            }
        }
        let found =
            async { if missing.is_empty() { Ok(Vec::new()) } else { self.store.items(id, &missing).await } };
        let own = async {
            if reacted.is_empty() { Ok(Vec::new()) } else { self.store.reactions_by(id, &reacted).await }
        };
        let (found, own) = tokio::try_join!(found, own)?;
        quoted.extend(found.into_iter().flatten().map(|item| (item.entry.seq, item)));
        let own_reactions = reacted.iter().zip(own).filter_map(|((seq, _), own)| Some((*seq, own?)));
        Ok(LookedUp { quoted, own_reactions: own_reactions.collect() })
    }
}

struct LookedUp {
    quoted: HashMap<Seq, LogItem>,
    own_reactions: HashMap<Seq, Box<str>>,
}

impl LookedUp {
    const fn view<'a>(
        &'a self,
        viewer: &Viewer,
        state: &'a crate::model::ConversationState,
        now: Timestamp,
    ) -> View<'a> {
        View {
            state,
            now,
            quoted: &self.quoted,
            own_reactions: &self.own_reactions,
            from: viewer.from,
            hides_reading: viewer.hides_reading,
        }
    }
}
