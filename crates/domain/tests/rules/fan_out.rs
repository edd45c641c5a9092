//! Large conversations, which are not written to every member's inbox.

use godwit_domain::groups::MemberFilter;
use godwit_protocol::conversations::{Role, UpdateMembership};
use godwit_protocol::socket::CloseCode;
use godwit_protocol::sync::GoneReason;
use godwit_protocol::{ConversationId, Timestamp, UserId};
use godwit_testkit::delivery::Delivered;
use godwit_testkit::{Moment, Read};

use crate::stage::{MESSAGES, Stage, saying};

async fn many(stage: &Stage, count: u32) -> Vec<UserId> {
    let mut users = Vec::new();
    for number in 0..count {
        users.push(stage.user(&format!("user{number}")).await);
    }
    users
}

/// A group that the last user has just made large.
async fn large(stage: &Stage) -> (Vec<UserId>, ConversationId) {
    let users = many(stage, MESSAGES.fan_out_members_max + 1).await;
    let (last, first) = users.split_last().unwrap();
    let group = stage.group(first).await;
    stage.app.groups.add_members(users[0], group, &[*last]).await.unwrap();
    (users, group)
}

#[tokio::test]
async fn growing_into_a_large_conversation_neither_loses_nor_duplicates_inbox_rows() {
    let stage = Stage::new();
    let users = many(&stage, MESSAGES.fan_out_members_max + 2).await;
    let group = stage.group(&users[..4]).await;
    let other = stage.group(&users).await;
    let pin = UpdateMembership { pinned: Some(true), ..UpdateMembership::default() };
    stage.app.inbox.update_membership(users[1], group, pin).await.unwrap();
    assert!(!stage.row(users[0], group).await.large);
    assert!(stage.row(users[0], other).await.large, "it began with too many");
    stage.app.groups.add_members(users[0], group, &users[4..]).await.unwrap();
    for app in [stage.app.clone(), stage.second_node()] {
        for user in &users {
            let (rows, _) = app.inbox.page(*user, false, None, 50).await.unwrap();
            let mut ids: Vec<_> = rows.iter().map(|row| row.id).collect();
            assert!(rows.iter().all(|row| row.large));
            if *user == users[1] {
                assert_eq!((ids[0], rows[0].me.pinned), (group, true), "what was pinned is pinned");
            }
            ids.sort_unstable();
            assert_eq!(ids, [group, other]);
        }
    }
}

#[tokio::test]
async fn large_conversations_have_the_same_activity_unread_counts_and_order() {
    let stage = Stage::new();
    let (users, group) = large(&stage).await;
    stage.clock.advance_ms(1_000);
    let small = stage.group(&users[..2]).await;
    assert_eq!(stage.inbox(users[1]).await, [small, group]);
    stage.clock.advance_ms(1_000);
    let message = stage.say(users[0], group, "hello @user1").await;
    assert_eq!(stage.inbox(users[1]).await, [group, small]);
    let row = stage.row(users[1], group).await;
    assert_eq!((row.unread, row.unread_mentions, row.cursors.len()), (1, 1, 1));
    assert_eq!(stage.row(users[2], group).await.unread_mentions, 0);
    stage.app.cursors.advance(users[1], group, None, Some(message.seq)).await.unwrap();
    let row = stage.row(users[1], group).await;
    assert_eq!((row.unread, row.unread_mentions), (0, 0));
    stage.app.cursors.flush().await.unwrap();
    let row = stage.second_node().inbox.conversation(users[1], group).await.unwrap();
    assert_eq!((row.unread, row.unread_mentions), (0, 0));
    let (page, _) = stage.app.inbox.page(users[1], false, None, 1).await.unwrap();
    assert_eq!(page[0].id, group);
    let (synced, token) = stage.app.sync.since(users[1], None, 50).await.unwrap();
    assert_eq!(synced.conversations.len(), 2);
    stage.clock.advance_ms(3_600_000);
    stage.say(users[0], group, "later").await;
    let (synced, _) = stage.app.sync.since(users[1], Some(token), 50).await.unwrap();
    assert_eq!(synced.conversations[0].id, group);
}

#[tokio::test]
async fn only_connected_members_receive_events_of_large_conversations() {
    let stage = Stage::new();
    stage.delivery.set_online(stage.user("early").await, true);
    let (users, group) = large(&stage).await;
    stage.delivery.set_online(users[1], true);
    stage.app.presence.came_online(users[1]).await.unwrap();
    assert_eq!(stage.delivery.followers_of(group), [users[1]]);
    stage.delivery.take();
    stage.say(users[0], group, "hello").await;
    assert_eq!((stage.heard(users[1]), stage.heard(users[2])), (vec!["message".to_owned()], vec![]));
    stage.app.groups.remove_member(users[0], group, users[1]).await.unwrap();
    assert!(stage.delivery.followers_of(group).is_empty());
    stage.delivery.set_online(users[2], true);
    stage.app.groups.set_role(users[0], group, users[3], Role::Admin).await.unwrap();
    let late = stage.user("late").await;
    stage.delivery.set_online(late, true);
    stage.app.groups.add_members(users[3], group, &[late]).await.unwrap();
    assert_eq!(stage.delivery.followers_of(group), [late]);
}

