//! Hidden content is shown nowhere: not in the history, the log, live events, quotes, previews, counts, answers to retries,
//! pins, stars or threads.

use godwit_domain::actions::Refusal;
use godwit_domain::messages::{HistoryPage, ReadError};
use godwit_domain::model::{ClientId, Draft, MessageBody};
use godwit_protocol::accounts::UpdateMe;
use godwit_protocol::conversations::{
    EditsVisibleTo, HistoryVisibility, NewConversation, UpdateConversation, UpdateMembership,
    UpdatePermissions,
};
use godwit_protocol::messages::{Change, Message, MessageKind, MessageStatus, SendMessage};
use godwit_protocol::personal::ScheduleMessage;
use godwit_protocol::socket::{EntryOmitted, Event};
use godwit_protocol::sync::AccountChange;
use godwit_protocol::{ConversationId, MessageId, Position, Seq, UserId};
use godwit_testkit::delivery::Delivered;

use crate::stage::{Stage, saying};

const SECRET: &str = "the password is swordfish";

fn replying(words: &str, to: MessageId) -> Draft {
    Draft { reply_to: Some(to), ..saying(words) }
}

/// Everything that a user can read of a conversation, in its wire format.
async fn everything(stage: &Stage, by: UserId, id: ConversationId, messages: &[MessageId]) -> String {
    fn text(value: &impl serde::Serialize) -> String {
        serde_json::to_string(value).unwrap()
    }
    let app = &stage.app;
    let mut all = Vec::new();
    for page in [HistoryPage::Newest, HistoryPage::After(Position::Seq(Seq::ZERO))] {
        all.push(text(&app.reading.history(by, id, page, 200).await.unwrap()));
    }
    all.push(text(&app.reading.log(by, id, Seq::ZERO, 200).await.unwrap()));
    all.push(text(&app.reading.pins(by, id, 0).await.unwrap().0));
    all.push(text(&app.inbox.conversation(by, id).await.unwrap()));
    all.push(text(&app.inbox.page(by, false, None, 50).await.unwrap().0));
    all.push(text(&app.sync.since(by, None, 50).await.unwrap().0));
    all.push(text(&app.personal.stars(by, None, 50).await.unwrap().0));
    for message in messages {
        let reading = &app.reading;
        all.extend(reading.message(by, *message).await.ok().map(|found| text(&found)));
        all.extend(reading.edits(by, *message, 0).await.ok().map(|found| text(&found.0)));
        all.extend(reading.thread(by, *message, 0, 50).await.ok().map(|found| text(&found.0)));
        all.extend(reading.reactions(by, *message, None, 50).await.ok().map(|found| text(&found.0)));
        let around = HistoryPage::Around(Position::Message(*message));
        all.extend(reading.history(by, id, around, 50).await.ok().map(|found| text(&found)));
    }
    all.push(text(&stage.delivery.events_for(by)));
    all.join("\n")
}

/// Changes a message that `eve` cannot see.
async fn talk_about(stage: &Stage, by: [UserId; 2], id: ConversationId, secret: &Message) -> Vec<MessageId> {
    let [ada, bob] = by;
    let reply = stage.app.writing.send(bob, id, replying("well", secret.id)).await.unwrap().message;
    stage.app.writing.react(bob, secret.id, Some("swordfish".into())).await.unwrap();
    stage.app.writing.pin(ada, secret.id).await.unwrap();
    stage.app.writing.edit(ada, secret.id, format!("{SECRET}, or so")).await.unwrap();
    let second = stage.app.writing.send(ada, id, replying("yes", secret.id)).await.unwrap().message;
    vec![secret.id, reply.id, second.id]
}

async fn assert_nowhere(stage: &Stage, by: UserId, id: ConversationId, messages: &[MessageId]) {
    let all = everything(stage, by, id, messages).await;
    assert!(!all.contains("swordfish"), "{}", all.lines().find(|line| line.contains("swordfish")).unwrap());
}

fn from_joining() -> NewConversation {
    NewConversation { history: Some(HistoryVisibility::FromJoining), ..NewConversation::default() }
}

