//! A node crashes while it makes a conversation. The next node that looks for it completes it.

use godwit_domain::model::{ClientId, Kind};

use super::super::making::Unique;
use super::*;

/// The last step before the crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Made {
    Claimed,
    Described,
    Begun(Reached),
}

fn all() -> impl Iterator<Item = Made> {
    [Made::Claimed, Made::Described].into_iter().chain(Reached::ALL.map(Made::Begun))
}

async fn die(stage: &Stage, unique: &Unique, new: &NewConversation, made: Made) {
    let conversations = stage.conversations();
    assert!(matches!(conversations.claim(unique, new).await, crate::cql::Outcome::Applied));
    if made >= Made::Described {
        conversations.about().make(&new.conversation).await.unwrap();
    }
    if let Made::Begun(reached) = made {
        let entries = NewEntries {
            conversation: new.conversation.id,
            expected_head: godwit_protocol::Seq::ZERO,
            entries: std::slice::from_ref(&new.created),
            head: &new.effects.head,
        };
        assert_ne!(conversations.log().append(entries).await.unwrap(), Appended::No);
        project_until(conversations, stage.appended.last().expect("it is known"), reached).await;
    }
}

#[tokio::test]
async fn an_interrupted_direct_conversation_is_completed() {
    for made in all() {
        let mut stage = Stage::new().await;
        let people = stage.people(2);
        let (pair, new) = stage.scene.new_direct(people[1], people[0]);
        stage.know(&new);
        stage.model.open_direct(pair, new.clone()).await.unwrap();
        die(&stage, &Unique::Pair(pair), &new, made).await;
        assert_eq!(stage.store.direct_of(pair).await.unwrap(), Some(new.conversation.id), "{made:?}");
        stage.compare().await;
    }
}

#[tokio::test]
async fn an_interrupted_group_with_a_key_is_completed() {
    for made in all() {
        let mut stage = Stage::new().await;
        let people = stage.people(3);
        let key = ClientId::from_stored(stage.scene.word());
        let new = stage.scene.new_group(Kind::Group, &people);
        stage.know(&new);
        stage.model.create(new.clone(), Some(&key)).await.unwrap();
        die(&stage, &Unique::Key(people[0], key.clone()), &new, made).await;
        let again = stage.scene.new_group(Kind::Group, &people);
        let found = stage.store.create(again, Some(&key)).await.unwrap();
        assert_eq!((found.id, found.made), (new.conversation.id, None), "{made:?}");
        stage.compare().await;
    }
}

#[tokio::test]
async fn an_interrupted_group_without_a_key_is_completed_by_a_reader() {
    for reached in Reached::ALL {
        let mut stage = Stage::new().await;
        let people = stage.people(3);
        let new = stage.scene.new_group(Kind::Channel, &people);
        stage.know(&new);
        stage.model.create(new.clone(), None).await.unwrap();
        let conversations = stage.conversations();
        conversations.about().make(&new.conversation).await.unwrap();
        let entries = NewEntries {
            conversation: new.conversation.id,
            expected_head: godwit_protocol::Seq::ZERO,
            entries: std::slice::from_ref(&new.created),
            head: &new.effects.head,
        };
        conversations.log().append(entries).await.unwrap();
        project_until(conversations, &stage.appended[0], reached).await;
        stage.load(new.conversation.id).await;
        stage.compare().await;
        let again = stage.store.create(new, None).await.unwrap();
        assert_eq!(again.made, None);
    }
}
