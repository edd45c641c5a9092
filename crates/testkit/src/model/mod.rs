//! The reference store: plain maps behind one mutex, and queries that scan everything, so that its correctness is easy to
//! see.
//!
//! The [replay](crate::replay) compares other stores with it, and tests of the domain use it as a fast store. It keeps no
//! data across a restart. The conformance suite runs on it too, so that model and suite cannot disagree.
//!
//! Like every store, it writes the effects of an append as given: it does not derive them from the entries.
//!
//! On request of a test it counts its writes, loses answers, fails reads, has no room, and lets another call happen at a certain
//! moment: see [`ModelStore::writes`], [`ModelStore::lose`], [`ModelStore::fail`], [`ModelStore::fill`] and
//! [`ModelStore::meanwhile`].

mod account;
mod accounts;
mod conversations;
mod effects;
mod inbox;
mod losses;
mod meanwhile;
mod personal;

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use godwit_domain::model::{
    ClientId, Concealed, Conversation, Details, Device, Entry, Head, InviteToken, Member, MessageState,
    Scheduled, Settings, Star, User,
};
use godwit_domain::ports::{Clock, CursorMove, Store, StoreError, StoredReaction};
use godwit_domain::snowflake::IdGenerator;
use godwit_protocol::{ConversationId, DeviceId, MessageId, ScheduledId, Seq, Timestamp, UserId};

use self::account::AccountLog;
use self::losses::{Failures, Losses};
pub use self::losses::{Lost, Read};
use self::meanwhile::Meanwhile;
pub use self::meanwhile::Moment;

#[derive(Debug)]
pub struct ModelStore {
    ids: IdGenerator,
    state: Mutex<State>,
    writes: AtomicU64,
    history_reads: AtomicU64,
    losses: Losses,
    failures: Failures,
    is_full: AtomicBool,
    meanwhile: Meanwhile,
}

/// The locked state during one call. A call that takes mutable access counts as one write, whether it changes something or
/// not.
struct Held<'a> {
    state: MutexGuard<'a, State>,
    writes: &'a AtomicU64,
    is_written: bool,
}

#[derive(Debug, Default)]
struct State {
    users: BTreeMap<UserId, User>,
    devices: BTreeMap<DeviceId, Device>,
    /// (the user who blocks, the blocked user)
    blocks: BTreeSet<(UserId, UserId)>,
    logs: BTreeMap<ConversationId, Log>,
    /// Conversations that were created with a key.
    made_with: BTreeMap<(UserId, ClientId), ConversationId>,
    invites: BTreeMap<InviteToken, ConversationId>,
    expiries: BTreeSet<(Timestamp, ConversationId, Seq)>,
    /// The inbox rows of conversations that are fanned out on write.
    listed: BTreeSet<(UserId, ConversationId)>,
    /// The memberships of conversations that are fanned out on read.
    large: BTreeSet<(UserId, ConversationId)>,
    settings: BTreeMap<(UserId, ConversationId), Settings>,
    hidden: BTreeSet<(UserId, ConversationId, Seq)>,
    concealed: BTreeMap<(UserId, ConversationId), Concealed>,
    stars: BTreeMap<(UserId, MessageId), Star>,
    scheduled: BTreeMap<(UserId, ScheduledId), Scheduled>,
    account_logs: BTreeMap<UserId, AccountLog>,
    signing_key: Option<[u8; 32]>,
}

#[derive(Debug)]
struct Log {
    conversation: Conversation,
    details: Arc<Details>,
    head: Head,
    members: BTreeMap<UserId, Member>,
    entries: Vec<Entry>,
    messages: BTreeMap<Seq, MessageState>,
    reactions: BTreeMap<(Seq, UserId), StoredReaction>,
    /// Replies by the root of their thread and their number in it.
    replies: BTreeMap<(Seq, u32), Seq>,
    /// The moves that changed a cursor, in the order in which they were made.
    moves: Vec<CursorMove>,
    /// The time of the last change that is not activity, as [`change_time`](godwit_domain::ports::change_time) defines it.
    changed_at: Timestamp,
}

impl ModelStore {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            ids: IdGenerator::new(clock, 0, 0),
            state: Mutex::default(),
            writes: AtomicU64::new(0),
            history_reads: AtomicU64::new(0),
            losses: Losses::default(),
            failures: Failures::default(),
            is_full: AtomicBool::new(false),
            meanwhile: Meanwhile::default(),
        }
    }

    /// The number of calls so far that wrote, or took mutable access.
    pub fn writes(&self) -> u64 {
        self.writes.load(Ordering::Relaxed)
    }

    /// The number of pages of history that were read so far.
    pub fn history_reads(&self) -> u64 {
        self.history_reads.load(Ordering::Relaxed)
    }

    /// The outcomes of the next appends, in order. Later ones succeed.
    pub fn lose(&self, losses: impl IntoIterator<Item = Lost>) {
        self.losses.expect(losses);
    }

    /// Lets one read of this kind fail, after this many others of the kind.
    pub fn fail(&self, read: Read, after: usize) {
        self.failures.expect(read, after);
    }

    /// Whether appends are refused for lack of room from now on, except those that only take something away.
    pub fn fill(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::Relaxed);
    }

    /// Runs `other` the next time that a caller reaches this moment.
    pub fn meanwhile(&self, moment: Moment, other: impl Future<Output = ()> + Send + 'static) {
        self.meanwhile.expect(moment, other);
    }

    fn state(&self) -> Held<'_> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        Held { state, writes: &self.writes, is_written: false }
    }
}

impl Deref for Held<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        &self.state
    }
}

impl DerefMut for Held<'_> {
    fn deref_mut(&mut self) -> &mut State {
        self.is_written = true;
        &mut self.state
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.writes.fetch_add(u64::from(self.is_written), Ordering::Relaxed);
    }
}

#[async_trait]
impl Store for ModelStore {
    fn ids(&self) -> &IdGenerator {
        &self.ids
    }

    async fn signing_key(&self, offered: [u8; 32]) -> Result<[u8; 32], StoreError> {
        Ok(*self.state().signing_key.get_or_insert(offered))
    }

    fn health(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

impl State {
    fn conceal(&mut self, user: UserId, conversation: ConversationId, more: Concealed) {
        let concealed = self.concealed.entry((user, conversation)).or_default();
        *concealed = concealed.and(more);
    }

    fn concealed_of(&self, user: UserId, conversation: ConversationId) -> Concealed {
        self.concealed.get(&(user, conversation)).copied().unwrap_or_default()
    }
}
