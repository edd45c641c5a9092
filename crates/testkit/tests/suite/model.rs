//! The model passes the suite, so neither requires anything that the other lacks.

use std::sync::Arc;

use async_trait::async_trait;
use godwit_domain::ports::Store;
use godwit_testkit::{ModelStore, StoreFactory, TestClock, conformance, replay};

struct Model(Arc<ModelStore>);

impl Model {
    fn new() -> Self {
        Self(Arc::new(ModelStore::new(Arc::new(TestClock::default()))))
    }
}

#[async_trait]
impl StoreFactory for Model {
    async fn open(&self) -> Arc<dyn Store> {
        self.0.clone()
    }

    /// Irrelevant to the model, but runs the suite as stores with several nodes do.
    fn nodes(&self) -> usize {
        2
    }
}

godwit_testkit::conformance_tests!(Model::new());

#[test]
fn all_cases_can_share_one_store() {
    conformance::check_all_at_once(&Model::new());
}

#[test]
fn the_store_behaves_like_the_model() {
    replay::check_random(&Model::new(), replay::SEQUENCES);
}