#[tokio::test]
async fn a_member_removed_while_connecting_does_not_follow() {
    let stage = Stage::new();
    let (users, group) = large(&stage).await;
    let (ada, bob) = (users[0], users[1]);
    stage.delivery.set_online(bob, true);
    let app = stage.app.clone();
    stage.store.meanwhile(Moment::AfterMember, async move {
        app.groups.remove_member(ada, group, bob).await.unwrap();
    });
    stage.app.presence.came_online(bob).await.unwrap();
    assert_eq!(stage.delivery.followers_of(group), []);
    stage.say(ada, group, "among us").await;
    assert!(stage.heard(bob).is_empty());
}

#[tokio::test]
async fn a_conversation_cleared_while_connecting_stays_cleared() {
    let stage = Stage::new();
    let (users, group) = large(&stage).await;
    let (ada, bob) = (users[0], users[1]);
    let old = stage.say(ada, group, "old").await;
    stage.delivery.set_online(bob, true);
    let app = stage.app.clone();
    stage.store.meanwhile(Moment::AfterMember, async move {
        app.inbox.delete_for_me(bob, group, None).await.unwrap();
    });
    stage.app.presence.came_online(bob).await.unwrap();
    stage.app.writing.edit(ada, old.id, "new".to_owned()).await.unwrap();
    assert_eq!(stage.heard(bob), ["withheld"]);
}

/// A socket that does not follow the conversations of its user gets nothing from them, so it must not stay open.
#[tokio::test]
async fn a_user_whose_membership_cannot_be_read_again_is_disconnected() {
    let stage = Stage::new();
    let (users, group) = large(&stage).await;
    let bob = users[1];
    stage.delivery.set_online(bob, true);
    // The first read finds the membership. The second one, after the user follows, fails.
    stage.store.fail(Read::Member, 1);
    stage.app.presence.came_online(bob).await.unwrap_err();
    assert_eq!(closed(&stage), [(bob, CloseCode::Internal)]);
    stage.delivery.set_online(bob, false);
    stage.delivery.set_online(bob, true);
    stage.app.presence.came_online(bob).await.unwrap();
    assert_eq!((stage.delivery.followers_of(group), closed(&stage)), (vec![bob], vec![]));
    // The same while somebody is added: the addition stands.
    let late = stage.user("late").await;
    stage.delivery.set_online(late, true);
    stage.store.meanwhile(Moment::AfterAppend, {
        let store = stage.store.clone();
        async move { store.fail(Read::Member, 0) }
    });
    let added = stage.app.groups.add_members(users[0], group, &[late]).await.unwrap();
    assert!(added[0].added);
    assert_eq!(closed(&stage), [(late, CloseCode::Internal)]);
}

/// The caller closes the socket then.
#[tokio::test]
async fn a_user_whose_large_conversations_cannot_be_read_does_not_come_online() {
    let stage = Stage::new();
    let (users, group) = large(&stage).await;
    stage.delivery.set_online(users[1], true);
    for read in [Read::FannedOutOnRead, Read::Member] {
        stage.store.fail(read, 0);
        stage.app.presence.came_online(users[1]).await.unwrap_err();
        assert_eq!(stage.delivery.followers_of(group), [], "{read:?}");
    }
    stage.app.presence.came_online(users[1]).await.unwrap();
    assert_eq!(stage.delivery.followers_of(group), [users[1]]);
}

/// The users whose sockets were closed since the test last took the deliveries.
fn closed(stage: &Stage) -> Vec<(UserId, CloseCode)> {
    let closed = stage.delivery.take().into_iter().filter_map(|delivered| match delivered {
        Delivered::UserClosed(user, code) => Some((user, code)),
        _ => None,
    });
    closed.collect()
}

/// Another node removes a member who was just added, before the node that added them has told its sockets.
#[tokio::test]
async fn a_member_removed_right_after_being_added_does_not_follow() {
    let stage = Stage::new();
    let (users, group) = large(&stage).await;
    let ada = users[0];
    let late = stage.user("late").await;
    stage.delivery.set_online(late, true);
    let node = stage.second_node();
    stage.store.meanwhile(Moment::AfterAppend, async move {
        node.groups.remove_member(ada, group, late).await.unwrap();
    });
    stage.app.groups.add_members(ada, group, &[late]).await.unwrap();
    assert_eq!(stage.delivery.followers_of(group), []);
}

