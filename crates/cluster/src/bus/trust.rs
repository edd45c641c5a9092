//! Whether everything that other nodes send arrives here. It does if this node hears its own echo, and every
//! other node, each second.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::node::{NodeId, NodeInfo};

/// A node that was not heard for this long may have sent frames that did not arrive. Every node sends one each second.
const SILENCE_MAX: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(crate) struct Trust {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    connected: bool,
    /// When this node last heard its own echo, or subscribed.
    echoed_at: Instant,
    /// The echo in flight, and when it was sent.
    sent: Option<(u64, Instant)>,
    lag: Duration,
    heard_at: HashMap<NodeId, Instant>,
}

impl Trust {
    pub(super) fn new() -> Self {
        let state = State {
            connected: false,
            echoed_at: Instant::now(),
            sent: None,
            lag: Duration::ZERO,
            heard_at: HashMap::new(),
        };
        Self { state: Mutex::new(state) }
    }

    pub(super) fn connected(&self) {
        let mut state = self.lock();
        state.connected = true;
        state.echoed_at = Instant::now();
        state.sent = None;
        state.heard_at.clear();
    }

    pub(super) fn disconnected(&self) {
        self.lock().connected = false;
    }

    pub(super) fn is_connected(&self) -> bool {
        self.lock().connected
    }

    pub(super) fn sent(&self, echo: u64) {
        let mut state = self.lock();
        if state.sent.is_none() {
            state.sent = Some((echo, Instant::now()));
        }
    }

    pub(super) fn echoed(&self, echo: u64) {
        let mut state = self.lock();
        state.echoed_at = Instant::now();
        if let Some((_, sent_at)) = state.sent.take_if(|(sent, _)| *sent <= echo) {
            state.lag = sent_at.elapsed();
        }
    }

    /// True if this is the first frame of the node on this connection.
    pub(super) fn heard(&self, node: NodeId) -> bool {
        self.lock().heard_at.insert(node, Instant::now()).is_none()
    }

    pub(super) fn others_are(&self, others: &[NodeInfo]) {
        self.lock().heard_at.retain(|node, _| others.iter().any(|other| other.id == *node));
    }

    /// Whether this node has not heard its own echo for too long.
    pub(super) fn is_silent(&self) -> bool {
        self.lock().echoed_at.elapsed() > SILENCE_MAX
    }

    pub(super) fn is_certain(&self, others: &[NodeInfo]) -> bool {
        let state = self.lock();
        let is_heard = |node: &NodeInfo| {
            state.heard_at.get(&node.id).is_some_and(|heard_at| heard_at.elapsed() <= SILENCE_MAX)
        };
        state.connected && state.echoed_at.elapsed() <= SILENCE_MAX && others.iter().all(is_heard)
    }

    pub(super) fn lag(&self) -> Duration {
        let state = self.lock();
        // The echo in flight will take at least as long as it has taken so far.
        state.sent.map_or(state.lag, |(_, sent_at)| state.lag.max(sent_at.elapsed()))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
