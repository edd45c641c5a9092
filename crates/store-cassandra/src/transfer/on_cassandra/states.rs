//! States of a transfer: handles follow them, writes are refused, and changed parts are returned.

use std::time::Duration;

use godwit_domain::model::{AccountChange, Kind};
use godwit_domain::ports::{ConversationStore, Store};
use godwit_protocol::UserId;
use tokio::time::{Instant, sleep, timeout};

use super::*;

/// How soon every handle knows a new state, on an overloaded machine.
const SOON: Duration = Duration::from_secs(120);
/// Attempts, because the machine may stall for longer than a row in `servers` lives.
const ATTEMPTS_MAX: usize = 5;

#[tokio::test]
async fn all_handles_follow_every_state() {
    let this = Stage::new().await;
    let (transfer, used, scene) = (&this.transfer, &this.used, &this.scene);
    let chat = scene.chat().await.unwrap();
    assert_eq!(transfer.transfer_state().await.unwrap(), TransferState::Not);
    assert_eq!(
        used.set_transfer_state(&held(), out()).await.unwrap(),
        TransferState::Not,
        "it is not what was thought"
    );
    this.go().await;
    assert_eq!(used.transfer_state().await.unwrap(), out());
    scene.send(chat.id, chat.ada, "m2").await.unwrap();
    let changed = BTreeSet::from([Part::Conversation(chat.id), Part::Account(chat.bob)]);
    assert_eq!(this.changed().await, changed);

    this.become_of(out(), held()).await;
    for store in [transfer, used] {
        assert!(is_refused(Scene::new(vec![store.clone()]).user().await));
        store.health().unwrap();
    }
    // The watermark is not written yet, so loading completes the projection.
    assert_eq!(transfer.load(chat.id).await.unwrap().unwrap().head.seq.get(), 2);
    assert_eq!(this.changed().await, BTreeSet::new());
    this.become_of(held(), out()).await;
    let user = scene.user().await.unwrap();
    assert_eq!(this.changed().await, BTreeSet::from([Part::Account(user)]));

    this.become_of(out(), TransferState::Not).await;
    scene.user().await.unwrap();
    this.go().await;
    assert_eq!(this.changed().await, BTreeSet::new(), "what changed while nothing was transferred");

    this.become_of(out(), held()).await;
    this.become_of(held(), gone()).await;
    for store in [transfer, used] {
        assert!(is_refused(Scene::new(vec![store.clone()]).user().await));
        assert!(matches!(store.health(), Err(StoreError::Stopped)));
    }
    assert!(is_refused(used.create(scene.new_group(Kind::Group, &[user]), None).await));
    let late = open(&this.cassandra, this.keyspace).await;
    assert!(matches!(late.health(), Err(StoreError::Stopped)), "also who comes later");
    late.close().await.unwrap();
    this.end().await;
}

#[tokio::test]
async fn a_target_accepts_writes_and_keeps_no_marks() {
    let this = Stage::new().await;
    let arriving = |progress: &str| TransferState::In { from: "there".into(), progress: progress.into() };
    this.become_of(TransferState::Not, arriving("")).await;
    this.scene.user().await.unwrap();
    this.become_of(arriving(""), arriving("half of it")).await;
    assert_eq!(this.changed().await, BTreeSet::new());
    this.become_of(arriving("half of it"), TransferState::Not).await;
    this.end().await;
}

#[tokio::test]
async fn a_state_change_waits_for_earlier_writes() {
    for _ in 0..ATTEMPTS_MAX {
        match changed_while_somebody_writes().await {
            Ok(()) => return,
            Err(error) => {
                println!("the machine stood still for so long that nobody was waited for: {error}");
            }
        }
    }
    panic!("the machine stood still in each of {ATTEMPTS_MAX} attempts");
}

