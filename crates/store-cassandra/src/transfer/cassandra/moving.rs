//! Who follows, who is refused, and what is given out.

use std::time::Duration;

use godwit_domain::model::{AccountChange, Kind};
use godwit_domain::ports::{ConversationStore, Store};
use godwit_protocol::UserId;
use tokio::time::{Instant, sleep, timeout};

use super::*;

/// How soon everybody knows what somebody has changed, on a machine that has far too much to do.
const SOON: Duration = Duration::from_secs(120);

#[tokio::test]
async fn everybody_follows_from_the_beginning_to_the_end() {
    let this = Move::new().await;
    let (mover, used, scene) = (&this.mover, &this.used, &this.scene);
    let chat = scene.chat().await.unwrap();
    assert_eq!(mover.moving().await.unwrap(), Moving::Not);
    assert_eq!(used.set_moving(&held(), out()).await.unwrap(), Moving::Not, "it is not what was thought");
    this.go().await;
    assert_eq!(used.moving().await.unwrap(), out());
    scene.send(chat.id, chat.ada, "m2").await.unwrap();
    let changed = BTreeSet::from([Part::Conversation(chat.id), Part::Account(chat.bob)]);
    assert_eq!(this.changed().await, changed);

    this.become_of(out(), held()).await;
    for store in [mover, used] {
        assert!(is_refused(Scene::new(vec![store.clone()]).user().await));
        store.health().unwrap();
    }
    // Its watermark is not written yet, so what follows from it is finished.
    assert_eq!(mover.load(chat.id).await.unwrap().unwrap().head.seq.get(), 2);
    assert_eq!(this.changed().await, BTreeSet::new());
    this.become_of(held(), out()).await;
    let user = scene.user().await.unwrap();
    assert_eq!(this.changed().await, BTreeSet::from([Part::Account(user)]));

    this.become_of(out(), Moving::Not).await;
    scene.user().await.unwrap();
    this.go().await;
    assert_eq!(this.changed().await, BTreeSet::new(), "what changed while nothing was moved");

    this.become_of(out(), held()).await;
    this.become_of(held(), gone()).await;
    for store in [mover, used] {
        assert!(is_refused(Scene::new(vec![store.clone()]).user().await));
        assert!(matches!(store.health(), Err(StoreError::Stopped)));
    }
    assert!(is_refused(used.create(scene.new_group(Kind::Group, &[user]), None).await));
    let late = open(&this.cluster, this.keyspace).await;
    assert!(matches!(late.health(), Err(StoreError::Stopped)), "also who comes later");
    late.close().await.unwrap();
    this.end().await;
}

#[tokio::test]
async fn a_store_that_is_filled_takes_writes_and_keeps_no_marks() {
    let this = Move::new().await;
    let arriving = |progress: &str| Moving::In { from: "there".into(), progress: progress.into() };
    this.become_of(Moving::Not, arriving("")).await;
    this.scene.user().await.unwrap();
    this.become_of(arriving(""), arriving("half of it")).await;
    assert_eq!(this.changed().await, BTreeSet::new());
    this.become_of(arriving("half of it"), Moving::Not).await;
    this.end().await;
}

#[tokio::test]
async fn whoever_changes_it_waits_for_writes_that_began_before() {
    while let Err(error) = changed_while_somebody_writes().await {
        println!("the machine stood still for so long that nobody was waited for, so once more: {error}");
    }
}

/// Fails if somebody could not say in time that they are there: then their write does not count, as it should be.
async fn changed_while_somebody_writes() -> Result<(), StoreError> {
    let this = Move::new().await;
    let pass = this.used.gate.enter([]).await.unwrap();
    let mover = this.mover.clone();
    let begun = tokio::spawn(async move { mover.set_moving(&Moving::Not, out()).await });
    // Longer than it takes until the other one knows, and says that it is there again.
    sleep(Duration::from_secs(9)).await;
    let is_waited_for = !begun.is_finished();
    // Who begins now marks, in the round that the other one has to come to.
    let later = this.used.gate.enter([Part::Account(UserId::new(7))]).await.unwrap();
    pass.leave(Ok(())).await?;
    assert!(is_waited_for);
    assert_eq!(timeout(SOON, begun).await.unwrap().unwrap().unwrap(), out());
    let mover = this.mover.clone();
    let changed = tokio::spawn(async move { mover.changed(10).await });
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
async fn what_changes_while_it_is_copied_is_given_out_again() {
    let this = Move::new().await;
    let (mover, scene) = (&this.mover, &this.scene);
    this.go().await;
    let user = scene.user().await.unwrap();
    let first = mover.changed(10).await.unwrap();
    assert_eq!(first.parts, [Part::Account(user)]);
    assert_eq!(mover.changed(10).await.unwrap().parts, [Part::Account(user)], "it was not settled");
    touch(&this, user).await;
    mover.settled(first).await.unwrap();
    let second = mover.changed(10).await.unwrap();
    assert_eq!(second.parts, [Part::Account(user)], "it changed again before it was settled");
    // Of rounds that are over each part is given out once.
    touch(&this, user).await;
    let both = mover.changed(10).await.unwrap();
    assert_eq!(both.parts, [Part::Account(user)]);
    mover.settled(both).await.unwrap();
    assert_eq!(mover.changed(10).await.unwrap().parts, []);
    this.end().await;
}

async fn touch(this: &Move, user: UserId) {
    let note = this.scene.note(user, AccountChange::ProfileUpdated);
    this.used.accounts.note(user, vec![note]).await.unwrap();
}

#[tokio::test]
async fn marks_are_given_out_in_parts_and_stay_until_they_are_settled() {
    let mut this = Move::new().await;
    this.go().await;
    let mut expected = BTreeSet::new();
    for _ in 0..7 {
        expected.insert(Part::Account(this.scene.user().await.unwrap()));
    }
    let mut found = BTreeSet::new();
    while found.len() < 4 {
        let changed = this.mover.changed(2).await.unwrap();
        assert_eq!(changed.parts.len(), 2);
        found.extend(changed.parts.iter().cloned());
        this.mover.settled(changed).await.unwrap();
    }
    // Whoever moved has gone, and goes on later.
    this.mover.close().await.unwrap();
    this.mover = open(&this.cluster, this.keyspace).await;
    assert_eq!(this.mover.moving().await.unwrap(), out());
    let more = this.scene.user().await.unwrap();
    expected.insert(Part::Account(more));
    let rest = this.mover.changed(100).await.unwrap();
    assert!(rest.parts.contains(&Part::Account(more)), "also what is marked in the round that was current");
    found.extend(parts(rest.clone()));
    assert_eq!(found, expected);
    assert_eq!(rest.parts.len(), 4);
    this.mover.settled(rest).await.unwrap();
    assert_eq!(this.changed().await, BTreeSet::new());
    this.end().await;
}

#[tokio::test]
async fn who_has_died_is_waited_for_until_its_row_ends() {
    let this = Move::new().await;
    let dead = open(&this.cluster, this.keyspace).await;
    drop(dead);
    let begun = Instant::now();
    this.go().await;
    assert!(begun.elapsed() > Duration::from_secs(10), "it was not known to be dead");
    this.end().await;
}
