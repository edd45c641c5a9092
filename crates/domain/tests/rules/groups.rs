//! Groups and channels: members, permissions, and the history that new members see.

use godwit_domain::actions::Refusal;
use godwit_domain::groups::MemberFilter;
use godwit_domain::model::SearchPrefix;
use godwit_protocol::conversations::{
    ConversationKind, HistoryVisibility, NewConversation, Role, UpdateConversation, UpdatePermissions,
};
use godwit_protocol::sync::GoneReason;
use godwit_protocol::{ErrorCode, Timestamp, UserId};

use crate::stage::{Stage, saying};

#[tokio::test]
async fn a_new_group_has_its_creator_as_owner_and_is_in_all_inboxes() {
    let stage = Stage::new();
    let [ada, bob, eve] = stage.users(["ada", "bob", "eve"]).await;
    let group = stage.group(&[ada, bob]).await;
    let row = stage.row(bob, group).await;
    assert_eq!((row.kind, &*row.name, row.member_count), (ConversationKind::Group, "Birds", 2));
    assert_eq!((row.me.role, stage.row(ada, group).await.me.role), (Role::Member, Role::Owner));
    assert_eq!((row.unread, row.last_message.unwrap().event.unwrap()), (0, "conversation.created".into()));
    assert_eq!((stage.inbox(ada).await, stage.inbox(bob).await), (vec![group], vec![group]));
    assert!(stage.inbox(eve).await.is_empty());
}

#[tokio::test]
async fn users_who_cannot_be_added_are_named_and_the_others_are_added() {
    let stage = Stage::new();
    let [ada, bob, eve, dan] = stage.users(["ada", "bob", "eve", "dan"]).await;
    stage.app.people.block(eve, ada).await.unwrap();
    let nobody = UserId::new(77);
    let new = NewConversation {
        name: "Birds".into(),
        member_ids: vec![bob, eve, nobody, ada],
        ..NewConversation::default()
    };
    let made = stage.app.groups.create(ada, false, new).await.unwrap();
    let refused = |user| made.members.iter().find(|m| m.user_id == user).unwrap().error;
    assert_eq!((refused(bob), refused(eve)), (None, Some(ErrorCode::Blocked)));
    assert_eq!(refused(nobody), Some(ErrorCode::NotFound));
    let group = made.opened.conversation.id;
    let added = stage.app.groups.add_members(ada, group, &[bob, dan, eve, dan]).await.unwrap();
    let errors: Vec<_> = added.iter().map(|added| added.error).collect();
    assert_eq!(errors, [Some(ErrorCode::AlreadyMember), None, Some(ErrorCode::Blocked), None]);
    assert_eq!(stage.row(ada, group).await.member_count, 3);
}

#[tokio::test]
async fn the_same_client_id_makes_one_group() {
    let stage = Stage::new();
    let [ada] = stage.users(["ada"]).await;
    let new = || NewConversation {
        name: "Birds".into(),
        client_id: Some("once".into()),
        ..NewConversation::default()
    };
    let node = stage.second_node();
    let (one, two) =
        tokio::join!(stage.app.groups.create(ada, false, new()), node.groups.create(ada, false, new()));
    let (one, two) = (one.unwrap().opened, two.unwrap().opened);
    assert_eq!(one.conversation.id, two.conversation.id);
    assert!(one.made != two.made);
}

#[tokio::test]
async fn membership_notices_are_in_the_history_and_do_not_count_as_unread() {
    let stage = Stage::new();
    let [ada, bob, eve] = stage.users(["ada", "bob", "eve"]).await;
    let group = stage.group(&[ada, bob]).await;
    stage.app.groups.add_members(ada, group, &[eve]).await.unwrap();
    stage.app.groups.set_role(ada, group, eve, Role::Admin).await.unwrap();
    let rename = UpdateConversation { name: Some("Fish".into()), ..UpdateConversation::default() };
    stage.app.groups.update(eve, group, &rename).await.unwrap();
    stage.app.groups.leave(eve, group, false).await.unwrap();
    stage.app.groups.remove_member(ada, group, bob).await.unwrap();
    let history = stage.history(ada, group).await;
    let happened = [
        "[conversation.created]",
        "[members.added]",
        "[role.changed]",
        "[details.changed]",
        "[member.left]",
        "[member.removed]",
    ];
    assert_eq!(history, happened);
    let row = stage.row(ada, group).await;
    assert_eq!((row.unread, &*row.name, row.member_count), (0, "Fish", 1));
}