#[tokio::test]
async fn a_member_with_history_from_joining_sees_nothing_earlier() {
    // In a small group, and in a large one.
    for others in [0, 6] {
        let stage = Stage::new();
        let [ada, bob, eve] = stage.users(["ada", "bob", "eve"]).await;
        stage.delivery.set_online(eve, true);
        let mut members = vec![ada, bob];
        for number in 0..others {
            members.push(stage.user(&format!("other{number}")).await);
        }
        let id = stage.make(false, &members, from_joining()).await;
        let secret = stage.say(ada, id, SECRET).await;
        stage.app.groups.add_members(ada, id, &[eve]).await.unwrap();
        let messages = talk_about(&stage, [ada, bob], id, &secret).await;
        assert_nowhere(&stage, eve, id, &messages).await;
        // Eve's events have no content, but leave no gap.
        let heard = stage.heard(eve);
        assert_eq!(heard.iter().filter(|name| *name == "withheld").count(), 3, "{heard:?}");
        // Bob gets the full content.
        assert!(everything(&stage, bob, id, &messages).await.contains("swordfish, or so"));
    }
}

#[tokio::test]
async fn no_content_of_a_deleted_message_is_left() {
    for is_deleted in [true, false] {
        let stage = Stage::new();
        let [ada, bob] = stage.users(["ada", "bob"]).await;
        let id = stage.group(&[ada, bob]).await;
        let timer = UpdateConversation { message_ttl_secs: Some(Some(60)), ..UpdateConversation::default() };
        stage.app.groups.update(ada, id, &timer).await.unwrap();
        let data = serde_json::json!({ "word": "swordfish" });
        let event = MessageBody::System {
            event: "app.swordfish".into(),
            data: Some(data.to_string().into()),
            text: Some(SECRET.into()),
        };
        let draft = Draft { body: Some(event), ..saying("") };
        let secret = stage.app.writing.send(ada, id, draft).await.unwrap().message;
        stage.app.writing.react(bob, secret.id, Some("swordfish".into())).await.unwrap();
        assert!(everything(&stage, bob, id, &[secret.id]).await.contains("app.swordfish"));
        stage.delivery.take();
        if is_deleted {
            stage.app.writing.delete_for_all(ada, secret.id).await.unwrap();
        } else {
            // No sweep has run yet.
            stage.clock.advance_ms(60_000);
        }
        assert_nowhere(&stage, bob, id, &[secret.id]).await;
        assert_nowhere(&stage, ada, id, &[secret.id]).await;
    }
}

#[tokio::test]
async fn entries_about_an_invisible_message_are_withheld() {
    let stage = Stage::new();
    let [ada, bob, eve] = stage.users(["ada", "bob", "eve"]).await;
    stage.delivery.set_online(eve, true);
    let id = stage.make(false, &[ada, bob, eve], NewConversation::default()).await;
    let hidden = stage.say(ada, id, SECRET).await;
    stage.app.writing.delete_for_me(eve, hidden.id).await.unwrap();
    stage.delivery.take();
    stage.app.writing.pin(bob, hidden.id).await.unwrap();
    stage.app.writing.unpin(bob, hidden.id).await.unwrap();
    stage.app.writing.delete_for_all(ada, hidden.id).await.unwrap();
    assert_eq!(stage.heard(eve), ["withheld", "withheld", "withheld"]);
    assert_eq!(stage.heard(bob), ["pinned", "unpinned", "deleted"]);
    let all = everything(&stage, eve, id, &[]).await;
    assert!(!all.contains(&hidden.id.to_string()), "{all}");
}

#[tokio::test]
async fn a_retry_after_rejoining_returns_the_message_without_content() {
    let stage = Stage::new();
    let [ada, bob] = stage.users(["ada", "bob"]).await;
    let id = stage.make(false, &[ada, bob], from_joining()).await;
    let draft = saying(SECRET);
    let sent = stage.app.writing.send(bob, id, draft.clone()).await.unwrap();
    let again = stage.app.writing.send(bob, id, draft.clone()).await.unwrap();
    assert!(again.repeated && again.message.text.is_some());
    stage.app.groups.remove_member(ada, id, bob).await.unwrap();
    assert!(matches!(stage.app.writing.send(bob, id, draft.clone()).await, Err(Refusal::NotFound)));
    stage.app.groups.add_members(ada, id, &[bob]).await.unwrap();
    let again = stage.app.writing.send(bob, id, draft).await.unwrap();
    assert!(again.repeated, "it is not sent a second time");
    assert_eq!((again.message.id, again.message.text), (sent.message.id, None));
}

