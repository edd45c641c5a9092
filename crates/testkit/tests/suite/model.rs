//! The model passes the suite: neither asks for something that the other does not know.

use std::sync::Arc;

use async_trait::async_trait;
use godwit_domain::ports::Store;
use godwit_testkit::{ModelStore, StoreFactory, TestClock, conformance, replay};

struct Model;

#[async_trait]
impl StoreFactory for Model {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(ModelStore::new(Arc::new(TestClock::default())))
    }
}

godwit_testkit::conformance_tests!(Model);

#[test]
fn all_cases_can_share_one_store() {
    conformance::check_all_at_once(&Model);
}

#[test]
fn it_does_what_the_model_does() {
    replay::check_random(&Model);
}