#[tokio::test]
async fn a_removed_member_gets_no_events_and_no_access() {
    let stage = Stage::new();
    let [ada, bob] = stage.users(["ada", "bob"]).await;
    let group = stage.group(&[ada, bob]).await;
    let message = stage.say(ada, group, "hello").await;
    stage.app.groups.remove_member(ada, group, bob).await.unwrap();
    stage.delivery.take();
    stage.say(ada, group, "among us").await;
    assert!(stage.heard(bob).is_empty());
    assert!(stage.inbox(bob).await.is_empty());
    assert!(stage.app.reading.message(bob, message.id).await.is_err());
    assert!(matches!(stage.app.writing.send(bob, group, saying("x")).await, Err(Refusal::NotFound)));
    let gone = stage.app.inbox.gone_since(bob, Timestamp::from_millis(0)).await.unwrap();
    assert_eq!((gone.gone[0].conversation_id, gone.gone[0].reason), (group, GoneReason::Removed));
    let (synced, _) = stage.app.sync.since(bob, None, 50).await.unwrap();
    assert!(synced.conversations.is_empty());
}

#[tokio::test]
async fn newcomers_see_what_the_group_lets_them_see() {
    let stage = Stage::new();
    let [ada, bob, eve] = stage.users(["ada", "bob", "eve"]).await;
    let open = stage.group(&[ada]).await;
    let closed =
        NewConversation { history: Some(HistoryVisibility::FromJoining), ..NewConversation::default() };
    let closed = stage.make(false, &[ada, eve], closed).await;
    for group in [open, closed] {
        let before = stage.say(ada, group, "@bob before").await;
        stage.app.groups.add_members(ada, group, &[bob]).await.unwrap();
        stage.app.writing.react(ada, before.id, Some("+".into())).await.unwrap();
        let reply = godwit_domain::model::Draft { reply_to: Some(before.id), ..saying("after") };
        let reply = stage.app.writing.send(ada, group, reply).await.unwrap().message;
        let seen = stage.app.reading.message(bob, reply.id).await.unwrap();
        let is_open = group == open;
        assert_eq!(seen.quote.is_some(), is_open);
        assert_eq!(stage.app.reading.message(bob, before.id).await.is_ok(), is_open);
        assert_eq!(stage.app.writing.react(bob, before.id, Some("!".into())).await.is_ok(), is_open);
        let row = stage.row(bob, group).await;
        assert_eq!((row.unread, row.unread_mentions), (1, 0), "what was said before is not new to him");
    }
    assert_eq!(stage.history(bob, open).await.len(), 4);
    assert_eq!(stage.history(bob, closed).await, ["[members.added]", "after"]);
    let page = stage.app.reading.log(bob, closed, godwit_protocol::Seq::ZERO, 50).await.unwrap();
    assert_eq!((page.begins, page.entries[0].seq), (page.entries[0].seq, godwit_protocol::Seq::new(3)));
}

#[tokio::test]
async fn in_a_channel_only_owners_and_admins_write_and_joins_have_no_notice() {
    let stage = Stage::new();
    let [ada, bob, eve] = stage.users(["ada", "bob", "eve"]).await;
    let channel = stage.channel(&[ada, bob]).await;
    assert!(matches!(stage.app.writing.send(bob, channel, saying("x")).await, Err(Refusal::Forbidden)));
    let message = stage.say(ada, channel, "news").await;
    stage.app.writing.react(bob, message.id, Some("+".into())).await.unwrap();
    stage.app.groups.add_members(ada, channel, &[eve]).await.unwrap();
    stage.app.groups.leave(eve, channel, false).await.unwrap();
    assert_eq!(stage.history(bob, channel).await, ["[conversation.created]", "news"]);
    stage.app.groups.set_role(ada, channel, bob, Role::Admin).await.unwrap();
    let mine = stage.say(bob, channel, "mine").await;
    // Nor can they publish text by editing messages from before.
    stage.app.groups.set_role(ada, channel, bob, Role::Member).await.unwrap();
    let edited = stage.app.writing.edit(bob, mine.id, "mine @all".into()).await;
    assert!(matches!(edited, Err(Refusal::Forbidden)));
    stage.app.writing.delete_for_all(bob, mine.id).await.unwrap();
}