/// The answer shows the message as the history does, also where the retry does not name what the message replies to.
#[tokio::test]
async fn a_retry_returns_the_message_as_the_history_shows_it() {
    let stage = Stage::new();
    let [ada, bob] = stage.users(["ada", "bob"]).await;
    let group = stage.group(&[ada, bob]).await;
    let asked = stage.say(ada, group, "who is there?").await;
    let reply = replying("me", asked.id);
    let sent = stage.app.writing.send(bob, group, reply.clone()).await.unwrap().message;
    stage.app.writing.react(ada, sent.id, Some("+".into())).await.unwrap();
    stage.app.writing.react(bob, sent.id, Some("!".into())).await.unwrap();
    stage.app.writing.edit(bob, sent.id, "me, bob".into()).await.unwrap();
    stage.app.cursors.advance(ada, group, None, Some(sent.seq)).await.unwrap();
    stage.app.cursors.flush().await.unwrap();
    let shown = stage.app.reading.message(bob, sent.id).await.unwrap();
    assert_eq!((shown.my_reaction.as_deref(), shown.quote.is_some()), (Some("!"), true));
    let again = stage.app.writing.send(bob, group, reply.clone()).await.unwrap().message;
    let without_reply = Draft { reply_to: None, ..reply.clone() };
    let elsewhere = stage.second_node().writing.send(bob, group, without_reply).await.unwrap().message;
    let message = SendMessage {
        conversation_id: None,
        client_id: reply.client_id.as_str().into(),
        kind: Some(MessageKind::Text),
        text: Some("me".into()),
        media: None,
        event: None,
        data: None,
        reply_to: Some(asked.id),
        forwarded_from: None,
    };
    let send_at = stage.now().plus_millis(60_000);
    let request = ScheduleMessage { conversation_id: group, send_at, message };
    let scheduled = *stage.app.personal.schedule(bob, request).await.unwrap().scheduling.message.unwrap();
    for answer in [again, elsewhere, scheduled] {
        assert_eq!(answer, shown);
    }
}

#[tokio::test]
async fn a_message_deleted_for_oneself_is_hidden_everywhere() {
    for others in [0, 6] {
        let stage = Stage::new();
        let [ada, bob, eve] = stage.users(["ada", "bob", "eve"]).await;
        stage.delivery.set_online(eve, true);
        let mut members = vec![ada, bob, eve];
        for number in 0..others {
            members.push(stage.user(&format!("other{number}")).await);
        }
        let id = stage.group(&members).await;
        stage.say(ada, id, "before").await;
        let secret = stage.say(ada, id, &format!("@eve {SECRET}")).await;
        stage.app.personal.star(eve, secret.id).await.unwrap();
        let row = stage.row(eve, id).await;
        assert_eq!((row.unread, row.unread_mentions), (2, 1));
        stage.delivery.take();
        stage.app.writing.delete_for_me(eve, secret.id).await.unwrap();
        let row = stage.row(eve, id).await;
        assert_eq!((row.unread, row.unread_mentions), (1, 0));
        assert_eq!(row.last_message.map(|last| last.preview), Some("before".into()));
        // Her other devices learn which conversation they must load again.
        let told = AccountChange::MessageHidden { conversation_id: id, message_id: secret.id };
        let is_told = |event: Event| matches!(event, Event::Account(entry) if entry.change == told);
        assert!(stage.delivery.events_for(eve).into_iter().any(is_told));
        stage.delivery.take();
        // A retry succeeds.
        stage.app.writing.delete_for_me(eve, secret.id).await.unwrap();
        let messages = talk_about(&stage, [ada, bob], id, &secret).await;
        assert_nowhere(&stage, eve, id, &messages).await;
        assert_eq!(stage.row(eve, id).await.pinned_message_ids, []);
        let (thread, _) = stage.app.reading.thread(eve, messages[1], 0, 50).await.unwrap();
        assert_eq!((thread.root, thread.replies.len()), (None, 2));
        assert!(everything(&stage, bob, id, &messages).await.contains("swordfish, or so"));
        // Another node hides it too.
        let node = stage.second_node();
        assert_eq!(node.inbox.conversation(eve, id).await.unwrap().unread, 3);
        // A new membership does not bring it back.
        stage.app.groups.leave(eve, id, false).await.unwrap();
        stage.app.groups.add_members(ada, id, &[eve]).await.unwrap();
        assert_nowhere(&stage, eve, id, &messages).await;
    }
}

