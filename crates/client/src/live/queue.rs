//! The bounded queue between the session's task and the application: updates in one direction, acknowledgements in the
//! other.
//!
//! The task never waits for the application. If the queue is full, the task drops the update and reads it again later. An
//! application that is slow, or that waits for a reply before it takes the next update, therefore blocks neither replies nor
//! the connection.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use godwit_protocol::people::User;
use godwit_protocol::socket::CursorEvent;
use godwit_protocol::{ConversationId, Seq, UserId};
use tokio::sync::Notify;

use super::update::Update;

/// The capacity for updates that arrive while the queue is full. Only the latest one of each key is kept.
const LATE_MAX: usize = 1_000;

/// The key under which a later update replaces an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Replaces {
    Cursor(ConversationId, UserId),
    User(UserId),
}

pub(super) enum Item {
    Update(Update),
    /// The conversation begins after this entry.
    Begin(ConversationId, Seq),
    /// Every update that precedes the token is in the queue before it.
    Token(String),
}

pub(super) struct Queue {
    inner: Mutex<Inner>,
    /// The signed-in user, whose own messages need no delivery mark.
    pub(super) me: OnceLock<UserId>,
    /// Wakes the application.
    ready: Notify,
    /// Wakes the task: there is room, or the application has taken an entry.
    progress: Notify,
}

struct Inner {
    items: VecDeque<Item>,
    items_max: usize,
    /// The task has found the queue full and waits for room.
    starved: bool,
    late: HashMap<Replaces, Update>,
    /// The newest entries that the application has taken and the server does not know of.
    taken: HashMap<ConversationId, Seq>,
    finished: bool,
}

/// The side of the task.
impl Queue {
    pub(super) fn new(items_max: usize) -> Self {
        let inner = Inner {
            items: VecDeque::new(),
            items_max: items_max.max(1),
            starved: false,
            late: HashMap::new(),
            taken: HashMap::new(),
            finished: false,
        };
        Self { inner: Mutex::new(inner), me: OnceLock::new(), ready: Notify::new(), progress: Notify::new() }
    }

    /// If it returns false, [`Queue::progress`] tells when there is room.
    pub(super) fn has_room(&self) -> bool {
        let mut inner = self.lock();
        inner.starved = inner.items.len() >= inner.items_max;
        !inner.starved
    }

    /// Adds the item even if the queue is full: one page may exceed the limit, and the task requests nothing more until
    /// there is room.
    pub(super) fn push(&self, item: Item) {
        self.lock().push(item);
        self.ready.notify_one();
    }

    pub(super) fn update(&self, update: Update) {
        self.push(Item::Update(update));
    }

    /// Queues an update that is useless when it is late. Drops it if the queue is full.
    pub(super) fn update_if_room(&self, update: Update) {
        let mut inner = self.lock();
        if inner.items.len() < inner.items_max {
            inner.push(Item::Update(update));
            self.ready.notify_one();
        }
    }

    /// If the queue is full, keeps only the latest move of each member. Returns false if there is no room for that either.
    #[must_use]
    pub(super) fn cursor(&self, event: CursorEvent) -> bool {
        let key = Replaces::Cursor(event.conversation_id, event.cursor.user_id);
        self.latest(key, Update::Cursor(event))
    }

    /// Like [`cursor`](Self::cursor), for the profile of a user.
    #[must_use]
    pub(super) fn user(&self, user: User) -> bool {
        self.latest(Replaces::User(user.id), Update::UserUpdated(user))
    }

    fn latest(&self, key: Replaces, update: Update) -> bool {
        let mut inner = self.lock();
        let is_late = inner.late.contains_key(&key);
        if !is_late && inner.items.len() < inner.items_max {
            inner.push(Item::Update(update));
            self.ready.notify_one();
            return true;
        }
        let is_kept = is_late || inner.late.len() < LATE_MAX;
        if is_kept {
            inner.late.insert(key, update);
        }
        is_kept
    }

    /// The entries that the application has taken since the last call.
    pub(super) fn take_taken(&self) -> HashMap<ConversationId, Seq> {
        std::mem::take(&mut self.lock().taken)
    }

    /// Waits until a full queue has room again, or the application has taken an entry.
    pub(super) async fn progress(&self) {
        self.progress.notified().await;
    }

    /// No more items will come.
    pub(super) fn finish(&self) {
        self.lock().finished = true;
        self.ready.notify_one();
    }
}

/// The side of the application.
impl Queue {
    /// The next item; `None` after the last one. Cancel-safe.
    pub(super) async fn next(&self) -> Option<Item> {
        loop {
            let ready = self.ready.notified();
            if let Some(item) = self.pop() {
                return Some(item);
            }
            if self.lock().finished {
                return None;
            }
            ready.await;
        }
    }

    /// The server should learn that the application has taken this entry.
    pub(super) fn taken(&self, id: ConversationId, seq: Seq) {
        let mut inner = self.lock();
        if inner.taken.is_empty() {
            self.progress.notify_one();
        }
        inner.taken.insert(id, seq);
    }

    /// The server knows it already.
    pub(super) fn known(&self, id: ConversationId) {
        self.lock().taken.remove(&id);
    }

    fn pop(&self) -> Option<Item> {
        let mut inner = self.lock();
        let item = inner.items.pop_front().or_else(|| inner.pop_late());
        if inner.starved && inner.items.len() <= inner.items_max / 2 {
            inner.starved = false;
            self.progress.notify_one();
        }
        item
    }
}

impl Queue {
    /// No code panics while it holds the lock, so the content of a poisoned one is valid.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn push(&mut self, item: Item) {
        // Only the latest state of the connection matters. Otherwise a connection that flaps for days while the application
        // takes nothing would fill the memory.
        let replaces = matches!(item, Item::Update(Update::Connection(_)))
            && matches!(self.items.back(), Some(Item::Update(Update::Connection(_))));
        if replaces {
            self.items.pop_back();
        }
        self.items.push_back(item);
    }

    fn pop_late(&mut self) -> Option<Item> {
        let key = self.late.keys().next().copied()?;
        self.late.remove(&key).map(Item::Update)
    }
}
