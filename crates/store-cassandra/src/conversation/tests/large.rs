//! Large conversations, whose members are not loaded.

use super::*;

const MEMBERS: usize = 40;

#[tokio::test]
async fn members_of_large_conversations_are_not_loaded() {
    let stage = Stage::new().await;
    let group = stage.scene.large_group(MEMBERS).await.unwrap();
    // Another process, which does not know the conversation.
    let other = open(&stage.cassandra).await;
    let read = |operation| other.conversations.cql.rows_read.of(operation);
    for _ in 0..2 {
        let state = other.load(group.id).await.unwrap().expect("it is there");
        assert_eq!((state.members.len(), state.details.member_count as usize), (0, MEMBERS));
    }
    assert_eq!((read("load members"), read("load cursors")), (0, 0));
    assert_eq!(read("load a conversation"), 2, "its row each time");
    let page = other.members(group.id, Some(group.members[9]), 10).await.unwrap();
    assert_eq!(page.iter().map(|member| member.user_id).collect::<Vec<_>>(), group.members[10..20]);
    assert_eq!((read("list members"), read("read cursors")), (10, 0), "nobody has read anything yet");
}

#[tokio::test]
async fn a_node_that_finds_a_conversation_to_be_large_records_it() {
    let stage = Stage::new().await;
    let group = stage.scene.large_group(MEMBERS).await.unwrap();
    let conversations = stage.conversations();
    let forget = "DELETE fanned_out_on_read FROM log_buckets WHERE conversation_id = ?";
    let forget = conversations.cql.prepare_write(forget).await.unwrap();
    conversations.cql.write("test", &forget, (crate::values::int(group.id.get()),)).await.unwrap();
    assert!(!conversations.marking().read(group.id).await.unwrap().fanned_out_on_read);
    assert_eq!(conversations.load(group.id).await.unwrap().expect("it is there").members, []);
    assert!(conversations.marking().read(group.id).await.unwrap().fanned_out_on_read);
}
