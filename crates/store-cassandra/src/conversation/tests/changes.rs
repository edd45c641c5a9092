//! A user joins while another node tells the members about a change.

use godwit_domain::model::Kind;
use godwit_domain::ports::{CHANGE_GRAIN_MS, InboxStore, change_time};
use godwit_protocol::Timestamp;

use super::*;

#[tokio::test]
async fn a_user_who_joins_during_a_change_gets_a_row() {
    let mut stage = Stage::new().await;
    let people = stage.people(3);
    let (ada, bob, eve) = (people[0], people[1], people[2]);
    let id = stage.create(stage.scene.new_group(Kind::Group, &[ada, bob])).await;
    let scene = stage.scene.clone();
    // Another node is about to move a cursor in the next minute, and has read the members.
    let members = stage.conversations().members().users(id).await.unwrap();
    let at = scene.now().plus_millis(CHANGE_GRAIN_MS);
    scene.append(scene.batch(id).await.unwrap().add(ada, &[eve]).build()).await.unwrap();
    stage.conversations().touch_these(id, at, &members).await.unwrap();
    for user in [ada, bob, eve] {
        let changed = stage.store.changed_since(user, Timestamp::default(), None, 10).await.unwrap();
        let changed: Vec<_> = changed.iter().map(|row| (row.conversation, row.changed_at)).collect();
        assert_eq!(changed, [(id, change_time(at))], "of {user}, who is one of {people:?}");
    }
}
