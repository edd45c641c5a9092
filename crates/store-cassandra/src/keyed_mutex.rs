//! A mutex per key. Contended conditional writes are slow, so the tasks of one process that write to the same
//! partition queue here rather than in Cassandra. Correctness does not depend on it: other processes have
//! mutexes of their own.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

/// Only keys that are locked or waited for take memory.
#[derive(Debug)]
pub(crate) struct KeyedMutex<K> {
    mutexes: Mutex<HashMap<K, Arc<AsyncMutex<()>>>>,
}

/// Holds the mutex of a key until it is dropped.
#[derive(Debug)]
pub(crate) struct Guard<'a, K: Eq + Hash> {
    owner: &'a KeyedMutex<K>,
    key: K,
    mutex: Arc<AsyncMutex<()>>,
    /// `None` while it waits.
    guard: Option<OwnedMutexGuard<()>>,
}

impl<K: Eq + Hash + Clone> KeyedMutex<K> {
    pub(crate) async fn lock(&self, key: K) -> Guard<'_, K> {
        let mutex = self.mutexes().entry(key.clone()).or_default().clone();
        let mut guard = Guard { owner: self, key, mutex: mutex.clone(), guard: None };
        guard.guard = Some(mutex.lock_owned().await);
        guard
    }
}

impl<K> KeyedMutex<K> {
    fn mutexes(&self) -> MutexGuard<'_, HashMap<K, Arc<AsyncMutex<()>>>> {
        self.mutexes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K> Default for KeyedMutex<K> {
    fn default() -> Self {
        Self { mutexes: Mutex::default() }
    }
}

impl<K: Eq + Hash> Drop for Guard<'_, K> {
    fn drop(&mut self) {
        self.guard = None;
        let mut mutexes = self.owner.mutexes();
        // Two references, this guard's and the map's: no other task waits.
        if Arc::strong_count(&self.mutex) == 2 {
            mutexes.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn one_task_per_key_holds_the_mutex_and_unused_keys_are_removed() {
        let mutex = KeyedMutex::<u8>::default();
        let first = mutex.lock(1).await;
        assert!(mutex.lock(1).now_or_never().is_none(), "the second waits, and then gives up");
        let other = mutex.lock(2).now_or_never();
        assert!(other.is_some(), "another key is another matter");
        drop(first);
        assert!(mutex.lock(1).now_or_never().is_some());
        drop(other);
        assert!(mutex.mutexes().is_empty());
    }
}
