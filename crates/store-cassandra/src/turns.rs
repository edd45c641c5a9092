//! One at a time, for each key. Contended conditional writes are slow, so those of one process wait for each other here
//! rather than in the cluster. Nothing is right because of it.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

#[derive(Debug)]
pub(crate) struct Turns<K> {
    turns: Mutex<HashMap<K, Arc<AsyncMutex<()>>>>,
}

/// Somebody's turn, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn<'a, K: Eq + Hash> {
    turns: &'a Turns<K>,
    key: K,
    mutex: Arc<AsyncMutex<()>>,
    /// `None` while it waits.
    guard: Option<OwnedMutexGuard<()>>,
}

impl<K: Eq + Hash + Clone> Turns<K> {
    pub(crate) async fn take(&self, key: K) -> Turn<'_, K> {
        let mutex = self.lock().entry(key.clone()).or_default().clone();
        let mut turn = Turn { turns: self, key, mutex: mutex.clone(), guard: None };
        turn.guard = Some(mutex.lock_owned().await);
        turn
    }
}

impl<K> Turns<K> {
    fn lock(&self) -> MutexGuard<'_, HashMap<K, Arc<AsyncMutex<()>>>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K> Default for Turns<K> {
    fn default() -> Self {
        Self { turns: Mutex::default() }
    }
}

impl<K: Eq + Hash> Drop for Turn<'_, K> {
    fn drop(&mut self) {
        self.guard = None;
        let mut turns = self.turns.lock();
        // This one's and the map's: nobody else waits.
        if Arc::strong_count(&self.mutex) == 2 {
            turns.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn one_at_a_time_for_each_key_and_nothing_is_left_behind() {
        let turns = Turns::<u8>::default();
        let first = turns.take(1).await;
        assert!(turns.take(1).now_or_never().is_none(), "the second waits, and then gives up");
        let other = turns.take(2).now_or_never();
        assert!(other.is_some(), "another key is another matter");
        drop(first);
        assert!(turns.take(1).now_or_never().is_some());
        drop(other);
        assert!(turns.lock().is_empty());
    }
}
