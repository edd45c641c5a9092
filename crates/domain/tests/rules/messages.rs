//! Changes of messages: edits, deletions, reactions, replies, mentions, pins.

use godwit_domain::actions::Refusal;
use godwit_domain::messages::ReadError;
use godwit_domain::model::Draft;
use godwit_protocol::conversations::{EditsVisibleTo, Role, UpdateConversation};
use godwit_protocol::messages::MessageStatus;
use godwit_protocol::{MessageId, Seq};

use crate::stage::{Stage, saying};

fn reply(to: MessageId, words: &str) -> Draft {
    Draft { reply_to: Some(to), ..saying(words) }
}

#[tokio::test]
async fn an_edit_is_a_new_version_and_the_old_ones_can_be_read() {
    let stage = Stage::new();
    let [ada, bob] = stage.users(["ada", "bob"]).await;
    let group = stage.group(&[ada, bob]).await;
    let message = stage.say(ada, group, "frist").await;
    stage.delivery.take();
    stage.clock.advance_ms(1_000);
    let edited = stage.app.writing.edit(ada, message.id, "first".into()).await.unwrap();
    assert_eq!((edited.text.as_deref(), edited.edited_at), (Some("first"), Some(stage.now())));
    assert_eq!(stage.heard(bob), ["edited"]);
    stage.app.writing.edit(ada, message.id, "first".into()).await.unwrap();
    stage.app.writing.edit(ada, message.id, "First!".into()).await.unwrap();
    let versions = stage.app.reading.edits(bob, message.id, 0).await.unwrap().0.versions;
    let texts: Vec<_> = versions.iter().map(|version| version.text.as_deref().unwrap()).collect();
    assert_eq!(texts, ["frist", "first", "First!"]);
    let row = stage.row(bob, group).await;
    assert_eq!((row.last_message.unwrap().preview, row.unread), ("First!".into(), 1));
    assert_eq!(stage.history(bob, group).await, ["[conversation.created]", "First!"]);
    assert_eq!(stage.log(bob, group).await, ["created", "message", "edited", "edited"]);
    let only_admins =
        UpdateConversation { edits_visible_to: Some(EditsVisibleTo::Admins), ..Default::default() };
    stage.app.groups.update(ada, group, &only_admins).await.unwrap();
    assert!(matches!(stage.app.reading.edits(bob, message.id, 0).await, Err(ReadError::Forbidden)));
    assert!(stage.app.reading.edits(ada, message.id, 0).await.is_ok());
}

#[tokio::test]
async fn only_the_author_can_edit_within_the_edit_window() {
    let stage = Stage::new();
    let [ada, bob] = stage.users(["ada", "bob"]).await;
    let group = stage.group(&[ada, bob]).await;
    let message = stage.say(bob, group, "mine").await;
    let by_owner = stage.app.writing.edit(ada, message.id, "hers".into()).await;
    assert!(matches!(by_owner, Err(Refusal::Forbidden)));
    stage.clock.advance_ms(3_600_001);
    let late = stage.app.writing.edit(bob, message.id, "late".into()).await;
    assert!(matches!(late, Err(Refusal::EditWindowOver)));
    let empty = stage.app.writing.edit(bob, message.id, "  ".into()).await;
    assert!(matches!(empty, Err(Refusal::Invalid(_))));
}

