//! Single-flight: concurrent reads of the same key share one query.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use godwit_domain::ports::StoreError;
use tokio::sync::{Mutex as AsyncMutex, OnceCell};

use crate::cql::unavailable;

/// Reads by key. While a query for a key is in flight, callers that ask for the same key wait for its end, and then share
/// one new query. They never share the query in flight: it may have read before a write that they must see.
///
/// ```text
/// query 1   ├──────────────┤                    answers the first caller
/// callers       b   c   d
/// query 2                   ├──────────────┤    answers b, c and d
/// ```
#[derive(Debug)]
pub(crate) struct SingleFlight<K, V> {
    operation: &'static str,
    reads: Mutex<HashMap<K, Arc<Key<V>>>>,
}

#[derive(Debug)]
struct Key<V> {
    /// Held by the query in flight.
    in_flight: AsyncMutex<()>,
    /// The query that has not begun. All callers that ask now share it.
    next: Mutex<Arc<Shared<V>>>,
}

type Shared<V> = OnceCell<Result<V, Arc<str>>>;

impl<K: Eq + Hash + Clone, V: Clone> SingleFlight<K, V> {
    pub(crate) fn new(operation: &'static str) -> Self {
        Self { operation, reads: Mutex::new(HashMap::new()) }
    }

    pub(crate) async fn read<F>(&self, key: K, query: impl FnOnce() -> F) -> Result<V, StoreError>
    where
        F: Future<Output = Result<V, StoreError>>,
    {
        let reader = Reader { owner: self, read: self.join(&key), key };
        let shared = lock(&reader.read.next).clone();
        let answer = shared.get_or_init(|| async {
            let _in_flight = reader.read.in_flight.lock().await;
            // Later callers need a newer answer than this query may give.
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
        Self { in_flight: AsyncMutex::default(), next: Mutex::new(Arc::default()) }
    }
}

/// A caller. The last one for a key removes the key.
struct Reader<'a, K: Eq + Hash, V> {
    owner: &'a SingleFlight<K, V>,
    read: Arc<Key<V>>,
    key: K,
}

impl<K: Eq + Hash, V> Drop for Reader<'_, K, V> {
    fn drop(&mut self) {
        let mut reads = lock(&self.owner.reads);
        // Two references, this caller's and the map's: no other caller waits.
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
    async fn waiting_callers_share_one_query_and_never_an_older_answer() {
        let flights = Arc::new(SingleFlight::<u8, usize>::new("test"));
        let (queries, gate) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
        let ask = || {
            let (flights, queries, gate) = (flights.clone(), queries.clone(), gate.clone());
            tokio::spawn(async move {
                let query = || async {
                    let number = queries.fetch_add(1, Ordering::SeqCst);
                    gate.acquire().await.expect("the gate stays").forget();
                    Ok(number)
                };
                flights.read(7, query).await.expect("the query answers")
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
        assert!(lock(&flights.reads).is_empty(), "nothing is left behind");
    }

    #[tokio::test]
    async fn a_cancelled_caller_does_not_cancel_the_others() {
        let flights = Arc::new(SingleFlight::<u8, usize>::new("test"));
        let never = flights.clone();
        let given_up = tokio::spawn(async move { never.read(1, std::future::pending).await });
        tokio::task::yield_now().await;
        let other = flights.clone();
        let other = tokio::spawn(async move { other.read(1, || async { Ok(5) }).await });
        tokio::task::yield_now().await;
        given_up.abort();
        assert_eq!(other.await.expect("it ends").expect("it is answered"), 5);
    }
}
