//! The inbox: order of pins, archive, unread marks, drafts, deleting for oneself.

use godwit_domain::cursors::CursorError;
use godwit_protocol::accounts::UpdateMe;
use godwit_protocol::conversations::{NewDraft, UpdateMembership};
use godwit_protocol::socket::Event;
use godwit_protocol::sync::{AccountChange, GoneReason};
use godwit_protocol::{ConversationId, Timestamp};

use crate::stage::Stage;

fn pinned(pinned: bool) -> UpdateMembership {
    UpdateMembership { pinned: Some(pinned), ..UpdateMembership::default() }
}

async fn groups(stage: &Stage, ada: godwit_protocol::UserId, count: usize) -> Vec<ConversationId> {
    let mut groups = Vec::new();
    for _ in 0..count {
        stage.clock.advance_ms(1_000);
        groups.push(stage.group(&[ada]).await);
    }
    groups
}

#[tokio::test]
async fn pinned_conversations_come_first_in_the_chosen_order() {
    let stage = Stage::new();
    let ada = stage.user("ada").await;
    let g = groups(&stage, ada, 5).await;
    assert_eq!(stage.inbox(ada).await, [g[4], g[3], g[2], g[1], g[0]]);
    for id in [g[0], g[1], g[2]] {
        stage.app.inbox.update_membership(ada, id, pinned(true)).await.unwrap();
    }
    assert_eq!(stage.inbox(ada).await, [g[2], g[1], g[0], g[4], g[3]]);
    stage.app.inbox.order_pinned(ada, &[g[0], g[2]]).await.unwrap();
    assert_eq!(stage.inbox(ada).await, [g[0], g[2], g[1], g[4], g[3]]);
    // A client that sorts its own list can produce the same order.
    let (shown, _) = stage.app.inbox.page(ada, false, None, 50).await.unwrap();
    let places: Vec<_> = shown.iter().map(|one| one.me.pin_place).collect();
    assert_eq!(places, [Some(0), Some(1), Some(2), None, None]);
    stage.clock.advance_ms(1_000);
    stage.say(ada, g[1], "does not move it").await;
    assert_eq!(stage.inbox(ada).await, [g[0], g[2], g[1], g[4], g[3]]);
    stage.app.inbox.update_membership(ada, g[0], pinned(false)).await.unwrap();
    assert_eq!(stage.inbox(ada).await, [g[2], g[1], g[4], g[3], g[0]]);
    // A conversation that is not pinned is ignored.
    stage.app.inbox.order_pinned(ada, &[g[3]]).await.unwrap();
    assert_eq!(stage.inbox(ada).await, [g[2], g[1], g[4], g[3], g[0]]);
}

#[tokio::test]
async fn archived_conversations_are_a_separate_list_and_not_pinned() {
    let stage = Stage::new();
    let ada = stage.user("ada").await;
    let g = groups(&stage, ada, 2).await;
    stage.app.inbox.update_membership(ada, g[0], pinned(true)).await.unwrap();
    let archive = UpdateMembership { archived: Some(true), ..UpdateMembership::default() };
    let me = stage.app.inbox.update_membership(ada, g[0], archive).await.unwrap();
    assert!(me.archived && !me.pinned);
    assert_eq!(stage.inbox(ada).await, [g[1]]);
    let (archived, _) = stage.app.inbox.page(ada, true, None, 50).await.unwrap();
    assert_eq!(archived[0].id, g[0]);
    let me = stage.app.inbox.update_membership(ada, g[0], pinned(true)).await.unwrap();
    assert!(me.pinned && !me.archived);
    let both = UpdateMembership { archived: Some(true), pinned: Some(true), ..UpdateMembership::default() };
    assert!(stage.app.inbox.update_membership(ada, g[0], both).await.is_err());
}

#[tokio::test]
async fn the_unread_mark_stays_until_the_conversation_is_read() {
    let stage = Stage::new();
    let [ada, bob] = stage.users(["ada", "bob"]).await;
    let group = stage.group(&[ada, bob]).await;
    let message = stage.say(bob, group, "hello").await;
    let mark = UpdateMembership { marked_unread: Some(true), ..UpdateMembership::default() };
    stage.app.inbox.update_membership(ada, group, mark).await.unwrap();
    assert!(stage.row(ada, group).await.me.marked_unread);
    stage.app.cursors.advance(ada, group, Some(message.seq), None).await.unwrap();
    assert!(stage.row(ada, group).await.me.marked_unread);
    stage.app.cursors.advance(ada, group, None, Some(message.seq)).await.unwrap();
    assert!(!stage.row(ada, group).await.me.marked_unread);
}