#[tokio::test]
async fn after_a_delete_no_content_leaves_the_server() {
    let stage = Stage::new();
    let [ada, bob] = stage.users(["ada", "bob"]).await;
    let group = stage.group(&[ada, bob]).await;
    let message = stage.say(ada, group, "a secret for @bob").await;
    stage.app.writing.edit(ada, message.id, "a secret for @bob and @all".into()).await.unwrap();
    stage.app.writing.pin(ada, message.id).await.unwrap();
    stage.app.writing.react(bob, message.id, Some("+".into())).await.unwrap();
    stage.app.personal.star(bob, message.id).await.unwrap();
    assert_eq!(stage.row(bob, group).await.unread_mentions, 1);
    stage.app.writing.send(ada, group, reply(message.id, "what?")).await.unwrap();
    stage.app.writing.delete_for_all(ada, message.id).await.unwrap();
    stage.app.writing.delete_for_all(ada, message.id).await.unwrap();
    for app in [stage.app.clone(), stage.second_node()] {
        let log = app.reading.log(bob, group, Seq::ZERO, 200).await.unwrap();
        let history = app.reading.history(bob, group, godwit_domain::messages::HistoryPage::Newest, 50);
        let row = app.inbox.conversation(bob, group).await.unwrap();
        let thread = app.reading.thread(bob, message.id, 0, 50).await.unwrap().0;
        let pins = app.reading.pins(bob, group, 0).await.unwrap().0;
        let stars = app.personal.stars(bob, None, 50).await.unwrap();
        let all = serde_json::to_string(&(log, history.await.unwrap(), &row, thread, pins, stars.0)).unwrap();
        assert!(!all.contains("secret"), "{all}");
        assert!(matches!(app.reading.edits(bob, message.id, 0).await, Err(ReadError::Gone)));
        assert!(matches!(app.reading.reactions(bob, message.id, None, 5).await, Err(ReadError::Gone)));
        assert!(row.pinned_message_ids.is_empty());
        assert_eq!(row.unread_mentions, 0);
        let forward = Draft { forwarded_from: Some(message.id), ..saying("see") };
        assert!(matches!(app.writing.send(bob, group, forward).await, Err(Refusal::ForwardNotFound)));
    }
    assert_eq!(stage.log(bob, group).await.last().unwrap(), "deleted");
    let gone = stage.app.writing.edit(ada, message.id, "again".into()).await;
    assert!(matches!(gone, Err(Refusal::MessageGone)));
}

#[tokio::test]
async fn admins_can_delete_messages_of_others_in_groups_but_nobody_in_direct_conversations() {
    let stage = Stage::new();
    let (ada, bob, direct) = stage.pair().await;
    let group = stage.group(&[ada, bob]).await;
    let (by_ada, by_bob) = (stage.say(ada, group, "a").await, stage.say(bob, group, "b").await);
    let refused = stage.app.writing.delete_for_all(bob, by_ada.id).await;
    assert!(matches!(refused, Err(Refusal::Forbidden)));
    stage.app.writing.delete_for_all(ada, by_bob.id).await.unwrap();
    let private = stage.say(bob, direct, "p").await;
    let refused = stage.app.writing.delete_for_all(ada, private.id).await;
    assert!(matches!(refused, Err(Refusal::Forbidden)));
}

#[tokio::test]
async fn a_message_deleted_for_oneself_stays_visible_to_others() {
    let stage = Stage::new();
    let (ada, bob, direct) = stage.pair().await;
    let mut messages = Vec::new();
    for words in ["one", "two", "three"] {
        messages.push(stage.say(ada, direct, words).await);
    }
    stage.app.writing.delete_for_me(bob, messages[1].id).await.unwrap();
    assert_eq!(stage.history(bob, direct).await, ["one", "three"]);
    assert_eq!(stage.history(ada, direct).await, ["one", "two", "three"]);
    assert!(stage.app.reading.message(bob, messages[1].id).await.is_err());
    let page = stage.app.reading.log(bob, direct, Seq::ZERO, 50).await.unwrap();
    assert_eq!(page.entries.len(), 4, "there is no gap");
    assert!(!serde_json::to_string(&page).unwrap().contains("two"));
    let newest = godwit_domain::messages::HistoryPage::Newest;
    let page = stage.app.reading.history(bob, direct, newest, 2).await.unwrap();
    assert_eq!((page.messages.len(), page.more_before), (2, false));
}

