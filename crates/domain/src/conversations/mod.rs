//! Conversations in memory: the newest state of those in use, for every use case that needs one.
//!
//! The cache decides nothing: which entries a log has is settled by the store's compare-and-set alone. A conversation
//! that was dropped here, or changed by another node, is loaded again. What other nodes append they tell
//! ([`Conversations::follow`], [`Conversations::hear_of`]), and are believed in all that gives nobody a right; while it is not certain that they are heard, nothing here is
//! taken for new until it has been compared with the store ([`Conversations::doubt`]).

mod change;
mod live;
mod trust;
mod unsaved;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use godwit_protocol::{ConversationId, Seq, UserId};
use quick_cache::{DefaultHashBuilder, Lifecycle, UnitWeighter};
use thiserror::Error;

pub use change::StateChange;
pub use live::Live;
use trust::Trust;
pub(crate) use unsaved::UnsavedCursors;

use crate::model::{Concealed, Member};
use crate::ports::{CursorMove, Store, StoreError, UnorderedRow};

/// Conversations kept in memory.
pub const CONVERSATIONS_CACHED_MAX: usize = 50_000;
/// Conversations that are loaded at once for one user.
const LOADED_AT_ONCE_MAX: usize = 16;

#[derive(Debug)]
pub struct Conversations {
    store: Arc<dyn Store>,
    cache: quick_cache::sync::Cache<ConversationId, Arc<Live>, UnitWeighter, DefaultHashBuilder, KeepUsed>,
    /// Cursors that have moved in memory and not yet in the store.
    pub(crate) unsaved: UnsavedCursors,
    /// How often it was uncertain whether other nodes are heard.
    doubts: AtomicU64,
    trust: Trust,
    /// Conversations that are being loaded for the first time, with what was heard of them meanwhile.
    loading: Mutex<HashMap<ConversationId, Seq>>,
}

