//! A store that is obviously right: plain maps behind one lock, every question answered by looking at everything.
//!
//! It is what the [replay](crate::replay) compares stores with, and a fast store for tests of the domain. It keeps
//! nothing over a restart. The conformance suite runs on it too, so that the two cannot disagree.
//!
//! It believes what an append says of its effects, as every store does: what follows from entries is not its business.
//!
//! It counts its writes, loses answers and lets something else happen at a certain moment when a test asks for it: see
//! [`ModelStore::writes`], [`ModelStore::lose`] and [`ModelStore::before_next_replace`].

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
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use godwit_domain::model::{
    AccountEntry, AccountNote, ClientId, Concealed, Conversation, Details, Device, Entry, Head, InviteToken,
    Member, MessageState, Scheduled, Settings, Star, User,
};
use godwit_domain::ports::{Clock, CursorMove, Store, StoreError, StoredReaction};
use godwit_domain::snowflake::IdGenerator;
use godwit_protocol::limits::ACCOUNT_LOG_ENTRIES_MAX;
use godwit_protocol::{ConversationId, DeviceId, MessageId, ScheduledId, Seq, Timestamp, UserId};

use self::losses::Losses;
pub use self::losses::Lost;
use self::meanwhile::Meanwhile;

#[derive(Debug)]
pub struct ModelStore {
    ids: IdGenerator,
    state: Mutex<State>,
    writes: AtomicU64,
    losses: Losses,
    meanwhile: Meanwhile,
}

/// The state, for one call. A call that reaches for it to change it is counted as one write, whether it finds something to
/// change or not.
struct Held<'a> {
    state: MutexGuard<'a, State>,
    writes: &'a AtomicU64,
    is_written: bool,
}

#[derive(Debug, Default)]
struct State {
    users: BTreeMap<UserId, User>,
    devices: BTreeMap<DeviceId, Device>,
    /// Who blocks whom.
    blocks: BTreeSet<(UserId, UserId)>,
    logs: BTreeMap<ConversationId, Log>,
    /// What was made with a key, by whom.
    made_with: BTreeMap<(UserId, ClientId), ConversationId>,
    invites: BTreeMap<InviteToken, ConversationId>,
    expiries: BTreeSet<(Timestamp, ConversationId, Seq)>,
    /// In whose inbox a conversation is that is fanned out on write.
    listed: BTreeSet<(UserId, ConversationId)>,
    /// Whose conversation it is, where it is fanned out on read.
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
    /// The moves that moved something, in the order in which they were made.
    moves: Vec<CursorMove>,
    /// When something last changed that is not activity, as [`change_time`](godwit_domain::ports::change_time) has it.
    changed_at: Timestamp,
}

#[derive(Debug, Default)]
struct AccountLog {
    head: u64,
    /// The newest entry that was dropped for the length of the log.
    dropped: u64,
    entries: Vec<AccountEntry>,
}

impl ModelStore {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            ids: IdGenerator::new(clock, 0, 0),
            state: Mutex::default(),
            writes: AtomicU64::new(0),
            losses: Losses::default(),
            meanwhile: Meanwhile::default(),
        }
    }

    /// Calls so far that wrote something, or looked for something to write.
    pub fn writes(&self) -> u64 {
        self.writes.load(Ordering::Relaxed)
    }

    /// What becomes of the next appends, in this order; then all go well.
    pub fn lose(&self, losses: impl IntoIterator<Item = Lost>) {
        self.losses.expect(losses);
    }

    /// What somebody else does between a caller's read of a scheduled message and its next
    /// [`replace_scheduled`](godwit_domain::ports::PersonalStore::replace_scheduled).
    pub fn before_next_replace(&self, other: impl Future<Output = ()> + Send + 'static) {
        self.meanwhile.expect(other);
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

    fn write_note(&mut self, note: AccountNote) -> AccountEntry {
        self.account_logs.entry(note.user_id).or_default().write(note)
    }
}

impl AccountLog {
    fn write(&mut self, note: AccountNote) -> AccountEntry {
        self.head += 1;
        let entry = AccountEntry { seq: self.head, at: note.at, change: note.change };
        self.entries.retain(|older| older.change.subject() != entry.change.subject());
        self.entries.push(entry);
        if self.entries.len() > ACCOUNT_LOG_ENTRIES_MAX {
            self.dropped = self.entries.remove(0).seq;
        }
        entry
    }

    fn after(&self, after: u64, limit: usize) -> Option<Vec<AccountEntry>> {
        let complete = after >= self.dropped && after <= self.head;
        complete.then(|| self.entries.iter().filter(|e| e.seq > after).take(limit).copied().collect())
    }
}