#[tokio::test]
async fn everybody_has_one_reaction_to_a_message() {
    let stage = Stage::new();
    let [ada, bob] = stage.users(["ada", "bob"]).await;
    let group = stage.group(&[ada, bob]).await;
    let message = stage.say(ada, group, "hello").await;
    let react = async |user, reaction: Option<&str>| {
        let message = stage.app.writing.react(user, message.id, reaction.map(Into::into)).await.unwrap();
        let counts: Vec<String> =
            message.reactions.iter().map(|count| format!("{}{}", count.reaction, count.count)).collect();
        (counts.join(" "), message.my_reaction)
    };
    assert_eq!(react(ada, Some("+")).await, ("+1".into(), Some("+".into())));
    assert_eq!(react(bob, Some("+")).await.0, "+2");
    assert_eq!(react(bob, Some("!")).await, ("+1 !1".into(), Some("!".into())));
    assert_eq!(react(ada, None).await, ("!1".into(), None));
    let before = stage.row(ada, group).await.head;
    assert_eq!(react(ada, None).await.0, "!1");
    assert_eq!(stage.row(ada, group).await.head, before, "nothing changed, and nothing was written");
    let (who, next) = stage.app.reading.reactions(ada, message.id, None, 50).await.unwrap();
    assert_eq!((who.len(), who[0].user_id, &*who[0].reaction, next), (1, bob, "!", None));
    assert_eq!(stage.row(bob, group).await.unread, 1, "reactions are not unread messages");
}

#[tokio::test]
async fn replies_quote_the_current_content_and_form_a_thread() {
    let stage = Stage::new();
    let [ada, bob] = stage.users(["ada", "bob"]).await;
    let group = stage.group(&[ada, bob]).await;
    let root = stage.say(ada, group, "a question").await;
    let first = stage.app.writing.send(bob, group, reply(root.id, "an answer")).await.unwrap().message;
    assert_eq!(first.quote.as_ref().unwrap().preview, "a question");
    let second = stage.app.writing.send(ada, group, reply(first.id, "thanks")).await.unwrap().message;
    assert_eq!((second.thread_id, second.reply_to), (Some(root.id), Some(first.id)));
    stage.app.writing.edit(ada, root.id, "a better question".into()).await.unwrap();
    let seen = stage.app.reading.message(bob, first.id).await.unwrap();
    assert_eq!(seen.quote.unwrap().preview, "a better question");
    let (page, next) = stage.app.reading.thread(bob, second.id, 0, 1).await.unwrap();
    let shown = page.root.unwrap();
    assert_eq!((shown.id, shown.replies, page.replies[0].id), (root.id, 2, first.id));
    let (page, next) = stage.app.reading.thread(bob, root.id, next.unwrap(), 5).await.unwrap();
    assert_eq!((page.replies[0].id, next), (second.id, None));
    stage.app.writing.delete_for_all(ada, root.id).await.unwrap();
    let quote = stage.app.reading.message(bob, first.id).await.unwrap().quote.unwrap();
    assert_eq!((&*quote.preview, quote.deleted), ("", true));
}

#[tokio::test]
async fn mentions_are_counted_until_they_are_read() {
    let stage = Stage::new();
    let [ada, bob, eve] = stage.users(["ada", "bob", "eve"]).await;
    let group = stage.group(&[ada, bob]).await;
    let message = stage.say(ada, group, "hello @bob, @eve, @BOB and @ada").await;
    assert_eq!(message.mentions.user_ids, [bob, ada], "who is not a member is not called, and nobody twice");
    stage.say(ada, group, "@all come").await;
    stage.say(ada, group, "@BOB and @all").await;
    let mentions = async |user| stage.row(user, group).await.unread_mentions;
    assert_eq!((mentions(bob).await, mentions(ada).await), (3, 0));
    stage.app.writing.edit(ada, message.id, "hello".into()).await.unwrap();
    assert_eq!(mentions(bob).await, 2);
    let head = stage.row(bob, group).await.head;
    stage.app.cursors.advance(bob, group, None, Some(head)).await.unwrap();
    assert_eq!(mentions(bob).await, 0);
    assert!(stage.app.inbox.conversation(eve, group).await.is_err());
}

#[tokio::test]
async fn pins_are_listed_latest_first() {
    let stage = Stage::new();
    let [ada, bob] = stage.users(["ada", "bob"]).await;
    let group = stage.group(&[ada, bob]).await;
    let (one, two) = (stage.say(ada, group, "one").await, stage.say(bob, group, "two").await);
    for message in [one.id, two.id, one.id] {
        stage.app.writing.pin(bob, message).await.unwrap();
    }
    let pinned = async || {
        let pins = stage.app.reading.pins(ada, group, 0).await.unwrap().0.pins;
        pins.into_iter().map(|pin| pin.message.id).collect::<Vec<_>>()
    };
    assert_eq!(pinned().await, [two.id, one.id]);
    stage.app.writing.unpin(ada, two.id).await.unwrap();
    stage.app.writing.unpin(ada, two.id).await.unwrap();
    assert_eq!(pinned().await, [one.id]);
    assert_eq!(stage.row(ada, group).await.pinned_message_ids, [one.id]);
}

