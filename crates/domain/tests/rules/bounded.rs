//! The encoded size of every answer is bounded, whatever its content, and no item is lost between pages.

use std::collections::BTreeSet;

use futures_util::future::try_join_all;
use godwit_domain::groups::MemberFilter;
use godwit_domain::messages::HistoryPage;
use godwit_domain::model::{ClientId, Draft, MessageBody};
use godwit_domain::sync::SyncToken;
use godwit_protocol::accounts::UpdateMe;
use godwit_protocol::conversations::{Conversation, MemberCursor, NewDraft, UpdateMembership};
use godwit_protocol::limits::{
    ANSWER_BYTES_MAX, AVATAR_BYTES_MAX, CONVERSATION_IMAGE_BYTES_MAX, CONVERSATION_NAME_CHARS_MAX,
    DESCRIPTION_CHARS_MAX, DISPLAY_NAME_CHARS_MAX, DRAFT_CHARS_MAX, HANDLE_CHARS_MAX, PAGE_MAX,
    PINS_PER_CONVERSATION_MAX, REACTION_CHARS_MAX, SEARCH_PAGE_MAX, TEXT_CHARS_MAX,
};
use godwit_protocol::messages::{Message, MessageKind, SendMessage};
use godwit_protocol::personal::ScheduleMessage;
use godwit_protocol::{ConversationId, MessageId, Position, Seq, UserId};
use serde::Serialize;

use crate::stage::{ADDING, Stage};

/// Each character takes two bytes in JSON.
fn long_text() -> String {
    "\"".repeat(TEXT_CHARS_MAX)
}

fn fits(answer: &impl Serialize) {
    let bytes = serde_json::to_vec(answer).unwrap().len();
    assert!(bytes <= ANSWER_BYTES_MAX, "{bytes} bytes");
}

async fn say(
    stage: &Stage,
    by: UserId,
    id: ConversationId,
    number: usize,
    reply_to: Option<MessageId>,
) -> Message {
    let client_id = ClientId::parse(&format!("{number}")).unwrap();
    let body = MessageBody::Text(long_text().into());
    let draft = Draft { client_id, body: Some(body), reply_to, forwarded_from: None };
    stage.app.writing.send(by, id, draft).await.unwrap().message
}

/// A conversation with more long replies to the first message than fit into a page.
async fn long_talk(stage: &Stage) -> (UserId, ConversationId, Vec<Message>) {
    let (ada, _, id) = stage.pair().await;
    let mut messages = vec![say(stage, ada, id, 0, None).await];
    for number in 1..60 {
        messages.push(say(stage, ada, id, number, Some(messages[0].id)).await);
    }
    (ada, id, messages)
}

#[tokio::test]
async fn pages_of_history_go_through_all_of_it() {
    let stage = Stage::new();
    let (ada, id, messages) = long_talk(&stage).await;
    let ids: Vec<MessageId> = messages.iter().map(|message| message.id).collect();
    let mut read: Vec<Message> = Vec::new();
    let mut place = HistoryPage::Newest;
    loop {
        let page = stage.app.reading.history(ada, id, place, 200).await.unwrap();
        fits(&page);
        place = HistoryPage::Before(Position::Seq(page.messages[0].seq));
        read.splice(..0, page.messages);
        if !page.more_before {
            break;
        }
    }
    assert_eq!(read.iter().map(|message| message.id).collect::<Vec<_>>(), ids);
    let (mut read, mut after) = (Vec::new(), Seq::ZERO);
    loop {
        let place = HistoryPage::After(Position::Seq(after));
        let page = stage.app.reading.history(ada, id, place, 200).await.unwrap();
        fits(&page);
        after = page.messages.last().unwrap().seq;
        read.extend(page.messages.into_iter().map(|message| message.id));
        if !page.more_after {
            break;
        }
    }
    assert_eq!(read, ids);
    let middle = &messages[30];
    let place = HistoryPage::Around(Position::Message(middle.id));
    let page = stage.app.reading.history(ada, id, place, 200).await.unwrap();
    fits(&page);
    let around: Vec<MessageId> = page.messages.iter().map(|message| message.id).collect();
    let anchor = around.iter().position(|id| *id == middle.id).unwrap();
    assert!(page.more_before && page.more_after && anchor > 1 && around.len() - anchor > 2);
    assert!(ids.windows(around.len()).any(|part| part == around));
}