#[tokio::test]
async fn a_draft_is_shared_between_the_devices_of_one_user() {
    let stage = Stage::new();
    let [ada, bob] = stage.users(["ada", "bob"]).await;
    let group = stage.group(&[ada, bob]).await;
    let (_, token) = stage.app.sync.since(ada, None, 50).await.unwrap();
    let draft = |text: &str| UpdateMembership {
        draft: Some(Some(NewDraft { text: text.into(), reply_to: None })),
        ..UpdateMembership::default()
    };
    for text in ["I w", "I wanted"] {
        stage.app.inbox.update_membership(ada, group, draft(text)).await.unwrap();
    }
    let (page, token) = stage.app.sync.since(ada, Some(token), 50).await.unwrap();
    let AccountChange::MembershipUpdated { membership, .. } = &page.account[0].change else {
        panic!("{:?} is not about the draft", page.account)
    };
    assert_eq!((page.account.len(), &*membership.draft.as_ref().unwrap().text), (1, "I wanted"));
    assert!(stage.row(bob, group).await.me.draft.is_none());
    let none = UpdateMembership { draft: Some(None), ..UpdateMembership::default() };
    stage.app.inbox.update_membership(ada, group, none).await.unwrap();
    assert!(stage.row(ada, group).await.me.draft.is_none());
    assert_eq!(stage.app.sync.since(ada, Some(token), 50).await.unwrap().0.account.len(), 1);
    let empty = stage.app.inbox.update_membership(ada, group, draft("")).await;
    assert!(empty.is_err());
}

/// A client that got no answer repeats the call with the same `up_to`.
#[tokio::test]
async fn deleting_again_for_oneself_leaves_what_came_in_between() {
    let stage = Stage::new();
    let (ada, bob, direct) = stage.pair().await;
    let group = stage.group(&[ada, bob]).await;
    for conversation in [direct, group] {
        let known = stage.say(ada, conversation, "known").await.seq;
        let delete = async || stage.app.inbox.delete_for_me(bob, conversation, Some(known)).await;
        delete().await.unwrap();
        assert_eq!(stage.history(bob, conversation).await, [""; 0]);
        stage.say(ada, conversation, "in between").await;
        let (_, token) = stage.app.sync.since(bob, None, 50).await.unwrap();
        delete().await.unwrap();
        assert_eq!(stage.history(bob, conversation).await, ["in between"]);
        assert!(stage.inbox(bob).await.contains(&conversation));
        let noted = stage.app.sync.since(bob, Some(token), 50).await.unwrap().0.account;
        assert!(noted.is_empty(), "his devices keep it: {noted:?}");
        assert_eq!(stage.second_node().inbox.conversation(bob, conversation).await.unwrap().unread, 1);
    }
}

#[tokio::test]
async fn messages_after_up_to_stay_even_if_they_preceded_the_first_call() {
    let stage = Stage::new();
    let (ada, bob, direct) = stage.pair().await;
    let known = stage.say(ada, direct, "known").await.seq;
    stage.say(ada, direct, "not known").await;
    stage.delivery.take();
    stage.app.inbox.delete_for_me(bob, direct, Some(known)).await.unwrap();
    assert_eq!(stage.history(bob, direct).await, ["not known"]);
    assert_eq!((stage.row(bob, direct).await.unread, stage.inbox(bob).await), (1, vec![direct]));
    let changes = stage.delivery.events_for(bob).into_iter().filter_map(|event| match event {
        Event::Account(entry) => Some(entry.change),
        _ => None,
    });
    let (gone, listed) = match &*changes.collect::<Vec<_>>() {
        [gone, listed] => (gone.clone(), listed.clone()),
        other => panic!("{other:?}"),
    };
    assert!(matches!(gone, AccountChange::ConversationGone { .. }), "his devices drop the past");
    assert!(matches!(listed, AccountChange::ConversationListed { .. }), "and load the rest");
    let ahead = stage.app.inbox.delete_for_me(bob, direct, Some(known.next().next())).await;
    assert!(matches!(ahead, Err(CursorError::AheadOfLog { head }) if head == known.next()));
}

