//! Equal reads that wait together become one query.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use godwit_domain::ports::StoreError;
use tokio::sync::{Mutex as Turn, OnceCell};

use crate::cql::unavailable;

/// Reads by key. While one query for a key is under way, those who ask for the same wait for it to end and then share one
/// query among them. They never share the one under way: it may have read before something that they must see was written.
#[derive(Debug)]
pub(crate) struct Merged<K, V> {
    operation: &'static str,
    reads: Mutex<HashMap<K, Arc<Key<V>>>>,
}

#[derive(Debug)]
struct Key<V> {
    /// Held by the query that is under way.
    turn: Turn<()>,
    /// The query that has not begun, and is shared by all who ask now.
    next: Mutex<Arc<Shared<V>>>,
}

type Shared<V> = OnceCell<Result<V, Arc<str>>>;

impl<K: Eq + Hash + Clone, V: Clone> Merged<K, V> {
    pub(crate) fn new(operation: &'static str) -> Self {
        Self { operation, reads: Mutex::new(HashMap::new()) }
    }

    pub(crate) async fn read<F>(&self, key: K, query: impl FnOnce() -> F) -> Result<V, StoreError>
    where
        F: Future<Output = Result<V, StoreError>>,
    {
        let reader = Reader { merged: self, read: self.join(&key), key };
        let shared = lock(&reader.read.next).clone();
        let answer = shared.get_or_init(|| async {
            let _turn = reader.read.turn.lock().await;
            // From here on it may be too old for whoever asks.
            *lock(&reader.read.next) = Arc::default();
            query().await.map_err(|error| error_text(&error).into())
        });
        answer.await.clone().map_err(|reason| unavailable(self.operation, &*reason))
    }

    fn join(&self, key: &K) -> Arc<Key<V>> {
        let mut reads = lock(&self.reads);
        reads.entry(key.clone()).or_insert_with(|| Arc::new(Key::default())).clone()
    }
}

impl<V> Default for Key<V> {
    fn default() -> Self {
        Self { turn: Turn::default(), next: Mutex::new(Arc::default()) }
    }
}

/// One who asks. The last one leaves nothing behind.
struct Reader<'a, K: Eq + Hash, V> {
    merged: &'a Merged<K, V>,
    read: Arc<Key<V>>,
    key: K,
}

impl<K: Eq + Hash, V> Drop for Reader<'_, K, V> {
    fn drop(&mut self) {
        let mut reads = lock(&self.merged.reads);
        // This one's and the map's.
        if Arc::strong_count(&self.read) == 2 {
            reads.remove(&self.key);
        }
    }
}

fn error_text(error: &StoreError) -> String {
    let source = std::error::Error::source(error).map_or_else(String::new, |source| format!(": {source}"));
    format!("{error}{source}")
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use tokio::sync::Semaphore;

    use super::*;

    #[tokio::test]
    async fn those_who_wait_share_one_query_and_none_gets_an_older_answer() {
        let merged = Arc::new(Merged::<u8, usize>::new("test"));
        let (queries, gate) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
        let ask = || {
            let (merged, queries, gate) = (merged.clone(), queries.clone(), gate.clone());
            tokio::spawn(async move {
                let query = || async {
                    let number = queries.fetch_add(1, Ordering::SeqCst);
                    gate.acquire().await.expect("the gate stays").forget();
                    Ok(number)
                };
                merged.read(7, query).await.expect("the query answers")
            })
        };
        let first = ask();
        while queries.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        let others: Vec<_> = (0..10).map(|_| ask()).collect();
        tokio::time::sleep(Duration::from_millis(20)).await;
        gate.add_permits(2);
        assert_eq!(first.await.expect("it ends"), 0);
        for other in others {
            assert_eq!(other.await.expect("it ends"), 1, "a query that was under way must not be shared");
        }
        assert_eq!(queries.load(Ordering::SeqCst), 2);
        assert!(lock(&merged.reads).is_empty(), "nothing is left behind");
    }

    #[tokio::test]
    async fn a_reader_who_goes_away_leaves_the_others_an_answer() {
        let merged = Arc::new(Merged::<u8, usize>::new("test"));
        let never = merged.clone();
        let given_up = tokio::spawn(async move { never.read(1, std::future::pending).await });
        tokio::task::yield_now().await;
        let other = merged.clone();
        let other = tokio::spawn(async move { other.read(1, || async { Ok(5) }).await });
        tokio::task::yield_now().await;
        given_up.abort();
        assert_eq!(other.await.expect("it ends").expect("it is answered"), 5);
    }
}
