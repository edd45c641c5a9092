//! Pages of the history.

use futures_util::future::try_join_all;
use godwit_client::protocol::messages::{Message, MessagePage};
use godwit_client::protocol::{ConversationId, ErrorCode, Seq, Timestamp};
use godwit_client::{Draft, History};

use super::Stage;
use crate::logs::{messages, read_log};
use crate::people::Device;

const MESSAGES: usize = 130;

/// A conversation with a history, and a reader.
struct Past {
    stage: Stage,
    bob: Device,
}

/// Oldest first.
async fn with_history() -> (Past, Vec<Message>) {
    let stage = Stage::new().await;
    let phone = stage.ada.device("phone").await;
    let sends = (0..MESSAGES).map(|number| phone.socket.send(stage.chat, Draft::text(format!("{number}"))));
    try_join_all(sends).await.unwrap();
    let log = read_log(&stage.bob.http, stage.chat).await;
    let history = messages(&log).cloned().collect();
    let bob = stage.bob.device("tablet").await;
    (Past { stage, bob }, history)
}

impl Past {
    /// Reads over HTTP and on the socket, which return the same.
    async fn page(&self, history: History, limit: Option<u16>) -> MessagePage {
        let got = self.bob.http.messages(self.stage.chat, history, limit).await.unwrap();
        let on_socket = self.bob.socket.history(self.stage.chat, history, limit).await.unwrap();
        assert_eq!(on_socket, got, "{history:?}");
        got
    }

    /// Refused over HTTP and on the socket, for the same reason.
    async fn refusal(&self, id: ConversationId, history: History, limit: Option<u16>) -> Option<ErrorCode> {
        let refused = self.bob.http.messages(id, history, limit).await.unwrap_err();
        let on_socket = self.bob.socket.history(id, history, limit).await.unwrap_err();
        assert_eq!(on_socket.code(), refused.code(), "{history:?}");
        refused.code()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_go_back_from_the_newest_and_cover_everything_once() {
    let (past, all) = with_history().await;
    let newest = past.page(History::Newest, None).await;
    assert_eq!(newest.messages, all[MESSAGES - 50..], "50 unless asked otherwise");
    assert!(newest.more_before && !newest.more_after);
    for by_id in [false, true] {
        let mut collected: Vec<Message> = Vec::new();
        let mut next = History::Newest;
        loop {
            let got = past.page(next, Some(40)).await;
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
    let (past, all) = with_history().await;
    let middle = &all[60];
    for position in [middle.id.into(), middle.seq.into()] {
        let after = past.page(History::After(position), Some(20)).await;
        assert_eq!(after.messages, all[61..81]);
        assert!(after.more_before && after.more_after);
        let before = past.page(History::Before(position), Some(20)).await;
        assert_eq!(before.messages, all[40..60]);
        let around = past.page(History::Around(position), Some(21)).await;
        assert_eq!(around.messages, all[50..71], "with the message itself in the middle");
        assert!(around.more_before && around.more_after);
    }
    let end = past.page(History::After(all[MESSAGES - 3].id.into()), None).await;
    assert_eq!(end.messages, all[MESSAGES - 2..]);
    assert!(end.more_before && !end.more_after);
    let beyond = past.page(History::After(all[MESSAGES - 1].id.into()), None).await;
    assert!(beyond.messages.is_empty() && beyond.more_before && !beyond.more_after);
    let begin = past.page(History::Before(all[2].id.into()), None).await;
    assert_eq!(begin.messages, all[..2]);
    assert!(!begin.more_before && begin.more_after);
    let whole = past.page(History::After(Seq::ZERO.into()), Some(200)).await;
    assert_eq!(whole.messages, all);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_ends_before_a_time() {
    let (past, all) = with_history().await;
    for at in [1, 60, MESSAGES - 1] {
        let time = all[at].created_at;
        let earlier: Vec<_> = all.iter().filter(|message| message.created_at < time).cloned().collect();
        let got = past.page(History::BeforeTime(time), Some(30)).await;
        assert_eq!(got.messages, earlier[earlier.len().saturating_sub(30)..]);
    }
    let later = all[MESSAGES - 1].created_at.plus_millis(1);
    assert_eq!(past.page(History::BeforeTime(later), Some(1)).await.messages, all[MESSAGES - 1..]);
    let long_ago = past.page(History::BeforeTime(Timestamp::from_millis(0)), None).await;
    assert!(long_ago.messages.is_empty() && !long_ago.more_before && long_ago.more_after);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_have_a_limit_and_belong_to_one_conversation() {
    let (past, all) = with_history().await;
    for limit in [0, 201] {
        let refused = past.refusal(past.stage.chat, History::Newest, Some(limit)).await;
        assert_eq!(refused, Some(ErrorCode::InvalidField), "{limit}");
    }
    let eve = past.stage.stranger().await;
    let elsewhere = eve.open_direct(&past.stage.bob).await;
    let foreign = past.refusal(elsewhere, History::Before(all[0].id.into()), None).await;
    assert_eq!(foreign, Some(ErrorCode::NotFound));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_members_can_read_the_history() {
    let (past, _) = with_history().await;
    let eve = past.stage.stranger().await.device("phone").await;
    let page = eve.socket.history(past.stage.chat, History::Newest, None).await;
    assert_eq!(page.unwrap_err().code(), Some(ErrorCode::NotFound));
}