#[tokio::test]
async fn pages_of_logs_threads_stars_and_pins_continue_after_the_size_limit() {
    let stage = Stage::new();
    let (ada, id, messages) = long_talk(&stage).await;
    let mut after = Seq::ZERO;
    loop {
        let page = stage.app.reading.log(ada, id, after, 200).await.unwrap();
        fits(&page);
        assert_eq!(page.entries[0].seq, after.next());
        after = page.entries.last().unwrap().seq;
        if !page.more {
            assert_eq!(after, page.head);
            break;
        }
    }
    let (mut replies, mut after) = (Vec::new(), 0);
    loop {
        let (page, next) = stage.app.reading.thread(ada, messages[0].id, after, 200).await.unwrap();
        fits(&page);
        replies.extend(page.replies.iter().map(|message| message.id));
        let Some(next) = next else { break };
        after = next;
    }
    assert_eq!(replies, messages[1..].iter().map(|message| message.id).collect::<Vec<_>>());
    for message in &messages[..40] {
        stage.app.personal.star(ada, message.id).await.unwrap();
        stage.app.writing.pin(ada, message.id).await.unwrap();
    }
    let (mut stars, mut before) = (Vec::new(), None);
    loop {
        let (page, next) = stage.app.personal.stars(ada, before, 200).await.unwrap();
        fits(&page);
        stars.extend(page.into_iter().map(|message| message.id));
        before = next;
        if before.is_none() {
            break;
        }
    }
    stars.reverse();
    assert_eq!(stars, messages[..40].iter().map(|message| message.id).collect::<Vec<_>>());
    let (mut pins, mut after) = (Vec::new(), 0);
    loop {
        let (page, next) = stage.app.reading.pins(ada, id, after).await.unwrap();
        fits(&page);
        pins.extend(page.pins.into_iter().map(|pin| pin.message.id));
        let Some(next) = next else { break };
        after = next;
    }
    pins.reverse();
    assert_eq!(pins, stars);
}

#[tokio::test]
async fn pages_of_versions_and_scheduled_messages_continue_after_the_size_limit() {
    let stage = Stage::new();
    let (ada, _, id) = stage.pair().await;
    let message = say(&stage, ada, id, 0, None).await;
    for number in 0..40 {
        let text = format!("{number}{}", &long_text()[2..]);
        stage.app.writing.edit(ada, message.id, text).await.unwrap();
    }
    let (mut versions, mut after) = (0, 0);
    loop {
        let (page, next) = stage.app.reading.edits(ada, message.id, after).await.unwrap();
        fits(&page);
        versions += page.versions.len();
        let Some(next) = next else { break };
        after = next;
    }
    assert_eq!(versions, 41);
    for number in 0..40 {
        let message = SendMessage {
            conversation_id: None,
            client_id: format!("later-{number}"),
            kind: Some(MessageKind::Text),
            data: None,
            text: Some(long_text()),
            media: None,
            event: None,
            reply_to: None,
            forwarded_from: None,
        };
        let send_at = stage.now().plus_millis(3_600_000);
        let request = ScheduleMessage { conversation_id: id, send_at, message };
        stage.app.personal.schedule(ada, request).await.unwrap();
    }
    let (mut scheduled, mut after) = (Vec::new(), None);
    loop {
        let (page, next) = stage.app.personal.scheduled(ada, after).await.unwrap();
        fits(&page);
        scheduled.extend(page.into_iter().map(|scheduled| scheduled.id));
        after = next;
        if after.is_none() {
            break;
        }
    }
    scheduled.dedup();
    assert_eq!(scheduled.len(), 40);
}

