//! Transfers of all data to another store.

mod changes;
mod rows;
mod states;

use std::sync::atomic::{AtomicI64, Ordering};

use godwit_domain::ports::{Part, TransferState, TransferStore, UserChange};
use godwit_protocol::Timestamp;

use crate::EmbeddedStore;

/// More parts than any test has.
const LIMIT: usize = 100;

fn out() -> TransferState {
    TransferState::Out { to: "elsewhere".into() }
}

fn held() -> TransferState {
    TransferState::Held { to: "elsewhere".into() }
}

/// A different change of a profile each time.
fn some_change() -> UserChange {
    static CHANGES: AtomicI64 = AtomicI64::new(1);
    let seen_at = Timestamp::from_millis(CHANGES.fetch_add(1, Ordering::Relaxed));
    UserChange { last_seen_at: Some(seen_at), ..UserChange::default() }
}

async fn set(store: &EmbeddedStore, from: TransferState, to: TransferState) {
    assert_eq!(store.set_transfer_state(&from, to.clone()).await.unwrap(), to);
}

/// The parts that changed since the last call.
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