#[tokio::test]
async fn a_conversation_keeps_an_owner() {
    let stage = Stage::new();
    let [ada, bob] = stage.users(["ada", "bob"]).await;
    let group = stage.group(&[ada, bob]).await;
    assert!(matches!(stage.app.groups.leave(ada, group, false).await, Err(Refusal::LastOwner)));
    let demoted = stage.app.groups.set_role(ada, group, ada, Role::Member).await;
    assert!(matches!(demoted, Err(Refusal::LastOwner)));
    stage.app.accounts.set_disabled("bob", true).await.unwrap();
    let handed = stage.app.groups.transfer_ownership(ada, group, bob).await;
    assert!(matches!(handed, Err(Refusal::Forbidden)), "nobody could reach the owner");
    stage.app.accounts.set_disabled("bob", false).await.unwrap();
    stage.app.groups.transfer_ownership(ada, group, bob).await.unwrap();
    let roles = (stage.row(ada, group).await.me.role, stage.row(bob, group).await.me.role);
    assert_eq!(roles, (Role::Admin, Role::Owner));
    stage.app.groups.leave(ada, group, false).await.unwrap();
}

#[tokio::test]
async fn permissions_decide_what_members_may_do() {
    let stage = Stage::new();
    let [ada, bob, eve] = stage.users(["ada", "bob", "eve"]).await;
    let group = stage.group(&[ada, bob]).await;
    let name = |name: &str| UpdateConversation { name: Some(name.into()), ..UpdateConversation::default() };
    stage.app.groups.update(bob, group, &name("by bob")).await.unwrap();
    let none = UpdatePermissions {
        members_may_send: Some(false),
        members_may_add_members: Some(false),
        members_may_edit: Some(false),
        anyone_may_join: Some(true),
    };
    let strict = UpdateConversation { permissions: Some(none), ..UpdateConversation::default() };
    assert!(matches!(stage.app.groups.update(bob, group, &strict).await, Err(Refusal::Forbidden)));
    stage.app.groups.update(ada, group, &strict).await.unwrap();
    assert!(matches!(stage.app.groups.update(bob, group, &name("no")).await, Err(Refusal::Forbidden)));
    assert!(matches!(stage.app.writing.send(bob, group, saying("x")).await, Err(Refusal::Forbidden)));
    assert!(matches!(stage.app.groups.add_members(bob, group, &[eve]).await, Err(Refusal::Forbidden)));
    assert!(matches!(stage.app.presence.typing(bob, group, true).await, Err(Refusal::Forbidden)));
    assert_eq!(stage.app.groups.join(eve, group).await.unwrap().member_count, 3);
}

#[tokio::test]
async fn members_are_listed_in_pages_by_role_and_by_name() {
    let stage = Stage::new();
    let users = stage.users(["ada", "bob", "bill", "eve"]).await;
    let group = stage.group(&users).await;
    stage.app.groups.set_role(users[0], group, users[3], Role::Admin).await.unwrap();
    let list = async |filter: MemberFilter, limit| {
        let (mut handles, mut after) = (Vec::new(), None);
        loop {
            let page = stage.app.groups.members(users[1], group, &filter, after, limit).await.unwrap();
            handles.extend(page.0.into_iter().map(|member| member.user.handle));
            after = page.1;
            if after.is_none() {
                return handles;
            }
        }
    };
    for limit in [1, 3, 50] {
        assert_eq!(list(MemberFilter::default(), limit).await, ["ada", "bob", "bill", "eve"]);
        let admins = MemberFilter { role: Some(Role::Admin), name: None };
        assert_eq!(list(admins, limit).await, ["eve"]);
        let named = MemberFilter { role: None, name: Some(SearchPrefix::parse("B").unwrap()) };
        assert_eq!(list(named, limit).await, ["bob", "bill"]);
    }
}

#[tokio::test]
async fn a_deleted_conversation_is_gone_for_everybody() {
    let stage = Stage::new();
    let [ada, bob] = stage.users(["ada", "bob"]).await;
    let group = stage.group(&[ada, bob]).await;
    let message = stage.say(ada, group, "hello").await;
    assert!(matches!(stage.app.groups.delete_for_all(bob, group).await, Err(Refusal::Forbidden)));
    stage.app.groups.delete_for_all(ada, group).await.unwrap();
    for user in [ada, bob] {
        assert!(stage.app.inbox.conversation(user, group).await.is_err());
        assert!(stage.app.reading.message(user, message.id).await.is_err());
        assert!(matches!(stage.app.writing.send(user, group, saying("x")).await, Err(Refusal::NotFound)));
        assert!(stage.inbox(user).await.is_empty());
        let gone = stage.app.inbox.gone_since(user, Timestamp::from_millis(0)).await.unwrap().gone;
        assert_eq!((gone[0].conversation_id, gone[0].reason), (group, GoneReason::Deleted));
    }
    assert!(stage.second_node().inbox.conversation(ada, group).await.is_err());
}
