use godwit_domain::ports::Store;
use godwit_domain::sync::SyncToken;
use godwit_protocol::accounts::UpdateMe;
use godwit_protocol::conversations::UpdateMembership;
use godwit_protocol::limits::PAGE_BYTES_MAX;
use godwit_protocol::sync::{AccountChange, SyncPage};
use godwit_protocol::{ConversationId, Seq, UserId};

use crate::stage::{Stage, text};

/// All pages from a token.
async fn sync_all(
    stage: &Stage,
    user: UserId,
    mut token: Option<SyncToken>,
    limit: usize,
) -> (Vec<SyncPage>, SyncToken) {
    let mut pages = Vec::new();
    loop {
        let (page, next) = stage.app.sync.since(user, token, limit).await.unwrap();
        let more = page.more;
        pages.push(page);
        token = Some(next);
        if !more {
            return (pages, next);
        }
    }
}

fn listed(pages: &[SyncPage]) -> Vec<ConversationId> {
    pages.iter().flat_map(|page| page.conversations.iter().map(|c| c.id)).collect()
}

/// Conversations of one user with seven others, each with a message, a minute apart.
async fn busy_user(stage: &Stage) -> (UserId, Vec<ConversationId>) {
    let ada = stage.user("ada").await;
    let mut conversations = Vec::new();
    for i in 0..7 {
        stage.clock.advance_ms(stage.store.activity_lag_ms());
        let other = stage.user(&format!("other{i}")).await;
        let conversation = stage.app.inbox.open_direct(other, ada).await.unwrap().conversation.id;
        stage.app.writing.send(other, conversation, text("hi")).await.unwrap();
        conversations.push(conversation);
    }
    (ada, conversations)
}

#[tokio::test]
async fn the_first_sync_lists_everything_in_pages_each_once() {
    let stage = Stage::new();
    let (ada, mut conversations) = busy_user(&stage).await;
    let (pages, _) = sync_all(&stage, ada, None, 3).await;
    assert!(pages.len() >= 3);
    conversations.reverse();
    assert_eq!(listed(&pages), conversations, "the latest activity first");
}

#[tokio::test]
async fn a_page_that_would_be_too_large_is_shorter_and_the_next_one_goes_on() {
    const PEERS: usize = 200;
    let stage = Stage::new();
    let ada = stage.user("ada").await;
    let avatar = format!("https://media.example/{}", "x".repeat(2_000));
    let mut conversations = Vec::new();
    for number in 0..PEERS {
        let other = stage.user(&format!("other{number}")).await;
        let update = UpdateMe { avatar: Some(Some(avatar.clone())), ..UpdateMe::default() };
        stage.app.accounts.update_me(other, update).await.unwrap();
        let conversation = stage.app.inbox.open_direct(other, ada).await.unwrap().conversation.id;
        stage.app.writing.send(other, conversation, text("hi")).await.unwrap();
        stage.clock.advance_ms(1);
        conversations.push(conversation);
    }
    let (pages, _) = sync_all(&stage, ada, None, 200).await;
    assert!(pages.len() > 2);
    for page in &pages {
        let avatars =
            page.conversations.iter().filter_map(|row| row.image.as_ref()).map(String::len).sum::<usize>();
        assert!(avatars <= PAGE_BYTES_MAX);
    }
    conversations.reverse();
    assert_eq!(listed(&pages), conversations, "each once, the latest activity first");
}

#[tokio::test]
async fn a_later_sync_lists_what_changed() {
    let stage = Stage::new();
    let (ada, conversations) = busy_user(&stage).await;
    let (_, token) = sync_all(&stage, ada, None, 50).await;
    stage.clock.advance_ms(2 * stage.store.activity_lag_ms());
    let (pages, token) = sync_all(&stage, ada, Some(token), 50).await;
    let quiet = listed(&pages);
    assert!(quiet.len() <= 2, "only what is within the overlap: {quiet:?}");
    stage.clock.advance_ms(2 * stage.store.activity_lag_ms());
    stage.app.writing.send(ada, conversations[2], text("news")).await.unwrap();
    let (pages, token) = sync_all(&stage, ada, Some(token), 50).await;
    assert_eq!(listed(&pages), [conversations[2]]);
    assert_eq!(pages[0].conversations[0].head, Seq::new(3));
    let pin = UpdateMembership { pinned: Some(true), ..UpdateMembership::default() };
    stage.app.inbox.update_membership(ada, conversations[0], pin).await.unwrap();
    let (pages, _) = sync_all(&stage, ada, Some(token), 50).await;
    let pinned = pages[0].account.iter().any(|entry| {
        matches!(&entry.change, AccountChange::MembershipUpdated { conversation_id, membership }
            if *conversation_id == conversations[0] && membership.pinned)
    });
    assert!(pinned);
}

#[tokio::test]
async fn reads_of_another_device_are_in_the_sync() {
    let stage = Stage::new();
    let (ada, bob, conversation) = stage.pair().await;
    stage.app.writing.send(ada, conversation, text("a")).await.unwrap();
    let (_, token) = sync_all(&stage, bob, None, 50).await;
    stage.app.cursors.advance(bob, conversation, None, Some(Seq::new(2))).await.unwrap();
    stage.app.cursors.flush().await.unwrap();
    let (pages, _) = sync_all(&stage, bob, Some(token), 50).await;
    let read = pages[0].account.iter().find_map(|entry| match entry.change {
        AccountChange::ReadMoved { read, unread, .. } => Some((read, unread)),
        _ => None,
    });
    assert_eq!(read, Some((Seq::new(2), 0)));
}

#[tokio::test]
async fn a_sync_token_ahead_of_the_account_log_causes_a_full_reload() {
    let stage = Stage::new();
    let (ada, conversations) = busy_user(&stage).await;
    let (_, mut token) = sync_all(&stage, ada, None, 50).await;
    token.account_seq += 100;
    let (page, fresh) = stage.app.sync.since(ada, Some(token), 50).await.unwrap();
    assert!(page.truncated && page.conversations.is_empty());
    let (pages, _) = sync_all(&stage, ada, Some(fresh), 50).await;
    assert_eq!(listed(&pages).len(), conversations.len());
}

#[tokio::test]
async fn an_empty_conversation_is_listed_only_for_its_creator() {
    let stage = Stage::new();
    let (ada, bob, conversation) = stage.pair().await;
    let inbox = async |user| {
        let (rows, _) = stage.app.inbox.page(user, false, None, 50).await.unwrap();
        rows.iter().map(|row| row.id).collect::<Vec<_>>()
    };
    assert_eq!((inbox(ada).await, inbox(bob).await), (vec![conversation], vec![]));
    stage.app.writing.send(ada, conversation, text("hello")).await.unwrap();
    assert_eq!(inbox(bob).await, [conversation]);
}