/// Why a conversation cannot be had. Who is not a member is not told that it exists.
#[derive(Debug, Error)]
pub enum AccessError {
    #[error("no such conversation")]
    NotFound,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Conversations {
    pub fn new(store: Arc<dyn Store>) -> Self {
        let cache = quick_cache::sync::Cache::with(
            CONVERSATIONS_CACHED_MAX,
            CONVERSATIONS_CACHED_MAX as u64,
            UnitWeighter,
            DefaultHashBuilder::default(),
            KeepUsed,
        );
        Self {
            store,
            cache,
            unsaved: UnsavedCursors::default(),
            doubts: AtomicU64::new(0),
            trust: Trust::default(),
            loading: Mutex::default(),
        }
    }

    /// The conversation, if the user is a member of it, and the member.
    pub async fn of_member(
        &self,
        user: UserId,
        id: ConversationId,
    ) -> Result<(Arc<Live>, Member), AccessError> {
        let live = self.get(id).await?.ok_or(AccessError::NotFound)?;
        let member = self.member(&live, user).await?.ok_or(AccessError::NotFound)?;
        Ok((live, member))
    }

    /// A member of a conversation that is not deleted.
    pub(crate) async fn member(&self, live: &Live, user: UserId) -> Result<Option<Member>, StoreError> {
        let known = live.read(|state| {
            let is_there = state.details.deleted_at.is_none();
            (!is_there || state.is_whole()).then(|| state.member(user).filter(|_| is_there).cloned())
        });
        match known {
            Some(member) => Ok(member),
            None => self.stored_member(live.id(), user).await,
        }
    }

    /// A member as the store has them, with what it does not know yet.
    pub(crate) async fn stored_member(
        &self,
        id: ConversationId,
        user: UserId,
    ) -> Result<Option<Member>, StoreError> {
        let mut member = self.store.member(id, user).await?;
        if let (Some(member), Some(moved)) = (&mut member, self.unsaved.of(id, user)) {
            member.move_to(moved.cursor, moved.at);
        }
        Ok(member)
    }

    /// The conversation, from memory or from the store. Those who ask for the same one at once cause one read.
    pub async fn get(&self, id: ConversationId) -> Result<Option<Arc<Live>>, StoreError> {
        match self.cache.get_value_or_guard_async(&id).await {
            Ok(live) => {
                if live.is_behind(self.doubts()) {
                    self.catch_up(&live).await?;
                }
                Ok(Some(live))
            }
            Err(vacant) => {
                let doubts = self.doubts();
                let loading = Loading::begin(self, id);
                let Some(mut state) = self.store.load(id).await? else { return Ok(None) };
                self.unsaved.apply_to(&mut state);
                let live = Arc::new(Live::new(state, doubts));
                // Fails only when somebody put one there by other means, which nobody does.
                let _ = vacant.insert(live.clone());
                // Who tells from here on finds it in the cache.
                live.hear_of(loading.end());
                Ok(Some(live))
            }
        }
    }

    /// Returns when what is being appended now is finished, in every conversation that this node appends to.
    pub(crate) async fn settle_all(&self) {
        // What is in use is kept in the cache.
        for (_, live) in self.cache.iter() {
            live.outbox.settle().await;
        }
    }

    /// The same for several, in the order asked.
    pub(crate) async fn get_all(
        &self,
        ids: Vec<ConversationId>,
    ) -> Result<Vec<Option<Arc<Live>>>, StoreError> {
        stream::iter(ids.into_iter().map(|id| self.get(id))).buffered(LOADED_AT_ONCE_MAX).try_collect().await
    }

    /// The conversations of a user that are fanned out on read, also those that were deleted for all.
    pub(crate) async fn large_of(&self, user: UserId) -> Result<Vec<(UnorderedRow, Arc<Live>)>, StoreError> {
        let rows = self.store.fanned_out_on_read(user).await?;
        let found = self.get_all(rows.iter().map(|row| row.conversation).collect()).await?;
        Ok(rows.into_iter().zip(found).filter_map(|(row, live)| Some((row, live?))).collect())
    }

    /// Where the log ends. When that is before `seq`, the store is asked: another node may have gone on.
    pub(crate) async fn head_at_least(&self, live: &Live, seq: Seq) -> Result<Seq, StoreError> {
        if live.read(|state| state.head.seq) < seq {
            self.reload(live).await?;
        }
        Ok(live.read(|state| state.head.seq))
    }

    /// Takes the state from the store again, after somebody else has changed it.
    pub(crate) async fn reload(&self, live: &Live) -> Result<(), StoreError> {
        let doubts = self.doubts();
        if let Some(mut state) = self.store.load(live.id()).await? {
            self.unsaved.apply_to(&mut state);
            live.take_over(state, doubts);
        }
        Ok(())
    }

    /// The same once for all who find it behind.
    async fn catch_up(&self, live: &Live) -> Result<(), StoreError> {
        let _turn = live.reloading.lock().await;
        if live.is_behind(self.doubts()) { self.reload(live).await } else { Ok(()) }
    }

    /// Another node has appended to a conversation, up to `seq`.
    pub(crate) fn hear_of(&self, id: ConversationId, seq: Seq) {
        // First those that are being loaded: they get into the cache before they stop being loaded.
        if let Some(heard) = self.loading().get_mut(&id) {
            *heard = seq.max(*heard);
        }
        if let Some(live) = self.cache.peek(&id) {
            live.hear_of(seq);
        }
    }

    /// Another node has appended this.
    pub(crate) fn follow(&self, change: &StateChange) {
        if let Some(heard) = self.loading().get_mut(&change.conversation) {
            *heard = change.head.seq.max(*heard);
        }
        if let Some(live) = self.cache.peek(&change.conversation) {
            live.follow(change);
        }
    }

    /// A cursor has moved on another node.
    pub(crate) fn cursor_moved(&self, moved: &CursorMove) {
        if let Some(live) = self.cache.peek(&moved.conversation) {
            live.write(|state| {
                if let Some(member) = state.member_mut(moved.user_id) {
                    member.move_to(moved.cursor, moved.at);
                }
            });
        }
    }

    /// The store has a cursor now, as of this time.
    pub(crate) fn cursor_written(&self, moved: &CursorMove) {
        if let Some(live) = self.cache.peek(&moved.conversation) {
            live.write(|state| {
                if let Some(member) = state.member_mut(moved.user_id) {
                    member.moved_at = member.moved_at.max(moved.at);
                }
            });
        }
    }

    /// A member has deleted something for themselves, here or on another node.
    pub(crate) fn conceal(&self, id: ConversationId, user: UserId, concealed: Concealed) {
        if self.loading().contains_key(&id) {
            // What is being loaded may be from before.
            self.doubt();
        }
        if let Some(live) = self.cache.peek(&id) {
            live.write(|state| {
                if let Some(member) = state.member_mut(user) {
                    member.concealed = member.concealed.and(concealed);
                }
            });
        }
    }

    /// Other nodes may have changed anything. Each conversation is compared with the store before it is used again.
    pub(crate) fn doubt(&self) {
        self.doubts.fetch_add(1, Ordering::Relaxed);
    }

    /// From now on, and for this long, everything that other nodes do is heard of. Whoever says so once has to say it again.
    pub(crate) fn trust_for(&self, time: Duration) {
        self.trust.renew(time);
    }

    /// What is in memory, if it is.
    pub(crate) fn known(&self, id: ConversationId) -> Option<Arc<Live>> {
        self.cache.peek(&id)
    }

    fn doubts(&self) -> u64 {
        if self.trust.is_over() {
            self.doubt();
        }
        self.doubts.load(Ordering::Relaxed)
    }

    fn loading(&self) -> MutexGuard<'_, HashMap<ConversationId, Seq>> {
        self.loading.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A conversation that is being loaded for the first time. Ended also when nobody waits for it any more.
struct Loading<'a> {
    conversations: &'a Conversations,
    id: ConversationId,
}

impl<'a> Loading<'a> {
    fn begin(conversations: &'a Conversations, id: ConversationId) -> Self {
        conversations.loading().insert(id, Seq::ZERO);
        Self { conversations, id }
    }

    /// What was heard of it meanwhile.
    fn end(self) -> Seq {
        self.conversations.loading().remove(&self.id).unwrap_or_default()
    }
}

impl Drop for Loading<'_> {
    fn drop(&mut self) {
        self.conversations.loading().remove(&self.id);
    }
}

/// Never drops a conversation that somebody holds: it may have sends under way.
#[derive(Debug, Clone, Copy)]
struct KeepUsed;

impl Lifecycle<ConversationId, Arc<Live>> for KeepUsed {
    type RequestState = ();

    fn is_pinned(&self, _: &ConversationId, live: &Arc<Live>) -> bool {
        Arc::strong_count(live) > 1
    }
}