#[tokio::test]
async fn a_sender_can_delete_for_all_after_deleting_for_themselves() {
    let stage = Stage::new();
    let (ada, bob, id) = stage.pair().await;
    let message = stage.say(ada, id, SECRET).await;
    stage.app.writing.delete_for_me(ada, message.id).await.unwrap();
    assert_eq!(stage.history(bob, id).await, [SECRET]);
    stage.app.writing.delete_for_all(ada, message.id).await.unwrap();
    assert_eq!(stage.history(bob, id).await, ["(gone)"]);
}

#[tokio::test]
async fn a_conversation_deleted_for_oneself_returns_with_new_messages_only() {
    let stage = Stage::new();
    let [ada, bob, eve] = stage.users(["ada", "bob", "eve"]).await;
    let id = stage.group(&[ada, bob, eve]).await;
    let other = stage.group(&[eve]).await;
    for words in ["one", "two", SECRET] {
        stage.say(ada, id, &format!("@eve {words}")).await;
    }
    let secret = stage.say(ada, id, SECRET).await;
    let pinned = UpdateMembership { pinned: Some(true), ..UpdateMembership::default() };
    stage.app.inbox.update_membership(eve, id, pinned.clone()).await.unwrap();
    stage.app.inbox.delete_for_me(eve, id, None).await.unwrap();
    stage.delivery.take();
    stage.app.inbox.update_membership(eve, other, pinned).await.unwrap();
    let messages = talk_about(&stage, [ada, bob], id, &secret).await;
    assert_nowhere(&stage, eve, id, &messages).await;
    let row = stage.row(eve, id).await;
    assert_eq!((row.unread, row.unread_mentions), (2, 0));
    assert!(!row.me.pinned, "it comes back as a new one would");
    assert_eq!(stage.row(eve, other).await.me.pin_place, Some(0));
    // Leaving and returning does not bring back deleted messages.
    stage.app.groups.leave(eve, id, false).await.unwrap();
    stage.app.groups.add_members(ada, id, &[eve]).await.unwrap();
    assert_nowhere(&stage, eve, id, &messages).await;
}

#[tokio::test]
async fn the_log_has_only_the_newest_version() {
    let stage = Stage::new();
    let [ada, bob] = stage.users(["ada", "bob"]).await;
    let id = stage.group(&[ada, bob]).await;
    let update = UpdateConversation {
        edits_visible_to: Some(EditsVisibleTo::Admins),
        ..UpdateConversation::default()
    };
    stage.app.groups.update(ada, id, &update).await.unwrap();
    let message = stage.say(ada, id, "first swordfish").await;
    for words in ["second swordfish", "third swordfish", "last"] {
        stage.app.writing.edit(ada, message.id, words.into()).await.unwrap();
    }
    assert!(matches!(stage.app.reading.edits(bob, message.id, 0).await, Err(ReadError::Forbidden)));
    stage.delivery.take();
    assert_nowhere(&stage, bob, id, &[message.id]).await;
    let log = stage.app.reading.log(bob, id, Seq::ZERO, 50).await.unwrap();
    let texts = log.entries.into_iter().filter_map(|entry| match entry.change {
        Change::Edited { text, .. } => Some(text),
        _ => None,
    });
    assert_eq!(texts.collect::<Vec<_>>(), [None, None, Some("last".into())]);
}