#[tokio::test]
async fn pages_with_long_drafts_continue_after_the_size_limit() {
    const CONVERSATIONS: usize = 40;
    let stage = Stage::new();
    let ada = stage.user("ada").await;
    let mut expected = Vec::new();
    for number in 0..CONVERSATIONS {
        stage.clock.advance_ms(1_000);
        let other = stage.user(&format!("other{number}")).await;
        let avatar = Some(Some(format!("https://media.example/{}", "x".repeat(2_000))));
        stage.app.accounts.update_me(other, UpdateMe { avatar, ..UpdateMe::default() }).await.unwrap();
        let id = stage.app.inbox.open_direct(ada, other).await.unwrap().conversation.id;
        let draft = NewDraft { text: "\"".repeat(DRAFT_CHARS_MAX), reply_to: None };
        let update = UpdateMembership {
            draft: Some(Some(draft)),
            pinned: (number % 2 == 0).then_some(true),
            ..UpdateMembership::default()
        };
        stage.app.inbox.update_membership(ada, id, update).await.unwrap();
        expected.push(id);
    }
    expected.sort_unstable();
    let (mut listed, mut after) = (Vec::new(), None);
    loop {
        let (page, next) = stage.app.inbox.page(ada, false, after, 200).await.unwrap();
        fits(&page);
        listed.extend(page.into_iter().map(|row| row.id));
        after = next;
        if after.is_none() {
            break;
        }
    }
    let count = listed.len();
    listed.sort_unstable();
    listed.dedup();
    assert_eq!((count, &listed), (CONVERSATIONS, &expected), "each once");
    let (mut synced, mut token) = (Vec::new(), None);
    loop {
        let (page, next) = stage.app.sync.since(ada, token, 200).await.unwrap();
        fits(&page);
        synced.extend(page.conversations.iter().map(|row| row.id));
        token = Some(next);
        if !page.more {
            break;
        }
    }
    synced.sort_unstable();
    assert_eq!(synced, expected, "each once");
    // The changes are as large.
    let mut token = token.map(|token| SyncToken { account_seq: 0, ..token });
    let mut pages = 0;
    loop {
        let (page, next) = stage.app.sync.since(ada, token, 200).await.unwrap();
        fits(&page);
        (token, pages) = (Some(next), pages + 1);
        if !page.more {
            break;
        }
    }
    assert!(pages > 2);
}

/// The user has hidden them all, and each page has to go past them.
#[tokio::test]
async fn hidden_messages_do_not_cost_a_read_each() {
    const HIDDEN: usize = 400;
    let stage = Stage::new();
    let (ada, bob, id) = stage.pair().await;
    let first = stage.say(ada, id, "the first").await;
    for number in 0..HIDDEN {
        let message = stage.say(bob, id, &format!("hidden {number}")).await;
        stage.app.writing.delete_for_me(ada, message.id).await.unwrap();
    }
    let last = stage.say(bob, id, "the last").await;
    for (place, expected) in [
        (HistoryPage::Newest, last.id),
        (HistoryPage::Before(Position::Message(last.id)), first.id),
        (HistoryPage::After(Position::Message(first.id)), last.id),
    ] {
        let before = stage.store.history_reads();
        let page = stage.app.reading.history(ada, id, place, 1).await.unwrap();
        let found: Vec<MessageId> = page.messages.iter().map(|message| message.id).collect();
        assert_eq!(found, [expected], "{place:?}");
        assert_eq!((page.more_before, page.more_after), (expected == last.id, expected == first.id));
        let reads = stage.store.history_reads() - before;
        assert!(reads <= HIDDEN as u64 / 100 + 4, "{reads} reads for {place:?}");
    }
    // The preview is of the newest message that the user sees.
    stage.app.writing.delete_for_me(ada, last.id).await.unwrap();
    for way in ["list", "conversation", "sync"] {
        let before = stage.store.history_reads();
        let row = match way {
            "list" => stage.app.inbox.page(ada, false, None, 50).await.unwrap().0.remove(0),
            "sync" => stage.app.sync.since(ada, None, 50).await.unwrap().0.conversations.remove(0),
            _ => stage.row(ada, id).await,
        };
        assert_eq!(row.last_message.map(|last| last.preview), Some("the first".into()), "{way}");
        let reads = stage.store.history_reads() - before;
        assert!(reads <= HIDDEN as u64 / 200 + 2, "{reads} reads for the {way}");
    }
}

/// All members are in memory, and are not all shown at once.
#[tokio::test]
async fn pages_of_receipts_go_through_all_members() {
    let stage = Stage::new();
    let [ada, bob, eve, dan] = stage.users(["ada", "bob", "eve", "dan"]).await;
    let group = stage.group(&[ada, bob, eve, dan]).await;
    let message = stage.say(bob, group, "hello").await;
    for user in [ada, eve] {
        stage.app.cursors.advance(user, group, None, Some(message.seq)).await.unwrap();
    }
    let (mut listed, mut after) = (Vec::new(), None);
    for (limit, more) in [(1, true), (1, true), (1, false)] {
        let (page, next) = stage.app.reading.receipts(ada, message.id, after, limit).await.unwrap();
        assert_eq!((page.read_by_all, page.receipts.len()), (Some(false), limit), "dan has not read it");
        listed.extend(page.receipts.iter().map(|receipt| receipt.user_id));
        assert_eq!(next.is_some(), more);
        after = next;
    }
    assert_eq!(listed, [ada, eve, dan], "one for each member but the sender");
    stage.app.cursors.advance(dan, group, None, Some(message.seq)).await.unwrap();
    let (page, _) = stage.app.reading.receipts(ada, message.id, None, 1).await.unwrap();
    assert_eq!((page.delivered_to_all, page.read_by_all), (Some(true), Some(true)));
}

