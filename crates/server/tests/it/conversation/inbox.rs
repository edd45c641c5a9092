//! The inbox: order, pages and each user's settings.

use futures_util::future::join_all;
use godwit_client::Draft;
use godwit_client::protocol::conversations::{Conversation, UpdateMembership};
use godwit_client::protocol::messages::MessageKind;
use godwit_client::protocol::socket::Event;
use godwit_client::protocol::sync::AccountChange;
use godwit_client::protocol::{ConversationId, ErrorCode, Timestamp};

use super::Stage;
use crate::people::Person;

const PEERS: usize = 7;

/// One user with conversations in which others have written, one after the other.
async fn busy_inbox(stage: &Stage) -> Vec<(Person, ConversationId)> {
    let url = &stage.server.url();
    let registered = join_all((0..PEERS).map(|number| {
        let url = url.clone();
        async move { Person::register(&url, &format!("peer{number}")).await }
    }));
    let mut chats = Vec::new();
    for peer in registered.await {
        let chat = peer.open_direct(&stage.ada).await;
        peer.http.send_message(chat, Draft::text("first\nof two")).await.unwrap();
        peer.http.send_message(chat, Draft::text(format!("  from\n{}", peer.handle))).await.unwrap();
        chats.push((peer, chat));
    }
    chats
}

/// The whole inbox, in pages of this size.
async fn inbox(person: &Person, limit: u16) -> Vec<Conversation> {
    let (mut rows, mut after) = (Vec::new(), None);
    loop {
        let page = person.http.conversations(after.as_deref(), Some(limit)).await.unwrap();
        // The first page contains all pinned conversations in addition to the others.
        let others = page.conversations.iter().filter(|row| !row.me.pinned).count();
        assert!(others <= usize::from(limit));
        rows.extend(page.conversations);
        after = page.next;
        if after.is_none() {
            return rows;
        }
    }
}

fn ids(rows: &[Conversation]) -> Vec<ConversationId> {
    rows.iter().map(|row| row.id).collect()
}

fn pinned(pinned: bool) -> UpdateMembership {
    UpdateMembership { pinned: Some(pinned), ..UpdateMembership::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_inbox_is_pinned_first_then_latest_first_on_pages_of_any_size() {
    let stage = Stage::new().await;
    let ada = &stage.ada;
    let chats = busy_inbox(&stage).await;
    // The conversation with Bob is there too, without messages.
    let mut expected: Vec<ConversationId> = chats.iter().rev().map(|(_, chat)| *chat).collect();
    expected.push(stage.chat);
    for limit in [1, 3, 8, 200] {
        assert_eq!(ids(&inbox(ada, limit).await), expected, "on pages of {limit}");
    }
    // The oldest conversation gets a message, and the middle one is pinned.
    let (oldest, oldest_chat) = &chats[0];
    oldest.http.send_message(*oldest_chat, Draft::text("again")).await.unwrap();
    let pinned_chat = chats[3].1;
    ada.http.update_membership(pinned_chat, &pinned(true)).await.unwrap();
    let mut expected: Vec<ConversationId> = [pinned_chat, *oldest_chat].to_vec();
    expected.extend(
        chats.iter().rev().map(|(_, chat)| *chat).filter(|chat| *chat != pinned_chat && chat != oldest_chat),
    );
    expected.push(stage.chat);
    for limit in [1, 3, 8, 200] {
        assert_eq!(ids(&inbox(ada, limit).await), expected, "on pages of {limit}");
    }
    ada.http.update_membership(pinned_chat, &pinned(false)).await.unwrap();
    assert_eq!(ids(&inbox(ada, 200).await)[0], *oldest_chat);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_shows_what_a_list_needs() {
    let stage = Stage::new().await;
    let chats = busy_inbox(&stage).await;
    let rows = inbox(&stage.ada, 200).await;
    let (peer, chat) = &chats[PEERS - 1];
    let row = &rows[0];
    let last = row.last_message.as_ref().unwrap();
    assert_eq!((row.id, row.name.as_str(), row.unread), (*chat, peer.handle.as_str(), 2));
    assert_eq!(row.peer.as_ref().unwrap().id, peer.id);
    assert_eq!((last.kind, last.sender_id, last.seq), (MessageKind::Text, peer.id, row.head));
    assert_eq!(last.preview, format!("from {}", peer.handle), "on one line");
    assert_eq!(row.last_activity_at, last.created_at);
    // Opened on its own, it also has the marks of its members.
    let opened = stage.ada.http.conversation(*chat).await.unwrap();
    assert!(row.cursors.is_empty() && opened.cursors.len() == 2);
    assert_eq!(row, &Conversation { cursors: Vec::new(), ..opened });
    let quiet = rows.last().unwrap();
    assert_eq!((quiet.id, quiet.unread, &quiet.last_message), (stage.chat, 0, &None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_are_personal_and_shared_between_devices() {
    let Stage { ada, bob, chat, server: _server } = Stage::new().await;
    bob.http.send_message(chat, Draft::text("hello")).await.unwrap();
    let (phone, laptop, bobs) =
        (ada.device("phone").await, ada.device("laptop").await, bob.device("phone").await);
    let until = Timestamp::from_millis(4_000_000_000_000);
    let updates = [
        pinned(true),
        UpdateMembership { muted_until: Some(Some(until)), ..UpdateMembership::default() },
        UpdateMembership { archived: Some(true), ..UpdateMembership::default() },
        UpdateMembership { muted_until: Some(None), pinned: Some(false), ..UpdateMembership::default() },
    ];
    for update in updates {
        let now = phone.http.update_membership(chat, &update).await.unwrap();
        for device in [&phone, &laptop] {
            device
                .hears_account("the new settings", |change| {
                    matches!(change, AccountChange::MembershipUpdated { conversation_id, membership }
                    if *conversation_id == chat && *membership == now)
                })
                .await;
        }
        assert_eq!(ada.http.conversation(chat).await.unwrap().me, now);
    }
    let me = ada.http.conversation(chat).await.unwrap().me;
    assert_eq!((me.pinned, me.archived, me.muted_until), (false, true, None));
    assert!(inbox(&ada, 50).await.is_empty(), "what is archived is not in the inbox");
    assert_eq!(ids(&ada.http.archived_conversations(None, None).await.unwrap().conversations), [chat]);
    let past = UpdateMembership {
        muted_until: Some(Some(Timestamp::from_millis(0))),
        ..UpdateMembership::default()
    };
    let refused = ada.http.update_membership(chat, &past).await.unwrap_err();
    assert_eq!(refused.code(), Some(ErrorCode::InvalidField));

    // None of this concerns Bob: a later event on the same socket proves that no earlier one came.
    let last = ada.http.send_message(chat, Draft::text("hello")).await.unwrap();
    bobs.hears_log(chat, last.seq).await;
    assert!(!bobs.heard().iter().any(|event| matches!(event, Event::Account(_))), "{:?}", bobs.heard());
    let me = bob.http.conversation(chat).await.unwrap().me;
    assert_eq!((me.pinned, me.archived, me.muted_until), (false, false, None));
}
