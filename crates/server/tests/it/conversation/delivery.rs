//! Sending and receiving: receivers, order and content of messages.

use futures_util::future::try_join_all;
use godwit_client::History;
use godwit_client::protocol::messages::{Media, Message, MessageKind};
use godwit_client::protocol::socket::CloseCode;
use godwit_client::protocol::sync::AccountChange;
use godwit_client::protocol::{ConversationId, ErrorCode, Seq};
use godwit_client::{Draft, Error};

use super::Stage;
use crate::logs::{assert_rest_of, messages, read_log, same, texts};
use crate::people::{Device, Person, open_socket};

/// Messages per sender.
const SENDS: u64 = 25;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_device_of_both_gets_everything_in_one_order() {
    let Stage { ada, bob, chat, server: _server } = Stage::new().await;
    let devices = [
        ada.device("phone").await,
        ada.device("laptop").await,
        ada.device("tablet").await,
        bob.device("phone").await,
        bob.device("laptop").await,
    ];
    let over_http = |device: &Device, tag: &'static str| {
        let http = device.http.clone();
        tokio::spawn(async move {
            let mut acknowledged = Vec::new();
            for number in 0..SENDS {
                let sent = http.send_message(chat, Draft::text(format!("{tag} {number}"))).await.unwrap();
                assert!(sent.is_new);
                acknowledged.push(sent.value);
            }
            acknowledged
        })
    };
    let over_socket = |device: &Device, tag: &'static str| {
        let socket = device.socket.clone();
        tokio::spawn(async move {
            let mut acknowledged = Vec::new();
            for number in 0..SENDS {
                acknowledged.push(socket.send(chat, Draft::text(format!("{tag} {number}"))).await.unwrap());
            }
            acknowledged
        })
    };
    let tags = ["ada over the socket", "ada over HTTP", "bob over the socket", "bob over HTTP"];
    let sending = [
        over_socket(&devices[0], tags[0]),
        over_http(&devices[1], tags[1]),
        over_socket(&devices[3], tags[2]),
        over_http(&devices[4], tags[3]),
    ];
    let acknowledged: Vec<Message> = try_join_all(sending).await.unwrap().concat();

    let log = read_log(&ada.http, chat).await;
    assert_eq!(log.len() as u64, 1 + SENDS * 4, "the beginning, and each message once");
    assert_eq!(read_log(&bob.http, chat).await, log, "both read the same log");
    for device in &devices {
        let heard = device.hears_log(chat, log.last().unwrap().seq).await;
        // The conversation existed before the sockets.
        assert_eq!(heard.first().unwrap().seq, Seq::new(2), "{}", device.name);
        assert_rest_of(&log, &device.name, &heard);
    }
    for message in acknowledged {
        let at = usize::try_from(message.seq.get()).unwrap() - 2;
        assert_eq!(messages(&log).nth(at), Some(&same(message)), "what was acknowledged is in the log");
    }
    for tag in tags {
        let own: Vec<_> = texts(&log).into_iter().filter(|text| text.starts_with(tag)).collect();
        let given: Vec<_> = (0..SENDS).map(|number| format!("{tag} {number}")).collect();
        assert_eq!(own, given, "messages sent one after the other keep their order");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_submitted_together_keep_their_order() {
    let Stage { ada, bob, chat, server: _server } = Stage::new().await;
    let (phone, peer) = (ada.device("phone").await, bob.device("phone").await);
    let given: Vec<String> = (0..200).map(|number| format!("number {number}")).collect();
    let sends = given.iter().map(|text| phone.socket.send(chat, Draft::text(text)));
    let acknowledged: Vec<Message> = try_join_all(sends).await.unwrap();
    let log = read_log(&bob.http, chat).await;
    assert_eq!(texts(&log), given);
    assert!(acknowledged.into_iter().map(same).eq(messages(&log).cloned()));
    assert_rest_of(&log, &peer.name, &peer.hears_log(chat, log.last().unwrap().seq).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_opens_create_one_direct_conversation() {
    let stage = Stage::new().await;
    let eve = stage.stranger().await;
    let opens = (0..16).map(|number| {
        let (by, with) = if number % 2 == 0 { (&eve, &stage.ada) } else { (&stage.ada, &eve) };
        by.http.direct(with.id)
    });
    let opened = try_join_all(opens).await.unwrap();
    assert!(opened.iter().all(|conversation| conversation.id == opened[0].id));
    assert_eq!(opened.iter().filter(|conversation| conversation.is_new).count(), 1, "made once");
    assert_ne!(opened[0].id, stage.chat);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_conversation_appears_with_its_first_message() {
    let stage = Stage::new().await;
    let eve = stage.stranger().await;
    let (eves, adas) = (eve.device("phone").await, stage.ada.device("phone").await);
    let chat = eve.open_direct(&stage.ada).await;
    eves.hears_account("the new conversation", |change| is_listed(change, chat)).await;
    assert!(ids_of_inbox(&eve).await.contains(&chat));
    assert!(!ids_of_inbox(&stage.ada).await.contains(&chat), "nothing was said yet");
    let first = eves.socket.send(chat, Draft::text("hello")).await.unwrap();
    adas.hears_account("the new conversation", |change| is_listed(change, chat)).await;
    let heard = adas.hears_log(chat, first.seq).await;
    assert_eq!(messages(&heard).collect::<Vec<_>>(), [&first]);
    assert!(ids_of_inbox(&stage.ada).await.contains(&chat));
    assert_rest_of(&read_log(&stage.ada.http, chat).await, &adas.name, &heard);
}

fn is_listed(change: &AccountChange, chat: ConversationId) -> bool {
    matches!(change, AccountChange::ConversationListed { conversation_id } if *conversation_id == chat)
}

async fn ids_of_inbox(person: &Person) -> Vec<ConversationId> {
    person.http.conversations(None, None).await.unwrap().conversations.iter().map(|row| row.id).collect()
}

fn media(content_type: &str) -> Media {
    Media {
        url: "https://media.example/1f0c".to_owned(),
        content_type: content_type.to_owned(),
        size_bytes: 4_096,
        name: None,
        width: None,
        height: None,
        duration_ms: None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_of_every_kind_come_as_they_were_sent() {
    let Stage { ada, bob, chat, server: _server } = Stage::new().await;
    let (phone, peer) = (ada.device("phone").await, bob.device("phone").await);
    let image = Media { width: Some(640), height: Some(480), ..media("image/png") };
    let file = Media { name: Some("minutes.pdf".to_owned()), ..media("application/pdf") };
    let voice = Media { duration_ms: Some(2_500), ..media("audio/ogg") };
    let drafts = [
        (Draft::text("line one\nline two\t\u{1F426}"), MessageKind::Text, None, None),
        (
            Draft::media(MessageKind::Image, image.clone()).caption("a bird"),
            MessageKind::Image,
            Some(image),
            None,
        ),
        (Draft::media(MessageKind::File, file.clone()), MessageKind::File, Some(file), None),
        (Draft::media(MessageKind::Voice, voice.clone()), MessageKind::Voice, Some(voice), None),
        (
            Draft::event("app.call.ended").caption("12 minutes"),
            MessageKind::System,
            None,
            Some("app.call.ended"),
        ),
    ];
    let mut sent = Vec::new();
    for (number, (draft, kind, media, event)) in drafts.into_iter().enumerate() {
        let message = match number % 2 {
            0 => phone.socket.send(chat, draft).await.unwrap(),
            _ => phone.http.send_message(chat, draft).await.unwrap().value,
        };
        assert_eq!(
            (message.kind, message.media.as_deref(), message.event.as_deref()),
            (kind, media.as_ref(), event)
        );
        assert_eq!((message.conversation_id, message.sender_id), (chat, ada.id));
        sent.push(message);
    }
    assert_eq!(sent[0].text.as_deref(), Some("line one\nline two\t\u{1F426}"));
    assert_eq!(sent[1].text.as_deref(), Some("a bird"));
    let heard = peer.hears_log(chat, sent.last().unwrap().seq).await;
    assert_eq!(messages(&heard).collect::<Vec<_>>(), sent.iter().collect::<Vec<_>>());
    for message in sent {
        assert_eq!(bob.http.message(message.id).await.unwrap(), message);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replies_and_forwards_name_messages_that_the_sender_can_see() {
    let stage = Stage::new().await;
    let (ada, bob, chat) = (&stage.ada, &stage.bob, stage.chat);
    let eve = stage.stranger().await;
    let other_chat = bob.open_direct(&eve).await;
    let original = ada.http.send_message(chat, Draft::text("what do you think?")).await.unwrap();
    let secret = bob.http.send_message(other_chat, Draft::text("between us")).await.unwrap();
    let (phone, eves) = (bob.device("phone").await, eve.device("phone").await);

    let reply = phone.socket.send(chat, Draft::text("fine").reply_to(original.id)).await.unwrap();
    assert_eq!(reply.reply_to, Some(original.id));
    let forward = bob.http.send_message(other_chat, Draft::forward(original.id)).await;
    let forward = forward.unwrap().value;
    assert_eq!(forward.text.as_deref(), Some("what do you think?"));
    let from = forward.forwarded_from.unwrap();
    assert_eq!((from.message_id, from.sender_id), (original.id, ada.id));
    let heard = eves.hears_log(other_chat, forward.seq).await;
    assert_eq!(messages(&heard).last(), Some(&forward));

    let before = read_log(&ada.http, chat).await;
    let (adas, _events) = open_socket(&ada.http).await;
    let refusals = [
        (Draft::text("x").reply_to(secret.id), ErrorCode::ReplyNotFound),
        (Draft::forward(secret.id), ErrorCode::ForwardNotFound),
        (Draft::forward(reply.id).caption("x"), ErrorCode::InvalidField),
    ];
    for (draft, code) in refusals {
        let over_http = ada.http.send_message(chat, draft.clone()).await.unwrap_err();
        let over_socket = adas.send(chat, draft).await.unwrap_err();
        assert_eq!((over_http.code(), over_socket.code()), (Some(code), Some(code)));
    }
    assert_eq!(read_log(&ada.http, chat).await, before, "what is refused is not stored");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn non_members_find_nothing() {
    let stage = Stage::new().await;
    let eve = stage.stranger().await;
    let eves = eve.device("phone").await;
    let secret = stage.ada.http.send_message(stage.chat, Draft::text("between us")).await.unwrap();
    let chat = stage.chat;
    let attempts: [Result<(), Error>; 8] = [
        eve.http.conversation(chat).await.map(drop),
        eve.http.log(chat, Seq::ZERO, None).await.map(drop),
        eve.http.messages(chat, History::Newest, None).await.map(drop),
        eve.http.message(secret.id).await.map(drop),
        eve.http.receipts(secret.id).await.map(drop),
        eve.http.send_message(chat, Draft::text("hello")).await.map(drop),
        eves.socket.send(chat, Draft::text("hello")).await.map(drop),
        eves.socket.read(chat, Seq::new(1)).await.map(drop),
    ];
    for attempt in attempts {
        assert_eq!(attempt.unwrap_err().code(), Some(ErrorCode::NotFound));
    }
    assert_eq!(messages(&read_log(&stage.ada.http, chat).await).count(), 1);
    // A later event on the same socket proves that no earlier one came.
    let own = eve.open_direct(&stage.bob).await;
    let last = eves.socket.send(own, Draft::text("hello?")).await.unwrap();
    eves.hears_log(own, last.seq).await;
    assert!(eves.heard_log(chat).is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_device_receives_no_more_events() {
    let Stage { ada, bob, chat, server: _server } = Stage::new().await;
    let (lost, kept) = (ada.device("lost phone").await, ada.device("laptop").await);
    let before = bob.http.send_message(chat, Draft::text("before")).await.unwrap();
    lost.hears_log(chat, before.seq).await;
    kept.http.revoke_device(lost.id).await.unwrap();
    let after = bob.http.send_message(chat, Draft::text("after")).await.unwrap();
    assert_eq!(lost.closed().await.code(), Some(CloseCode::SignedOut));
    kept.hears_log(chat, after.seq).await;
    assert_eq!(texts(&lost.heard_log(chat)), ["before"]);
    assert_eq!(lost.http.me().await.unwrap_err().code(), Some(ErrorCode::Unauthenticated));
}
