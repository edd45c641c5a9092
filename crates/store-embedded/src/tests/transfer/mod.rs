//! Moving everything to another store.

mod changes;
mod rows;
mod states;

use godwit_domain::ports::{Moving, Part, TransferStore};

use crate::EmbeddedStore;

/// More than there is in a test.
const LIMIT: usize = 100;

fn out() -> Moving {
    Moving::Out { to: "elsewhere".into() }
}

fn held() -> Moving {
    Moving::Held { to: "elsewhere".into() }
}

async fn set(store: &EmbeddedStore, from: Moving, to: Moving) {
    assert_eq!(store.set_moving(&from, to.clone()).await.unwrap(), to);
}

/// What has changed since it was asked before.
async fn changes(store: &EmbeddedStore) -> Vec<Part> {
    let changed = store.changed(LIMIT).await.unwrap();
    store.settled(changed.clone()).await.unwrap();
    assert_eq!(store.changed(LIMIT).await.unwrap().parts, [], "they are settled");
    sorted(changed.parts)
}

fn sorted(mut parts: Vec<Part>) -> Vec<Part> {
    parts.sort();
    parts
}