/// Those that end by their number of items alone.
#[tokio::test]
async fn a_full_page_of_short_items_stays_below_the_size_limit() {
    let stage = Stage::new();
    let ada = stage.user("ada").await;
    let mut members = vec![ada];
    for number in 0..PAGE_MAX {
        let user = stage.user(&format!("{number:0>width$}", width = HANDLE_CHARS_MAX)).await;
        let address = "https://media.example/";
        let update = UpdateMe {
            display_name: Some("𝄞".repeat(DISPLAY_NAME_CHARS_MAX)),
            avatar: Some(Some(address.to_owned() + &"x".repeat(AVATAR_BYTES_MAX - address.len()))),
            ..UpdateMe::default()
        };
        stage.app.accounts.update_me(user, update).await.unwrap();
        members.push(user);
    }
    let group = stage.group(&members).await;
    let message = stage.say(ada, group, "hello").await;
    // In a large group, reactions that arrive together become one entry.
    let reaction = "👍🏽".repeat(REACTION_CHARS_MAX / 2);
    let react = |user: &UserId| stage.app.writing.react(*user, message.id, Some(reaction.as_str().into()));
    try_join_all(members.iter().map(react)).await.unwrap();
    fits(&stage.app.reading.reactions(ada, message.id, None, 200).await.unwrap().0);
    fits(&stage.app.reading.receipts(ada, message.id, None, 200).await.unwrap().0);
    fits(&stage.app.people.users(&members[..usize::from(SEARCH_PAGE_MAX)]).await.unwrap());
    let (mut listed, mut after) = (0, None);
    loop {
        let everybody = MemberFilter { role: None, name: None };
        let (page, next) = stage.app.groups.members(ada, group, &everybody, after, 200).await.unwrap();
        fits(&page);
        listed += page.len();
        after = next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(listed, members.len());
}

/// The configuration allows this many members of a conversation that is not large.
const MEMBERS_WITH_CURSORS_MAX: usize = 4_000;

#[tokio::test]
async fn a_conversation_with_the_cursors_of_all_its_members_fits() {
    let stage = Stage::new();
    let (ada, _, id) = stage.pair().await;
    let draft = NewDraft { text: "\"".repeat(DRAFT_CHARS_MAX), reply_to: None };
    let update = UpdateMembership { draft: Some(Some(draft)), ..UpdateMembership::default() };
    stage.app.inbox.update_membership(ada, id, update).await.unwrap();
    let last = Seq::new((1 << 53) - 1);
    let cursor = MemberCursor { user_id: UserId::new(u64::MAX >> 1), delivered: last, read: last };
    fits(&Conversation {
        name: "𝄞".repeat(CONVERSATION_NAME_CHARS_MAX),
        description: Some("\"".repeat(DESCRIPTION_CHARS_MAX)),
        image: Some("x".repeat(CONVERSATION_IMAGE_BYTES_MAX)),
        pinned_message_ids: vec![MessageId::new(u64::MAX >> 1); PINS_PER_CONVERSATION_MAX],
        cursors: vec![cursor; MEMBERS_WITH_CURSORS_MAX],
        ..stage.row(ada, id).await
    });
}

#[tokio::test]
async fn the_list_of_what_is_gone_continues_after_the_size_limit() {
    const GONE: usize = 3_500;
    let stage = Stage::new();
    let ada = stage.user("ada").await;
    let began = stage.now();
    let mut expected = BTreeSet::new();
    for _ in 0..GONE {
        // The time in which the allowance for one group recovers.
        stage.clock.advance_ms(24 * 3_600_000 / i64::from(ADDING.groups_per_day_max) + 1);
        let group = stage.group(&[ada]).await;
        stage.app.groups.delete_for_all(ada, group).await.unwrap();
        expected.insert(group);
    }
    let (mut gone, mut since, mut pages) = (BTreeSet::new(), began, 0);
    loop {
        let page = stage.app.inbox.gone_since(ada, since).await.unwrap();
        fits(&page);
        since = page.gone.last().unwrap().at;
        gone.extend(page.gone.iter().map(|one| one.conversation_id));
        pages += 1;
        if !page.more {
            break;
        }
    }
    assert!(gone == expected && pages > 1, "{} of {GONE} in {pages} pages", gone.len());
}