#[tokio::test]
async fn a_member_leaving_right_after_creation_does_not_follow() {
    let stage = Stage::new();
    let users = many(&stage, MESSAGES.fan_out_members_max + 1).await;
    let (bob, eve) = (users[1], users[2]);
    stage.delivery.set_online(bob, true);
    stage.delivery.set_online(eve, true);
    let app = stage.app.clone();
    stage.store.meanwhile(Moment::AfterCreate, async move {
        let (rows, _) = app.inbox.page(bob, false, None, 50).await.unwrap();
        app.groups.leave(bob, rows[0].id, false).await.unwrap();
    });
    let group = stage.group(&users).await;
    assert_eq!(stage.delivery.followers_of(group), [eve]);
}

#[tokio::test]
async fn deleting_for_oneself_makes_nobody_follow() {
    let stage = Stage::new();
    let (users, group) = large(&stage).await;
    let message = stage.say(users[0], group, "hello").await;
    stage.delivery.set_online(users[1], true);
    stage.app.writing.delete_for_me(users[1], message.id).await.unwrap();
    stage.app.inbox.delete_for_me(users[1], group, None).await.unwrap();
    assert_eq!(stage.delivery.followers_of(group), []);
}

#[tokio::test]
async fn members_of_large_conversations_are_loaded_one_by_one() {
    let stage = Stage::new();
    let (users, group) = large(&stage).await;
    let stranger = stage.user("stranger").await;
    let node = stage.second_node();
    assert!(node.writing.send(stranger, group, saying("x")).await.is_err());
    assert!(node.inbox.conversation(stranger, group).await.is_err());
    node.writing.send(users[4], group, saying("hello")).await.unwrap();
    node.groups.set_role(users[0], group, users[2], Role::Admin).await.unwrap();
    let admins = MemberFilter { role: Some(Role::Admin), name: None };
    let (admins, _) = node.groups.members(users[3], group, &admins, None, 50).await.unwrap();
    assert_eq!(admins.iter().map(|member| member.user.id).collect::<Vec<_>>(), [users[2]]);
    let (all, next) =
        stage.app.groups.members(users[3], group, &MemberFilter::default(), None, 50).await.unwrap();
    assert_eq!((all.len(), next), (5, None));
    node.groups.leave(users[4], group, false).await.unwrap();
    assert!(stage.app.writing.send(users[4], group, saying("x")).await.is_err());
    assert!(stage.inbox(users[4]).await.is_empty());
    assert_eq!(node.inbox.conversation(users[0], group).await.unwrap().member_count, 4);
}

#[tokio::test(start_paused = true)]
async fn reactions_in_large_conversations_are_batched_into_one_entry_per_second() {
    let stage = Stage::new();
    let (users, group) = large(&stage).await;
    let message = stage.say(users[0], group, "hello").await;
    let head = stage.row(users[0], group).await.head;
    let reactions = users.iter().map(|user| {
        let (app, user) = (stage.app.clone(), *user);
        tokio::spawn(async move { app.writing.react(user, message.id, Some("+".into())).await.unwrap() })
    });
    for reaction in reactions.collect::<Vec<_>>() {
        assert_eq!(reaction.await.unwrap().reactions[0].count, 5);
    }
    assert_eq!(stage.row(users[0], group).await.head, head.next());
    let (who, _) = stage.app.reading.reactions(users[0], message.id, None, 50).await.unwrap();
    assert_eq!(who.len(), 5);
}

#[tokio::test]
async fn a_large_conversation_can_be_deleted_for_oneself_and_for_all() {
    let stage = Stage::new();
    let (users, group) = large(&stage).await;
    stage.say(users[0], group, "before").await;
    stage.app.inbox.delete_for_me(users[1], group, None).await.unwrap();
    assert!(stage.inbox(users[1]).await.is_empty());
    stage.say(users[0], group, "after").await;
    assert_eq!(stage.inbox(users[1]).await, [group]);
    assert_eq!(stage.history(users[1], group).await, ["after"]);
    let (_, token) = stage.app.sync.since(users[2], None, 50).await.unwrap();
    stage.clock.advance_ms(3_600_000);
    stage.app.groups.delete_for_all(users[0], group).await.unwrap();
    assert!(stage.inbox(users[2]).await.is_empty());
    let (synced, _) = stage.app.sync.since(users[2], Some(token), 50).await.unwrap();
    assert_eq!((synced.gone[0].conversation_id, synced.gone[0].reason), (group, GoneReason::Deleted));
    let gone = stage.app.inbox.gone_since(users[2], Timestamp::from_millis(0)).await.unwrap().gone;
    assert_eq!(gone[0].conversation_id, group);
}

#[tokio::test]
async fn a_page_of_receipts_says_nothing_about_all_members() {
    let stage = Stage::new();
    let (users, group) = large(&stage).await;
    let message = stage.say(users[0], group, "hello").await;
    stage.app.cursors.advance(users[1], group, None, Some(message.seq)).await.unwrap();
    let (page, next) = stage.app.reading.receipts(users[0], message.id, None, 2).await.unwrap();
    assert_eq!((page.receipts.len(), page.receipts[0].user_id), (1, users[1]));
    assert_eq!((page.delivered_to_all, page.read_by_all), (None, None), "others follow: {next:?}");
}