/// Fails if a handle could not renew its row in time: then its write rightly does not count.
async fn changed_while_somebody_writes() -> Result<(), StoreError> {
    let this = Stage::new().await;
    let pass = this.used.gate.enter([]).await.unwrap();
    let transfer = this.transfer.clone();
    let begun = tokio::spawn(async move { transfer.set_transfer_state(&TransferState::Not, out()).await });
    // Longer than the handle takes to learn the state and to renew its row.
    sleep(Duration::from_secs(9)).await;
    let is_waited_for = !begun.is_finished();
    // A write that begins now is marked, in the round that the handle has yet to reach.
    let later = this.used.gate.enter([Part::Account(UserId::new(7))]).await.unwrap();
    pass.leave(Ok(())).await?;
    assert!(is_waited_for);
    assert_eq!(timeout(SOON, begun).await.unwrap().unwrap().unwrap(), out());
    let transfer = this.transfer.clone();
    let changed = tokio::spawn(async move { transfer.changed(10).await });
    sleep(Duration::from_secs(3)).await;
    let is_waited_for = !changed.is_finished();
    later.leave(Ok(())).await?;
    assert!(is_waited_for, "what is marked has not been written yet");
    let changed = timeout(SOON, changed).await.unwrap().unwrap().unwrap();
    assert_eq!(changed.parts, [Part::Account(UserId::new(7))]);
    this.end().await;
    Ok(())
}

#[tokio::test]
async fn a_part_that_changes_while_it_is_copied_is_returned_again() {
    let this = Stage::new().await;
    let (transfer, scene) = (&this.transfer, &this.scene);
    this.go().await;
    let user = scene.user().await.unwrap();
    let first = transfer.changed(10).await.unwrap();
    assert_eq!(first.parts, [Part::Account(user)]);
    assert_eq!(transfer.changed(10).await.unwrap().parts, [Part::Account(user)], "it was not settled");
    touch(&this, user).await;
    transfer.settled(first).await.unwrap();
    let second = transfer.changed(10).await.unwrap();
    assert_eq!(second.parts, [Part::Account(user)], "it changed again before it was settled");
    // A part marked in several completed rounds is returned once.
    touch(&this, user).await;
    let both = transfer.changed(10).await.unwrap();
    assert_eq!(both.parts, [Part::Account(user)]);
    transfer.settled(both).await.unwrap();
    assert_eq!(transfer.changed(10).await.unwrap().parts, []);
    this.end().await;
}

async fn touch(this: &Stage, user: UserId) {
    let note = this.scene.note(user, AccountChange::ProfileUpdated);
    this.used.accounts.note(user, vec![note]).await.unwrap();
}

#[tokio::test]
async fn marked_parts_are_returned_in_pages_until_they_are_settled() {
    let mut this = Stage::new().await;
    this.go().await;
    let mut expected = BTreeSet::new();
    for _ in 0..7 {
        expected.insert(Part::Account(this.scene.user().await.unwrap()));
    }
    let mut found = BTreeSet::new();
    while found.len() < 4 {
        let changed = this.transfer.changed(2).await.unwrap();
        assert_eq!(changed.parts.len(), 2);
        found.extend(changed.parts.iter().cloned());
        this.transfer.settled(changed).await.unwrap();
    }
    // The transferring process stops, and another one continues later.
    this.transfer.close().await.unwrap();
    this.transfer = open(&this.cassandra, this.keyspace).await;
    assert_eq!(this.transfer.transfer_state().await.unwrap(), out());
    let more = this.scene.user().await.unwrap();
    expected.insert(Part::Account(more));
    let rest = this.transfer.changed(100).await.unwrap();
    assert!(rest.parts.contains(&Part::Account(more)), "also what is marked in the round that was current");
    found.extend(parts(rest.clone()));
    assert_eq!(found, expected);
    assert_eq!(rest.parts.len(), 4);
    this.transfer.settled(rest).await.unwrap();
    assert_eq!(this.changed().await, BTreeSet::new());
    this.end().await;
}

#[tokio::test]
async fn a_crashed_handle_is_waited_for_until_its_row_expires() {
    let this = Stage::new().await;
    let dead = open(&this.cassandra, this.keyspace).await;
    drop(dead);
    let begun = Instant::now();
    this.go().await;
    assert!(begun.elapsed() > Duration::from_secs(10), "it was not known to be dead");
    this.end().await;
}
