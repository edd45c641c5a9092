//! The embedded store passes the suite.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use async_trait::async_trait;
use godwit_domain::ports::Store;
use godwit_protocol::Timestamp;
use godwit_store_embedded::{EmbeddedStore, Options};
use godwit_testkit::{StoreFactory, TestClock, conformance, replay};
use tempfile::TempDir;

/// A temporary folder that can be opened repeatedly and is removed at the end.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder can be made"))
    }

    fn open_at(&self, start_ms: i64) -> Arc<dyn Store> {
        // The clock advances with every read, so that periodic work of the store happens during the tests.
        let clock = TestClock::stepping(Timestamp::from_millis(start_ms), 15_000);
        // Small, so that the tests read tables on disk too.
        let options = Options { cache_bytes: 1 << 20, ..Options::default() };
        let opened = EmbeddedStore::open(self.0.path(), Arc::new(clock), options);
        Arc::new(opened.expect("the folder can be opened"))
    }
}

#[async_trait]
impl StoreFactory for Folder {
    async fn open(&self) -> Arc<dyn Store> {
        self.open_at(1_800_000_000_000)
    }

    async fn reopen(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        drop(store);
        // The clock of the machine was set back.
        self.open_at(1_790_000_000_000)
    }
}

/// A store that concurrent tests share, because creating a folder takes longer than most tests.
struct Shared(Arc<Opened>);

struct Opened {
    // Fields are dropped in this order.
    store: Arc<dyn Store>,
    _folder: Folder,
}

static SHARED: Mutex<Weak<Opened>> = Mutex::new(Weak::new());

impl Shared {
    fn join() -> Self {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = shared.upgrade().unwrap_or_else(|| {
            let folder = Folder::new();
            Arc::new(Opened { store: folder.open_at(1_800_000_000_000), _folder: folder })
        });
        *shared = Arc::downgrade(&opened);
        Self(opened)
    }
}

#[async_trait]
impl StoreFactory for Shared {
    async fn open(&self) -> Arc<dyn Store> {
        self.0.store.clone()
    }
}

godwit_testkit::conformance_tests!(Shared::join());

#[test]
fn all_cases_can_share_one_store() {
    conformance::check_all_at_once(&Folder::new());
}

#[test]
fn the_store_behaves_like_the_model() {
    replay::check_random(&Folder::new(), replay::SEQUENCES);
}
