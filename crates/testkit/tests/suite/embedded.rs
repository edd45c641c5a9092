//! The embedded store passes the suite, each test in a folder of its own.

use std::sync::Arc;

use async_trait::async_trait;
use godwit_domain::ports::Store;
use godwit_protocol::Timestamp;
use godwit_store_embedded::{EmbeddedStore, Options};
use godwit_testkit::{StoreFactory, TestClock, conformance, replay};
use tempfile::TempDir;

struct Embedded {
    folder: TempDir,
}

impl Embedded {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder can be made") }
    }

    fn open_at(&self, start_ms: i64) -> Arc<dyn Store> {
        // It goes on with every look, so that what the store does after a minute is done in the middle of the tests.
        let clock = TestClock::stepping(Timestamp::from_millis(start_ms), 15_000);
        // Small, so that the tests go through the tables on disk too.
        let options = Options { cache_bytes: 1 << 20, worker_threads: 1, ..Options::default() };
        let opened = EmbeddedStore::open(self.folder.path(), Arc::new(clock), options);
        Arc::new(opened.expect("the folder can be opened"))
    }
}

#[async_trait]
impl StoreFactory for Embedded {
    async fn open(&self) -> Arc<dyn Store> {
        self.open_at(1_800_000_000_000)
    }

    async fn reopen(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        drop(store);
        // The clock of the machine was set back meanwhile.
        self.open_at(1_790_000_000_000)
    }
}

godwit_testkit::conformance_tests!(Embedded::new());

#[test]
fn all_cases_can_share_one_store() {
    conformance::check_all_at_once(&Embedded::new());
}

#[test]
fn it_does_what_the_model_does() {
    replay::check_random(&Embedded::new());
}
