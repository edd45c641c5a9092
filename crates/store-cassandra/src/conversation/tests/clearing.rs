//! A member takes a conversation out of the inbox while another node appends.

use godwit_domain::model::{AccountChange, Kind};
use godwit_domain::ports::InboxStore;
use godwit_protocol::Seq;
use godwit_protocol::sync::GoneReason;

use super::*;

const ROUNDS: usize = 12;

#[tokio::test]
async fn an_append_during_clearing_keeps_the_conversation_in_the_inbox() {
    let mut stage = Stage::new().await;
    let people = stage.people(2);
    let (ada, bob) = (people[0], people[1]);
    let id = stage.create(stage.scene.new_group(Kind::Group, &people)).await;
    let (scene, other) = (stage.scene.clone(), Arc::new(open(&stage.cassandra).await));
    let gone = AccountChange::ConversationGone(id, GoneReason::Deleted);
    for round in 0..ROUNDS {
        scene.advance_ms(10);
        // Decided before the clearing, by a node that does not know of it.
        let append = scene.batch(id).await.unwrap().text(ada, &format!("m{round}")).build();
        let (head, note) = (append.expected_head, scene.note(bob, gone));
        let clear = async {
            tokio::time::sleep(std::time::Duration::from_millis(round as u64 * 2)).await;
            stage.store.clear(bob, id, head, 0, note).await.unwrap();
        };
        let send = async {
            assert!(matches!(other.append(&append).await.unwrap(), AppendOutcome::Appended(_)));
        };
        futures_util::future::join(clear, send).await;
        let settings = stage.store.settings(bob, id).await.unwrap();
        assert_eq!(settings.cleared, head);
        let inbox = stage.store.inbox(bob, false, None, 10).await.unwrap();
        assert_eq!(inbox.iter().map(|row| row.conversation).collect::<Vec<_>>(), [id], "in round {round}");
        assert!(!stage.store.member(id, bob).await.unwrap().unwrap().unlisted);
    }
    // Cleared after the message, the conversation stays away until the next one.
    let head = scene.load(id).await.unwrap().head.seq;
    stage.store.clear(bob, id, head, 0, scene.note(bob, gone)).await.unwrap();
    assert_eq!(stage.store.inbox(bob, false, None, 10).await.unwrap(), []);
    assert!(scene.load(id).await.unwrap().member(bob).unwrap().unlisted);
    scene.send(id, ada, "last").await.unwrap();
    assert_eq!(stage.store.inbox(bob, false, None, 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_crash_during_clearing_hides_no_new_entry() {
    let mut stage = Stage::new().await;
    let people = stage.people(2);
    let id = stage.create(stage.scene.new_group(Kind::Group, &people)).await;
    let scene = stage.scene.clone();
    let append = scene.batch(id).await.unwrap().text(people[0], "new").build();
    stage.append(append, Reached::States).await;
    // A crash after the end of the log was read and before it was read again.
    let note = scene.note(people[1], AccountChange::ConversationGone(id, GoneReason::Deleted));
    stage.conversations().members().set_unlisted(id, people[1], Seq::new(1), Seq::new(1)).await.unwrap();
    stage.store.inbox.clear(people[1], id, Seq::new(1), true, note).await.unwrap();
    assert_eq!(stage.store.inbox(people[1], false, None, 10).await.unwrap(), []);
    assert!(!scene.load(id).await.unwrap().member(people[1]).unwrap().unlisted);
    assert_eq!(stage.store.inbox(people[1], false, None, 10).await.unwrap().len(), 1);
}
