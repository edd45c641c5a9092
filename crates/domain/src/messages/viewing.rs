//! Loads the data that it takes to show entries to one member.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use godwit_protocol::messages as wire;
use godwit_protocol::messages::MessageStatus;
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};

use super::reading::{ReadError, Reading};
use crate::conversations::Live;
use crate::model::{ConversationState, LogItem, Member};
use crate::ports::{HistoryEnd, SeqRange, StoreError};
use crate::show::{ReactionsNow, View, about, reacted_before};
use crate::sight::{Discretion, Sight};

/// Entries per read once some entries of a page were hidden.
const READ_PAST_HIDDEN: usize = 100;

/// A member who reads a conversation.
pub(super) struct Viewer {
    pub(super) live: Arc<Live>,
    pub(super) member: Member,
    /// The first entry that the member sees.
    pub(super) from: Seq,
}

impl Reading {
    pub(super) async fn viewer(&self, by: UserId, conversation: ConversationId) -> Result<Viewer, ReadError> {
        let (live, member) = self.conversations.of_member(by, conversation).await?;
        Ok(Viewer { from: member.history_from(), live, member })
    }

    /// The sight of the viewer, for these entries.
    pub(super) async fn sight(
        &self,
        viewer: &Viewer,
        asked: impl IntoIterator<Item = Seq>,
    ) -> Result<Sight, StoreError> {
        Sight::of(&*self.store, viewer.live.id(), &viewer.member, asked).await
    }

    /// Converts log items into messages for the viewer, after it has looked up the other data that they show.
    pub(super) async fn show(
        &self,
        viewer: &Viewer,
        items: Vec<LogItem>,
    ) -> Result<Vec<wire::Message>, StoreError> {
        let known = self.look_up(viewer, &items).await?;
        Ok(viewer.live.read(|state| {
            let view = known.view(state, self.clock.now());
            // Almost always every item becomes a message, so the vector is allocated once.
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
            let view = known.view(state, self.clock.now());
            items.iter().map(|item| view.entry(item)).collect()
        }))
    }

    /// A page from one end of a range, without the entries that the viewer cannot see, and whether the range has more of them.
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
        let mut least = 0;
        // Reads on until the page is full, because hidden entries do not count.
        loop {
            let missing = (limit + 1 - items.len()).max(least);
            let mut found = self.store.history(id, range, end, missing).await?;
            let is_last = found.len() < missing;
            let (Some(first), Some(last)) = (found.first(), found.last()) else { break };
            let (first, last) = (first.entry.seq, last.entry.seq);
            let sight = self.sight(viewer, [first, last]).await?;
            found.retain(|item| sight.sees(item.entry.seq));
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
            // A user who has hidden much must not cost a read for every few messages.
            least = READ_PAST_HIDDEN;
        }
        let more = items.len() > limit;
        match end {
            HistoryEnd::Oldest => items.truncate(limit),
            HistoryEnd::Newest => drop(items.drain(..items.len().saturating_sub(limit))),
        }
        Ok((items, more))
    }

    /// Whose read marks may influence the status of these messages. Reads the store only if a status would be READ.
    async fn discretion(&self, viewer: &Viewer, items: &[LogItem]) -> Result<Discretion, StoreError> {
        let asked = viewer.live.read(|state| {
            let is_read = |item: &LogItem| {
                let message = item.entry.message();
                message.is_some_and(|message| {
                    state.status(item.entry.seq, message.sender_id) == MessageStatus::Read
                })
            };
            items.iter().any(is_read).then(|| (state.conversation.kind, state.member_ids()))
        });
        match asked {
            Some((kind, members)) => Discretion::of(&*self.store, viewer.member.user_id, kind, members).await,
            // A mark may move before the messages are shown, so READ must stay hidden.
            None => Ok(Discretion::of_nobody()),
        }
    }

    async fn look_up(&self, viewer: &Viewer, items: &[LogItem]) -> Result<LookedUp, StoreError> {
        let id = viewer.live.id();
        let mut referred: HashMap<Seq, LogItem> = HashMap::new();
        let mut missing: Vec<Seq> = Vec::new();
        let mut reacted: Vec<(Seq, UserId)> = Vec::new();
        for item in items {
            if item.message().is_some_and(|(_, state)| !state.reactions.is_empty()) {
                reacted.push((item.entry.seq, viewer.member.user_id));
            }
            let Some(seq) = about(&item.entry).filter(|seq| *seq >= viewer.from) else { continue };
            match items.binary_search_by_key(&seq, |item| item.entry.seq) {
                Ok(place) => drop(referred.insert(seq, items[place].clone())),
                Err(_) if !missing.contains(&seq) => missing.push(seq),
                Err(_) => {}
            }
        }
        let entries = items.iter().flat_map(|item| about(&item.entry).into_iter().chain([item.entry.seq]));
        let found =
            async { if missing.is_empty() { Ok(Vec::new()) } else { self.store.items(id, &missing).await } };
        let own = async {
            if reacted.is_empty() { Ok(Vec::new()) } else { self.store.reactions_by(id, &reacted).await }
        };
        let (found, own, sight, discretion) =
            tokio::try_join!(found, own, self.sight(viewer, entries), self.discretion(viewer, items))?;
        referred.extend(found.into_iter().flatten().map(|item| (item.entry.seq, item)));
        let own_reactions = reacted.iter().zip(own).filter_map(|((seq, _), own)| Some((*seq, own?)));
        let own_reactions = own_reactions.collect();
        let reactions_now = self.reactions_now(viewer, items, &referred).await?;
        Ok(LookedUp { referred, own_reactions, reactions_now, sight, discretion })
    }

    /// The present reactions of the users in the `Reacted` entries among `items`, as far as they may differ from the entry.
    async fn reactions_now(
        &self,
        viewer: &Viewer,
        items: &[LogItem],
        referred: &HashMap<Seq, LogItem>,
    ) -> Result<ReactionsNow, StoreError> {
        if !viewer.live.read(ConversationState::is_whole) {
            // Entries of a large conversation name nobody.
            return Ok(ReactionsNow::new());
        }
        let now = self.clock.now();
        let asked = items.iter().flat_map(|item| reacted_before(&item.entry, referred, now));
        let asked: Vec<(Seq, UserId)> = asked.collect::<BTreeSet<_>>().into_iter().collect();
        if asked.is_empty() {
            return Ok(ReactionsNow::new());
        }
        let found = self.store.reactions_by(viewer.live.id(), &asked).await?;
        Ok(asked.into_iter().zip(found).collect())
    }
}

struct LookedUp {
    referred: HashMap<Seq, LogItem>,
    own_reactions: HashMap<Seq, Box<str>>,
    reactions_now: ReactionsNow,
    sight: Sight,
    discretion: Discretion,
}

impl LookedUp {
    const fn view<'a>(&'a self, state: &'a ConversationState, now: Timestamp) -> View<'a> {
        View {
            state,
            now,
            referred: &self.referred,
            own_reactions: &self.own_reactions,
            reactions_now: &self.reactions_now,
            sight: &self.sight,
            discretion: &self.discretion,
        }
    }
}