#[tokio::test]
async fn a_conversation_deleted_for_oneself_returns_with_the_next_message_only() {
    let stage = Stage::new();
    let (ada, bob, direct) = stage.pair().await;
    let group = stage.group(&[ada, bob]).await;
    let unread = async |conversation| {
        let row = stage.row(bob, conversation).await;
        (row.unread, row.unread_mentions)
    };
    for conversation in [direct, group] {
        stage.say(ada, conversation, "before").await;
        stage.say(ada, conversation, "before, @bob").await;
        assert_eq!(unread(conversation).await, (2, 1));
        let since = stage.now();
        stage.app.inbox.delete_for_me(bob, conversation, None).await.unwrap();
        assert_eq!(unread(conversation).await, (0, 0), "nothing that he can see is unread");
        assert!(!stage.inbox(bob).await.contains(&conversation));
        assert!(stage.inbox(ada).await.contains(&conversation));
        let gone = stage.app.inbox.gone_since(bob, since).await.unwrap().gone;
        assert!(gone.iter().any(|g| g.conversation_id == conversation && g.reason == GoneReason::Deleted));
        let before = stage.row(bob, conversation).await;
        assert!(before.last_message.is_none());
        stage.clock.advance_ms(1_000);
        stage.say(ada, conversation, "after").await;
        assert_eq!(stage.inbox(bob).await[0], conversation);
        assert_eq!(stage.history(bob, conversation).await, ["after"]);
        assert_eq!(unread(conversation).await, (1, 0), "as many as he can see");
        assert!(stage.history(ada, conversation).await.contains(&"before".to_owned()));
        let gone = stage.app.inbox.gone_since(bob, Timestamp::from_millis(0)).await.unwrap().gone;
        assert!(gone.iter().all(|gone| gone.conversation_id != conversation), "it is back");
    }
}

#[tokio::test]
async fn a_message_that_is_deleted_for_oneself_is_not_unread() {
    let stage = Stage::new();
    let (ada, bob, direct) = stage.pair().await;
    let group = stage.group(&[ada, bob]).await;
    let unread = async |of, conversation| {
        // A node without the conversation in memory returns the same row.
        let row = stage.row(of, conversation).await;
        let again = stage.second_node().inbox.conversation(of, conversation).await.unwrap();
        assert_eq!((row.unread, row.unread_mentions), (again.unread, again.unread_mentions));
        (row.unread, row.unread_mentions)
    };
    for conversation in [direct, group] {
        let calling = stage.say(ada, conversation, "one, @bob").await;
        let second = stage.say(ada, conversation, "two").await;
        let third = stage.say(ada, conversation, "three").await;
        assert_eq!(unread(bob, conversation).await, (3, 1));
        stage.app.writing.delete_for_me(bob, calling.id).await.unwrap();
        assert_eq!(unread(bob, conversation).await, (2, 0));
        stage.app.writing.delete_for_me(bob, third.id).await.unwrap();
        assert_eq!(unread(bob, conversation).await, (1, 0));
        // A message that was read is not subtracted twice, and one user's hidden messages do not affect another's count.
        stage.app.cursors.advance(bob, conversation, None, Some(second.seq)).await.unwrap();
        stage.app.cursors.flush().await.unwrap();
        assert_eq!(unread(bob, conversation).await, (0, 0));
        stage.say(bob, conversation, "four").await;
        assert_eq!(unread(ada, conversation).await, (1, 0));
        stage.say(ada, conversation, "five").await;
        assert_eq!(unread(bob, conversation).await, (1, 0));
    }
}

#[tokio::test]
async fn an_inbox_row_has_the_current_name_of_the_last_sender() {
    let stage = Stage::new();
    let (ada, bob, direct) = stage.pair().await;
    let group = stage.group(&[ada, bob]).await;
    let names = async || {
        let (rows, _) = stage.app.inbox.page(ada, false, None, 50).await.unwrap();
        rows.into_iter().map(|row| row.last_message.unwrap().sender_name).collect::<Vec<_>>()
    };
    stage.clock.advance_ms(1_000);
    stage.say(bob, direct, "hello").await;
    assert_eq!(names().await, [Some("bob".to_owned()), Some("ada".into())]);
    let update = UpdateMe { display_name: Some("Roberto".into()), ..UpdateMe::default() };
    stage.app.accounts.update_me(bob, update).await.unwrap();
    stage.say(bob, group, "hello").await;
    assert_eq!(names().await, [Some("Roberto".to_owned()), Some("Roberto".into())]);
}
