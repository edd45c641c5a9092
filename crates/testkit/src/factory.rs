//! How the suite opens a store.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use async_trait::async_trait;
use godwit_domain::ports::Store;
use tokio::runtime::{Builder, Runtime};

/// Opens the store to check. The factory owns the store's resources, such as a temporary folder.
///
/// Panics if it cannot open one: then there is nothing to check.
#[async_trait]
pub trait StoreFactory: Send + Sync {
    /// Opens a node on the data of this factory. Called once for each of [`nodes`](Self::nodes).
    async fn open(&self) -> Arc<dyn Store>;

    /// The number of nodes that are open on the same data at once. Concurrent cases spread their calls over them.
    fn nodes(&self) -> usize {
        1
    }

    /// Closes the store and opens it again on the same data. A backend that cannot do so returns the same store.
    async fn reopen(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        store
    }

    /// The time limit of a case, far longer than any case takes, so that a case that hangs fails.
    fn patience(&self) -> Duration {
        Duration::from_secs(60)
    }

    /// True if changes have exactly the time that the model has for them. A transfer may make it up to a minute later, as
    /// [`change_time`](godwit_domain::ports::change_time) does.
    fn keeps_change_times(&self) -> bool {
        true
    }
}

/// Runs on the single runtime that all tests of a process share, so that the background tasks of a shared store outlive the
/// test that opened it.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    RUNTIME.block_on(future)
}

// More threads than cores, so that calls interleave on a small machine too.
const RUNTIME_THREADS: usize = 4;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let built = Builder::new_multi_thread().worker_threads(RUNTIME_THREADS).enable_all().build();
    built.expect("a test needs a runtime")
});
