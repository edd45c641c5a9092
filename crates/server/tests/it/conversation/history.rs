//! Pages of the history.

use futures_util::future::try_join_all;
use godwit_client::Draft;
use godwit_client::http::History;
use godwit_client::protocol::messages::{Message, MessagePage};
use godwit_client::protocol::{ErrorCode, Seq, Timestamp};

use super::Stage;
use crate::logs::{messages, read_log};

const MESSAGES: usize = 130;

/// A conversation with a history, oldest first.
async fn with_history() -> (Stage, Vec<Message>) {
    let stage = Stage::new().await;
    let phone = stage.ada.device("phone").await;
    let sends = (0..MESSAGES).map(|number| phone.socket.send(stage.chat, Draft::text(format!("{number}"))));
    try_join_all(sends).await.unwrap();
    let log = read_log(&stage.bob.http, stage.chat).await;
    let history = messages(&log).cloned().collect();
    (stage, history)
}

async fn page(stage: &Stage, history: History, limit: Option<u16>) -> MessagePage {
    stage.bob.http.messages(stage.chat, history, limit).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_go_back_from_the_newest_and_cover_everything_once() {
    let (stage, all) = with_history().await;
    let newest = page(&stage, History::Newest, None).await;
    assert_eq!(newest.messages, all[MESSAGES - 50..], "50 unless asked otherwise");
    assert!(newest.more_before && !newest.more_after);
    for by_id in [false, true] {
        let mut collected: Vec<Message> = Vec::new();
        let mut next = History::Newest;
        loop {
            let got = page(&stage, next, Some(40)).await;
            let first = got.messages.first().unwrap().clone();
            collected.splice(..0, got.messages);
            next = History::Before(if by_id { first.id.into() } else { first.seq.into() });
            if !got.more_before {
                break;
            }
            assert_eq!(collected.len() % 40, 0, "only the last page is short");
        }
        assert_eq!(collected, all);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_go_forward_and_around() {
    let (stage, all) = with_history().await;
    let middle = &all[60];
    for position in [middle.id.into(), middle.seq.into()] {
        let after = page(&stage, History::After(position), Some(20)).await;
        assert_eq!(after.messages, all[61..81]);
        assert!(after.more_before && after.more_after);
        let before = page(&stage, History::Before(position), Some(20)).await;
        assert_eq!(before.messages, all[40..60]);
        let around = page(&stage, History::Around(position), Some(21)).await;
        assert_eq!(around.messages, all[50..71], "with the message itself in the middle");
        assert!(around.more_before && around.more_after);
    }
    let end = page(&stage, History::After(all[MESSAGES - 3].id.into()), None).await;
    assert_eq!(end.messages, all[MESSAGES - 2..]);
    assert!(end.more_before && !end.more_after);
    let past = page(&stage, History::After(all[MESSAGES - 1].id.into()), None).await;
    assert!(past.messages.is_empty() && past.more_before && !past.more_after);
    let begin = page(&stage, History::Before(all[2].id.into()), None).await;
    assert_eq!(begin.messages, all[..2]);
    assert!(!begin.more_before && begin.more_after);
    let whole = page(&stage, History::After(Seq::ZERO.into()), Some(200)).await;
    assert_eq!(whole.messages, all);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_ends_before_a_time() {
    let (stage, all) = with_history().await;
    for at in [1, 60, MESSAGES - 1] {
        let time = all[at].created_at;
        let earlier: Vec<_> = all.iter().filter(|message| message.created_at < time).cloned().collect();
        let got = page(&stage, History::BeforeTime(time), Some(30)).await;
        assert_eq!(got.messages, earlier[earlier.len().saturating_sub(30)..]);
    }
    let later = all[MESSAGES - 1].created_at.plus_millis(1);
    assert_eq!(page(&stage, History::BeforeTime(later), Some(1)).await.messages, all[MESSAGES - 1..]);
    let long_ago = page(&stage, History::BeforeTime(Timestamp::from_millis(0)), None).await;
    assert!(long_ago.messages.is_empty() && !long_ago.more_before && long_ago.more_after);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_have_a_limit_and_belong_to_one_conversation() {
    let (stage, all) = with_history().await;
    for limit in [0, 201] {
        let refused = stage.bob.http.messages(stage.chat, History::Newest, Some(limit)).await.unwrap_err();
        assert_eq!(refused.code(), Some(ErrorCode::InvalidField), "{limit}");
    }
    let eve = stage.stranger().await;
    let elsewhere = eve.open_direct(&stage.bob).await;
    let foreign = stage.bob.http.messages(elsewhere, History::Before(all[0].id.into()), None).await;
    assert_eq!(foreign.unwrap_err().code(), Some(ErrorCode::NotFound));
}
