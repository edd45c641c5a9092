//! What lies between the session's task and the application: updates on their way there, and what was taken on its way
//! back.
//!
//! The task never waits here. Where there is no room it keeps nothing and reads it again later, so an application that
//! is slow, or that waits for a reply before it takes the next update, holds up neither replies nor the connection.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use godwit_protocol::people::User;
use godwit_protocol::socket::CursorEvent;
use godwit_protocol::{ConversationId, Seq, UserId};
use tokio::sync::Notify;

use super::update::Update;

/// Updates that came while there was no room, of which only the latest counts.
const LATE_MAX: usize = 1_000;

/// What replaces what came before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Replaces {
    Cursor(ConversationId, UserId),
    User(UserId),
}

pub(super) enum Item {
    Update(Update),
    /// The conversation begins after this entry.
    Begin(ConversationId, Seq),
    /// All that precedes the token has been put into the queue before it.
    Token(String),
}

pub(super) struct Queue {
    inner: Mutex<Inner>,
    /// Whoever is signed in: what they send needs no acknowledgement.
    pub(super) me: OnceLock<UserId>,
    /// Wakes the application.
    ready: Notify,
    /// Wakes the task: there is room, or something was taken.
    progress: Notify,
}

struct Inner {
    items: VecDeque<Item>,
    items_max: usize,
    /// The task found no room and waits for it.
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

    /// If there is none, [`Queue::progress`] tells when there is.
    pub(super) fn has_room(&self) -> bool {
        let mut inner = self.lock();
        inner.starved = inner.items.len() >= inner.items_max;
        !inner.starved
    }

    /// Also when there is no room: one page may go over the limit, and nothing else is asked for until there is room.
    pub(super) fn push(&self, item: Item) {
        self.lock().push(item);
        self.ready.notify_one();
    }

    pub(super) fn update(&self, update: Update) {
        self.push(Item::Update(update));
    }

    /// What is worth nothing when it is late.
    pub(super) fn update_if_room(&self, update: Update) {
        let mut inner = self.lock();
        if inner.items.len() < inner.items_max {
            inner.push(Item::Update(update));
            self.ready.notify_one();
        }
    }

    /// When there is no room only the latest of each member is kept. False when there is no room for that either.
    #[must_use]
    pub(super) fn cursor(&self, event: CursorEvent) -> bool {
        let key = Replaces::Cursor(event.conversation_id, event.cursor.user_id);
        self.latest(key, Update::Cursor(event))
    }

    /// The same for what a user is called.
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

    /// What the application has taken since the last time.
    pub(super) fn take_taken(&self) -> HashMap<ConversationId, Seq> {
        std::mem::take(&mut self.lock().taken)
    }

    /// Waits until there is room again where there was none, or something was taken.
    pub(super) async fn progress(&self) {
        self.progress.notified().await;
    }

    /// Nothing will come any more.
    pub(super) fn finish(&self) {
        self.lock().finished = true;
        self.ready.notify_one();
    }
}

/// The side of the application.
impl Queue {
    /// The next item; `None` after the last. Can be cancelled without losing one.
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

    /// The server should know that the application has taken this entry.
    pub(super) fn taken(&self, id: ConversationId, seq: Seq) {
        let mut inner = self.lock();
        if inner.taken.is_empty() {
            self.progress.notify_one();
        }
        inner.taken.insert(id, seq);
    }

    /// The server knows by itself.
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
    /// Nothing panics while the lock is held, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn push(&mut self, item: Item) {
        // Nobody cares how it stood with the connection before; and a connection that comes and goes for days while the
        // application takes nothing must not fill the memory.
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
