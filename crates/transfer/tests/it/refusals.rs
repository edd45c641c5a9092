//! Transfers that are refused.

use std::sync::Arc;

use godwit_domain::ports::{Store, StoreError, TransferState, TransferStore};
use godwit_testkit::Scene;
use godwit_transfer::{Control, Transfer, TransferError, abandon};

use crate::sites::{Folder, Site, controlled, transfer};

async fn two() -> [(Folder, Arc<dyn TransferStore>); 2] {
    let (one, other) = (Folder::new(), Folder::new());
    let stores = [one.open().await, other.open().await];
    let [first, second] = stores;
    [(one, first), (other, second)]
}

async fn add_user(store: &Arc<dyn TransferStore>) -> Result<(), StoreError> {
    let port: Arc<dyn Store> = store.clone();
    Scene::new(vec![port]).user().await.map(drop)
}

#[tokio::test]
async fn a_transfer_to_a_non_empty_store_is_refused() {
    let [(_a, source), (_b, target)] = two().await;
    add_user(&target).await.unwrap();
    assert!(matches!(transfer(&source, &target, 0).run().await, Err(TransferError::NotEmpty(_))));
    assert_eq!(source.transfer_state().await.unwrap(), TransferState::Not);
    assert_eq!(target.transfer_state().await.unwrap(), TransferState::Not);
}

#[tokio::test]
async fn a_transfer_can_be_resumed_only_to_the_same_target() {
    let [(_a, source), (_b, target)] = two().await;
    let control = Arc::new(Control::default());
    let begun = controlled(&source, &target, 0, control.clone());
    control.stop();
    assert!(matches!(begun.run().await, Err(TransferError::Stopped)));
    let other = Folder::new().open().await;
    let elsewhere =
        Transfer::new(source.clone(), other, "place 0".into(), "elsewhere".into(), Arc::default());
    assert!(matches!(elsewhere.run().await, Err(TransferError::NotHere { .. })));
    let from_elsewhere = Transfer::new(
        Folder::new().open().await,
        target.clone(),
        "b".into(),
        "place 1".into(),
        Arc::default(),
    );
    assert!(matches!(from_elsewhere.run().await, Err(TransferError::NotFree { .. })));
    transfer(&source, &target, 0).run().await.unwrap();
}

#[tokio::test]
async fn an_abandoned_source_keeps_its_data_and_can_be_transferred_again() {
    let [(_a, source), (_b, target)] = two().await;
    let control = Arc::new(Control::default());
    let begun = controlled(&source, &target, 0, control.clone());
    control.stop();
    assert!(matches!(begun.run().await, Err(TransferError::Stopped)));
    abandon(&*source, "place 0").await.unwrap();
    assert!(matches!(abandon(&*source, "place 0").await, Err(TransferError::NotHere { .. })));
    add_user(&source).await.unwrap();
    let third = Folder::new();
    transfer(&source, &third.open().await, 0).run().await.unwrap();
}

#[tokio::test]
async fn a_retired_source_refuses_writes_and_transfers() {
    let [(_a, source), (_b, target)] = two().await;
    add_user(&source).await.unwrap();
    transfer(&source, &target, 0).run().await.unwrap();
    assert!(matches!(add_user(&source).await, Err(StoreError::Unavailable { .. })));
    assert_eq!(source.transfer_state().await.unwrap(), TransferState::Gone { to: "place 1".into() });
    let third = Folder::new();
    let again = transfer(&source, &third.open().await, 0).run().await;
    assert!(matches!(again, Err(TransferError::NotHere { .. })));
    add_user(&target).await.unwrap();
}

/// Between the last two steps, the source is retired and the target is not complete yet.
#[tokio::test]
async fn an_interrupted_switch_is_completed() {
    let [(_a, source), (_b, target)] = two().await;
    add_user(&source).await.unwrap();
    let control = Arc::new(Control::default());
    let begun = controlled(&source, &target, 0, control.clone());
    control.stop();
    assert!(matches!(begun.run().await, Err(TransferError::Stopped)));
    let out = source.transfer_state().await.unwrap();
    source.set_transfer_state(&out, TransferState::Gone { to: "place 1".into() }).await.unwrap();
    transfer(&source, &target, 0).run().await.unwrap();
    assert_eq!(target.transfer_state().await.unwrap(), TransferState::Not);
}
