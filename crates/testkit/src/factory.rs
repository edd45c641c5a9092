//! How the suite gets at a store.

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use godwit_domain::ports::Store;
use tokio::runtime::{Builder, Runtime};

/// Opens the store that is to be checked. It owns what the store stands on, such as a folder that goes away with it.
///
/// It panics where it cannot do its work: then there is nothing to be checked.
#[async_trait]
pub trait StoreFactory: Send + Sync {
    /// Opens a node on the data of this factory; called once for each of [`nodes`](Self::nodes).
    async fn open(&self) -> Arc<dyn Store>;

    /// How many nodes are open on the same data at once. Cases that call concurrently spread their calls over them.
    fn nodes(&self) -> usize {
        1
    }

    /// Closes the store and opens it again on the same data. A backend that cannot gives back the same store.
    async fn reopen(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        store
    }

    /// Whether what was changed is found at the very time that the model has for it. A move may make it up to a minute later,
    /// as [`change_time`](godwit_domain::ports::change_time) does.
    fn keeps_change_times(&self) -> bool {
        true
    }
}

/// Runs on the one runtime that all tests of a process share, so that a store that was opened by one test and is kept
/// for others does not lose its background tasks when the first test ends.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    RUNTIME.block_on(future)
}

// More threads than cores, so that calls interleave also on a small machine.
const RUNTIME_THREADS: usize = 4;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let built = Builder::new_multi_thread().worker_threads(RUNTIME_THREADS).enable_all().build();
    built.expect("a test needs a runtime")
});