/// A reaction that was changed or taken back is no longer in the log, nor is the count that it had.
#[tokio::test]
async fn the_log_has_only_the_present_reactions() {
    let stage = Stage::new();
    let [ada, bob, eve] = stage.users(["ada", "bob", "eve"]).await;
    let id = stage.group(&[ada, bob, eve]).await;
    let message = stage.say(ada, id, "look").await;
    for (user, reaction) in [
        (bob, Some("swordfish")),
        (eve, Some("two swordfish")),
        (bob, Some("+")),
        (eve, None),
        (ada, Some("!")),
    ] {
        stage.app.writing.react(user, message.id, reaction.map(Into::into)).await.unwrap();
    }
    stage.delivery.take();
    assert_nowhere(&stage, ada, id, &[message.id]).await;
    let log = stage.app.reading.log(ada, id, message.seq, 50).await.unwrap();
    let shown = log.entries.into_iter().map(|entry| match entry.change {
        Change::Reacted { changes, reactions, .. } => {
            let counts: String = reactions.iter().map(|r| format!("{}{}", r.reaction, r.count)).collect();
            assert_eq!(counts, "+1!1");
            let [change] = &*changes else { panic!("{changes:?}") };
            (change.user_id, change.reaction.clone())
        }
        other => panic!("{other:?}"),
    });
    let (plus, nothing) = ((bob, Some("+".to_owned())), (eve, None));
    let expected = [plus.clone(), nothing.clone(), plus, nothing, (ada, Some("!".to_owned()))];
    assert_eq!(shown.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn hidden_read_cursors_are_not_revealed() {
    let stage = Stage::new();
    let (ada, bob, id) = stage.pair().await;
    let message = stage.say(ada, id, "read me").await;
    let group = stage.group(&[ada, bob]).await;
    let in_group = stage.say(ada, group, "and me").await;
    stage.app.cursors.advance(bob, id, None, Some(message.seq)).await.unwrap();
    stage.app.cursors.advance(bob, group, None, Some(in_group.seq)).await.unwrap();
    stage.app.cursors.flush().await.unwrap();
    let shown = async |id: ConversationId, message: MessageId| {
        let row = stage.row(ada, id).await;
        let read_by = |user| row.cursors.iter().find(|c| c.user_id == user).map(|c| c.read);
        let (members, _) = stage.app.groups.members(ada, id, &Default::default(), None, 50).await.unwrap();
        let of_bob = members.iter().find(|member| member.user.id == bob).unwrap();
        let (receipts, _) = stage.app.reading.receipts(ada, message, None, 50).await.unwrap();
        let status = stage.app.reading.message(ada, message).await.unwrap().status;
        let receipt = &receipts.receipts[0];
        assert_eq!(receipt.delivered_at.is_some(), receipt.status >= MessageStatus::Delivered);
        assert_eq!(receipt.read_at.is_some(), receipt.status == MessageStatus::Read);
        (read_by(bob), of_bob.cursor.map(|cursor| cursor.read), receipt.status, status)
    };
    let read = |seq: Seq| (Some(seq), Some(seq), MessageStatus::Read, MessageStatus::Read);
    let hidden = (Some(Seq::ZERO), Some(Seq::ZERO), MessageStatus::Delivered, MessageStatus::Delivered);
    let blocked = (None, None, MessageStatus::Sent, MessageStatus::Delivered);
    assert_eq!(shown(id, message.id).await, read(message.seq));
    assert_eq!(shown(group, in_group.id).await, read(in_group.seq));

    let receipts = |on| UpdateMe { read_receipts: Some(on), ..UpdateMe::default() };
    stage.app.accounts.update_me(bob, receipts(false)).await.unwrap();
    assert_eq!(shown(id, message.id).await, hidden);
    stage.app.accounts.update_me(bob, receipts(true)).await.unwrap();
    stage.app.people.block(bob, ada).await.unwrap();
    // Delivery marks would reveal when a user is online.
    assert_eq!(shown(id, message.id).await, blocked);
    assert_eq!(shown(group, in_group.id).await, blocked);
    let next = stage.say(ada, group, "next").await;
    stage.delivery.take();
    stage.app.cursors.advance(bob, group, None, Some(next.seq)).await.unwrap();
    stage.app.cursors.flush().await.unwrap();
    let is_cursor = |event: &Event| matches!(event, Event::Cursor(_));
    assert!(!stage.delivery.events_for(ada).iter().any(is_cursor), "nor is it told live");
    assert!(stage.delivery.events_for(bob).iter().any(is_cursor));
}

#[tokio::test]
async fn a_non_member_learns_nothing_about_a_conversation() {
    let stage = Stage::new();
    let [ada, bob, eve] = stage.users(["ada", "bob", "eve"]).await;
    let id = stage.group(&[ada, bob]).await;
    let message = stage.say(ada, id, SECRET).await;
    for to in [message.id, MessageId::new(5)] {
        let refused = stage.app.writing.send(eve, id, replying("me too", to)).await;
        assert!(matches!(refused, Err(Refusal::NotFound)), "{refused:?}");
    }
    // A member may not quote a message that they cannot see.
    stage.app.writing.delete_for_me(bob, message.id).await.unwrap();
    let refused = stage.app.writing.send(bob, id, replying("me too", message.id)).await;
    assert!(matches!(refused, Err(Refusal::ReplyNotFound)), "{refused:?}");
}

#[tokio::test]
async fn a_page_around_a_message_is_full_if_enough_messages_exist() {
    let stage = Stage::new();
    let (ada, _, id) = stage.pair().await;
    let mut sent = Vec::new();
    for number in 0..20 {
        sent.push(stage.say(ada, id, &format!("m{number}")).await);
    }
    for (place, first, last) in [(0, 0, 9), (2, 0, 9), (10, 5, 14), (19, 10, 19), (17, 10, 19)] {
        let around = HistoryPage::Around(Position::Message(sent[place].id));
        let page = stage.app.reading.history(ada, id, around, 10).await.unwrap();
        let ends = (page.messages[0].id, page.messages.last().unwrap().id);
        assert_eq!((page.messages.len(), ends), (10, (sent[first].id, sent[last].id)), "around {place}");
        assert_eq!((page.more_before, page.more_after), (first > 0, last < 19), "around {place}");
    }
}

#[tokio::test]
async fn a_client_id_reused_for_another_text_returns_the_first_message() {
    let stage = Stage::new();
    let (ada, _, id) = stage.pair().await;
    let draft = |words: &str| Draft {
        client_id: ClientId::parse("same").unwrap(),
        body: Some(MessageBody::Text(words.into())),
        ..saying(words)
    };
    let first = stage.app.writing.send(ada, id, draft("one")).await.unwrap();
    let again = stage.app.writing.send(ada, id, draft("two")).await.unwrap();
    assert_eq!((again.message.id, again.message.text.as_deref()), (first.message.id, Some("one")));
}

/// A quote shows the message as of the delivery of the reply, even if both happened in one batch.
#[tokio::test]
async fn a_quote_has_the_result_of_a_concurrent_edit() {
    let stage = Stage::new();
    let [ada, bob, eve] = stage.users(["ada", "bob", "eve"]).await;
    let group = stage.group(&[ada, bob, eve]).await;
    let message = stage.say(ada, group, SECRET).await;
    let before = stage.delivery.events_for(eve).len();
    let (edited, replied) = tokio::join!(
        stage.app.writing.edit(ada, message.id, "nothing".to_owned()),
        stage.app.writing.send(bob, group, replying("what?", message.id))
    );
    edited.unwrap();
    replied.unwrap();
    let told = serde_json::to_string(&stage.delivery.events_for(eve)[before..]).unwrap();
    assert!(told.contains("\"preview\":\"nothing\"") && !told.contains(SECRET), "{told}");
}

/// The entries of the message that a user was sent live.
fn live_changes(stage: &Stage, user: UserId) -> Vec<Change> {
    let events = stage.delivery.take();
    let to_user = events.into_iter().filter_map(|delivered| match delivered {
        Delivered::Event { to, event: Event::Entry(event) } if to.contains(&user) => Some(event.entry.change),
        _ => None,
    });
    to_user.collect()
}

/// What is deleted at once is told live as the log has it: without the content.
#[tokio::test]
async fn a_concurrently_deleted_message_is_delivered_without_content() {
    let stage = Stage::new();
    let [ada, bob] = stage.users(["ada", "bob"]).await;
    let group = stage.group(&[ada, bob]).await;
    let message = stage.say(ada, group, "first").await;
    let writing = &stage.app.writing;
    stage.delivery.take();
    let (edited, reacted, deleted) = tokio::join!(
        writing.edit(ada, message.id, SECRET.to_owned()),
        writing.react(bob, message.id, Some("swordfish".into())),
        writing.delete_for_all(ada, message.id)
    );
    edited.unwrap();
    reacted.unwrap();
    deleted.unwrap();
    let changes = live_changes(&stage, bob);
    let [Change::Edited { text, .. }, Change::Reacted { changes, reactions, .. }, Change::Deleted { .. }] =
        &*changes
    else {
        panic!("{changes:?}")
    };
    assert_eq!((text, changes.len(), reactions.len()), (&None, 0, 0));
}

#[tokio::test]
async fn of_two_concurrent_edits_only_the_newest_has_a_text() {
    let stage = Stage::new();
    let [ada, bob] = stage.users(["ada", "bob"]).await;
    let group = stage.group(&[ada, bob]).await;
    let message = stage.say(ada, group, "first").await;
    let writing = &stage.app.writing;
    stage.delivery.take();
    let (second, third) = tokio::join!(
        writing.edit(ada, message.id, format!("@bob {SECRET}")),
        writing.edit(ada, message.id, "third".to_owned())
    );
    second.unwrap();
    third.unwrap();
    let changes = live_changes(&stage, bob);
    let [Change::Edited { text: None, mentions, .. }, Change::Edited { text: Some(third), .. }] = &*changes
    else {
        panic!("{changes:?}")
    };
    assert_eq!((mentions.user_ids.len(), third.as_str()), (0, "third"));
}

/// Many who have deleted a message for themselves do not keep the others from what becomes of it.
#[tokio::test]
async fn an_entry_hidden_by_many_members_is_left_to_the_log() {
    let stage = Stage::new();
    let [ada, bob] = stage.users(["ada", "bob"]).await;
    let mut members = vec![ada, bob];
    for number in 0..1_001 {
        members.push(stage.user(&format!("person{number}")).await);
    }
    let channel = stage.channel(&members[..2]).await;
    let open = UpdatePermissions { anyone_may_join: Some(true), ..UpdatePermissions::default() };
    let open = UpdateConversation { permissions: Some(open), ..UpdateConversation::default() };
    stage.app.groups.update(ada, channel, &open).await.unwrap();
    for user in &members[2..] {
        stage.app.groups.join(*user, channel).await.unwrap();
    }
    let message = stage.say(ada, channel, "old").await;
    for user in &members[2..] {
        stage.app.writing.delete_for_me(*user, message.id).await.unwrap();
    }
    stage.delivery.set_online(bob, true);
    stage.app.presence.came_online(bob).await.unwrap();
    stage.app.writing.edit(ada, message.id, "new".to_owned()).await.unwrap();
    assert!(!stage.heard(bob).iter().any(|kind| kind == "withheld" || kind == "edited"));
    let told = stage.delivery.events_for(bob).into_iter().filter_map(|event| match event {
        Event::EntryOmitted(omitted) => Some(omitted),
        _ => None,
    });
    let omitted = EntryOmitted { conversation_id: channel, seq: stage.row(bob, channel).await.head };
    assert_eq!(told.collect::<Vec<_>>(), [omitted], "a live client learns that there is something to read");
    let page = stage.app.reading.log(bob, channel, message.seq, 200).await.unwrap();
    let texts = page.entries.iter().map(|entry| match &entry.change {
        Change::Edited { text, .. } => text.as_deref(),
        other => panic!("{other:?}"),
    });
    assert_eq!(texts.collect::<Vec<_>>(), [Some("new")]);
}
