//! A cache of conversations: the newest state of each one in use, for every use case that needs it.
//!
//! Correctness does not depend on the cache: only the store's compare-and-set decides which entries a log has. A
//! conversation that the cache dropped, or that another node changed, is loaded again.
//!
//! Other nodes announce their changes ([`Conversations::take`]). A node applies such a [`Hint`] directly, unless it could
//! grant rights. A load in progress keeps the hints that arrive, because it may have read the state from before. While hints
//! may be lost, the node compares each state with the store before it uses it ([`Conversations::doubt`]).

mod change;
mod hint;
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
pub(crate) use hint::Hint;
use hint::Kept;
pub use live::Live;
use trust::Trust;
pub(crate) use unsaved::UnsavedCursors;

use crate::model::Member;
use crate::ports::{Store, StoreError, UnorderedRow};

/// Capacity of the cache, in conversations.
pub const CONVERSATIONS_CACHED_MAX: usize = 50_000;
/// Concurrent loads for one user.
const LOADED_AT_ONCE_MAX: usize = 16;

#[derive(Debug)]
pub struct Conversations {
    store: Arc<dyn Store>,
    cache: quick_cache::sync::Cache<ConversationId, Arc<Live>, UnitWeighter, DefaultHashBuilder, KeepUsed>,
    /// Cursors that have moved in memory and are not in the store yet.
    pub(crate) unsaved: UnsavedCursors,
    /// Counts the times when hints from other nodes may have been lost.
    doubts: AtomicU64,
    trust: Trust,
    /// Conversations that are being loaded for the first time, with the hints that have arrived during the load.
    loading: Mutex<HashMap<ConversationId, Kept>>,
}

/// Why a conversation is not accessible. A user who is not a member gets the same answer as for a conversation that does not
/// exist.
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

    /// The conversation and the member, if the user is a member.
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

    /// A member from the store, with the cursor moves that the store does not have yet.
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

    /// The conversation, from memory or from the store. Concurrent loads of the same conversation share one read
    /// (single-flight).
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
                // Hints wait meanwhile. Later ones find the conversation in the cache.
                let mut all_loading = self.loading();
                if !loading.end(&mut all_loading).apply_to(&live) {
                    self.doubt();
                }
                // Fails only if the key was inserted by other means, and no code does that.
                let _ = vacant.insert(live.clone());
                drop(all_loading);
                Ok(Some(live))
            }
        }
    }

    /// Returns when every append that is in progress on this node has finished.
    pub(crate) async fn settle_all(&self) {
        // The cache never evicts a conversation in use, so this covers all of them.
        for (_, live) in self.cache.iter() {
            live.queue.settle().await;
        }
    }

    /// Like [`get`](Self::get) for several conversations, in the order of `ids`.
    pub(crate) async fn get_all(
        &self,
        ids: Vec<ConversationId>,
    ) -> Result<Vec<Option<Arc<Live>>>, StoreError> {
        stream::iter(ids.into_iter().map(|id| self.get(id))).buffered(LOADED_AT_ONCE_MAX).try_collect().await
    }

    /// The conversations of a user that are fanned out on read, including deleted ones.
    pub(crate) async fn large_of(&self, user: UserId) -> Result<Vec<(UnorderedRow, Arc<Live>)>, StoreError> {
        let rows = self.store.fanned_out_on_read(user).await?;
        let found = self.get_all(rows.iter().map(|row| row.conversation).collect()).await?;
        Ok(rows.into_iter().zip(found).filter_map(|(row, live)| Some((row, live?))).collect())
    }

    /// The head of the log. If the state in memory is older than `seq`, it is reloaded first: another node may have
    /// appended.
    pub(crate) async fn head_at_least(&self, live: &Live, seq: Seq) -> Result<Seq, StoreError> {
        if live.read(|state| state.head.seq) < seq {
            self.reload(live).await?;
        }
        Ok(live.read(|state| state.head.seq))
    }

    /// The number of messages in the log up to an entry.
    pub(crate) async fn ordinal_at(&self, live: &Live, seq: Seq) -> Result<u64, StoreError> {
        let at_head = live.read(|state| (state.head.seq == seq).then_some(state.head.ordinal));
        match at_head {
            Some(ordinal) => Ok(ordinal),
            None if seq == Seq::ZERO => Ok(0),
            None => {
                let items = self.store.items(live.id(), &[seq]).await?;
                Ok(items.into_iter().flatten().next().map_or(0, |item| item.entry.ordinal))
            }
        }
    }

    /// Loads the state from the store, after another node has changed it.
    pub(crate) async fn reload(&self, live: &Live) -> Result<(), StoreError> {
        let doubts = self.doubts();
        if let Some(mut state) = self.store.load(live.id()).await? {
            self.unsaved.apply_to(&mut state);
            live.take_over(state, doubts);
        }
        Ok(())
    }

    /// Reloads a state that is behind. Concurrent callers share one reload.
    async fn catch_up(&self, live: &Live) -> Result<(), StoreError> {
        let _turn = live.reloading.lock().await;
        if live.is_behind(self.doubts()) { self.reload(live).await } else { Ok(()) }
    }

    /// Something that this node or another one has changed. A conversation that is not in memory is loaded when it is used.
    pub(crate) fn take(&self, id: ConversationId, hint: &Hint<'_>) {
        let mut loading = self.loading();
        if let Some(kept) = loading.get_mut(&id) {
            kept.add(hint);
        }
        drop(loading);
        if let Some(live) = self.cache.peek(&id) {
            live.take(hint);
        }
    }

    /// Hints may have been lost, so other nodes may have changed anything. Each conversation is compared with the store
    /// before its next use.
    pub(crate) fn doubt(&self) {
        self.doubts.fetch_add(1, Ordering::Relaxed);
    }

    /// For this long, no hint from another node is lost. The caller renews this before the time ends.
    pub(crate) fn trust_for(&self, time: Duration) {
        self.trust.renew(time);
    }

    /// The conversation, if it is in memory.
    pub(crate) fn known(&self, id: ConversationId) -> Option<Arc<Live>> {
        self.cache.peek(&id)
    }

    fn doubts(&self) -> u64 {
        if self.trust.is_over() {
            self.doubt();
        }
        self.doubts.load(Ordering::Relaxed)
    }

    fn loading(&self) -> MutexGuard<'_, HashMap<ConversationId, Kept>> {
        self.loading.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A conversation that is being loaded for the first time. Ends on drop too, if every caller has given up.
struct Loading<'a> {
    conversations: &'a Conversations,
    id: ConversationId,
    has_ended: bool,
}

impl<'a> Loading<'a> {
    fn begin(conversations: &'a Conversations, id: ConversationId) -> Self {
        conversations.loading().insert(id, Kept::default());
        Self { conversations, id, has_ended: false }
    }

    /// The hints that arrived during the load.
    fn end(mut self, all: &mut HashMap<ConversationId, Kept>) -> Kept {
        self.has_ended = true;
        all.remove(&self.id).unwrap_or_default()
    }
}

impl Drop for Loading<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.conversations.loading().remove(&self.id);
        }
    }
}

/// Pins conversations in use, so that the cache does not evict one with an append in progress.
#[derive(Debug, Clone, Copy)]
struct KeepUsed;

impl Lifecycle<ConversationId, Arc<Live>> for KeepUsed {
    type RequestState = ();

    fn is_pinned(&self, _: &ConversationId, live: &Arc<Live>) -> bool {
        Arc::strong_count(live) > 1
    }
}
