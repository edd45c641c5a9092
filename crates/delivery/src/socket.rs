//! One open socket.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use godwit_protocol::socket::CloseCode;
use godwit_protocol::{ConversationId, DeviceId, Timestamp, UserId};

use crate::outgoing::Outgoing;

/// A socket, shared by the hub and the task of the socket.
#[derive(Debug)]
pub struct Socket {
    pub(crate) id: u64,
    pub outgoing: Outgoing,
    /// The owner, once the socket is signed in. Never changes after that.
    owner: OnceLock<(UserId, DeviceId)>,
    /// When the socket closes: first unless it signs in, and later unless it gets a fresh token.
    deadline_ms: AtomicI64,
    /// By the hub's own clock, which advances with each sweep.
    heard_ms: AtomicU64,
    pinged_ms: AtomicU64,
    pub(crate) watching: Mutex<Vec<UserId>>,
    /// Large conversations that the socket follows.
    following: Mutex<Vec<ConversationId>>,
}

/// A deadline that never comes.
const NEVER: i64 = i64::MAX;

impl Socket {
    pub(crate) fn new(id: u64, outgoing: Outgoing, sign_in_by: Timestamp, now_ms: u64) -> Self {
        Self {
            id,
            outgoing,
            owner: OnceLock::new(),
            deadline_ms: AtomicI64::new(sign_in_by.as_millis()),
            heard_ms: AtomicU64::new(now_ms),
            pinged_ms: AtomicU64::new(now_ms),
            watching: Mutex::default(),
            following: Mutex::default(),
        }
    }

    pub fn owner(&self) -> Option<(UserId, DeviceId)> {
        self.owner.get().copied()
    }

    /// Returns `false` when the socket already belongs to another device.
    pub(crate) fn set_owner(&self, user: UserId, device: DeviceId) -> bool {
        *self.owner.get_or_init(|| (user, device)) == (user, device)
    }

    pub(crate) fn set_deadline(&self, at: Option<Timestamp>) {
        self.deadline_ms.store(at.map_or(NEVER, Timestamp::as_millis), Ordering::Relaxed);
    }

    pub(crate) fn heard_at(&self, now_ms: u64) {
        self.heard_ms.store(now_ms, Ordering::Relaxed);
    }

    pub(crate) fn last_heard_ms(&self) -> u64 {
        self.heard_ms.load(Ordering::Relaxed)
    }

    /// Closes the socket if its deadline or its heartbeat has passed, and pings it if that is due.
    pub(crate) fn sweep(&self, now: Timestamp, now_ms: u64, heartbeat_ms: u64) {
        if now.as_millis() >= self.deadline_ms.load(Ordering::Relaxed) {
            let signed_in = self.owner.get().is_some();
            self.outgoing.close(if signed_in { CloseCode::TokenExpired } else { CloseCode::SignInTimeout });
        } else if now_ms.saturating_sub(self.heard_ms.load(Ordering::Relaxed)) > 2 * heartbeat_ms {
            self.outgoing.close(CloseCode::HeartbeatTimeout);
        } else if now_ms.saturating_sub(self.pinged_ms.load(Ordering::Relaxed)) >= heartbeat_ms {
            self.pinged_ms.store(now_ms, Ordering::Relaxed);
            self.outgoing.ping();
        }
    }

    /// Replaces the watched users, and returns the previous ones.
    pub(crate) fn watch(&self, users: Vec<UserId>) -> Vec<UserId> {
        std::mem::replace(&mut *self.watching.lock().unwrap_or_else(PoisonError::into_inner), users)
    }

    pub(crate) fn watched(&self) -> Vec<UserId> {
        self.watching.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn stop_watching(&self, user: UserId) {
        self.watching.lock().unwrap_or_else(PoisonError::into_inner).retain(|watched| *watched != user);
    }

    pub(crate) fn follow(&self, conversation: ConversationId) {
        let mut following = self.following.lock().unwrap_or_else(PoisonError::into_inner);
        if !following.contains(&conversation) {
            following.push(conversation);
        }
    }

    pub(crate) fn unfollow(&self, conversation: ConversationId) {
        let mut following = self.following.lock().unwrap_or_else(PoisonError::into_inner);
        following.retain(|followed| *followed != conversation);
    }

    pub(crate) fn followed(&self) -> Vec<ConversationId> {
        self.following.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