#[tokio::test]
async fn forwards_name_the_original_message() {
    let stage = Stage::new();
    let (ada, bob, direct) = stage.pair().await;
    let eve = stage.user("eve").await;
    let group = stage.group(&[bob, ada, eve]).await;
    let original = stage.say(ada, direct, "news").await;
    let forward = |of| Draft { forwarded_from: Some(of), ..saying("news") };
    let first = stage.app.writing.send(bob, group, forward(original.id)).await.unwrap().message;
    let second = stage.app.writing.send(eve, group, forward(first.id)).await.unwrap().message;
    for message in [first, second] {
        let from = message.forwarded_from.unwrap();
        assert_eq!((from.message_id, from.sender_id), (original.id, ada));
    }
}

#[tokio::test]
async fn a_user_without_read_receipts_does_not_see_those_of_others() {
    let stage = Stage::new();
    let (ada, bob, direct) = stage.pair().await;
    let message = stage.say(ada, direct, "hello").await;
    stage.app.cursors.advance(bob, direct, None, Some(message.seq)).await.unwrap();
    let status = async |user| stage.app.reading.message(user, message.id).await.unwrap().status;
    assert_eq!(status(ada).await, MessageStatus::Read);
    let hide = godwit_protocol::accounts::UpdateMe { read_receipts: Some(false), ..Default::default() };
    for hiding in [ada, bob] {
        stage.app.accounts.update_me(hiding, hide.clone()).await.unwrap();
        assert_eq!(status(ada).await, MessageStatus::Delivered);
        let (list, _) = stage.app.reading.receipts(ada, message.id, None, 50).await.unwrap();
        assert_eq!((list.receipts[0].status, list.receipts[0].read_at), (MessageStatus::Delivered, None));
        assert_eq!(list.read_by_all, Some(false));
        let row = stage.row(ada, direct).await;
        assert_eq!(row.last_message.unwrap().status, MessageStatus::Delivered);
        let of_bob = row.cursors.iter().find(|cursor| cursor.user_id == bob).unwrap();
        assert_eq!(of_bob.read, Seq::ZERO);
        assert_eq!(stage.row(bob, direct).await.unread, 0, "the own marks stay");
        let show = godwit_protocol::accounts::UpdateMe { read_receipts: Some(true), ..Default::default() };
        stage.app.accounts.update_me(hiding, show).await.unwrap();
    }
    let group = stage.group(&[ada, bob]).await;
    let message = stage.say(ada, group, "hello").await;
    stage.app.accounts.update_me(bob, hide).await.unwrap();
    stage.app.cursors.advance(bob, group, None, Some(message.seq)).await.unwrap();
    let seen = stage.app.reading.message(ada, message.id).await.unwrap();
    assert_eq!(seen.status, MessageStatus::Read, "in groups it counts");
    assert_eq!(stage.row(ada, group).await.me.role, Role::Owner);
}

#[tokio::test]
async fn an_invisible_message_cannot_be_changed() {
    let stage = Stage::new();
    let (ada, bob, direct) = stage.pair().await;
    let (one, two) = (stage.say(bob, direct, "one").await, stage.say(bob, direct, "two").await);
    stage.app.writing.delete_for_me(bob, one.id).await.unwrap();
    stage.app.inbox.delete_for_me(ada, direct, None).await.unwrap();
    let head = stage.row(bob, direct).await.head;
    for (user, message) in [(bob, one.id), (ada, two.id)] {
        assert!(matches!(
            stage.app.writing.react(user, message, Some("+".into())).await,
            Err(Refusal::NotFound)
        ));
        assert!(matches!(stage.app.writing.pin(user, message).await, Err(Refusal::NotFound)));
    }
    assert!(matches!(stage.app.writing.edit(bob, one.id, "1".into()).await, Err(Refusal::NotFound)));
    assert_eq!(stage.row(bob, direct).await.head, head);
}
