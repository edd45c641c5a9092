//! Two of three nodes are down, so there is no quorum. Clients are told to retry later, and writes in progress take effect
//! once or not at all.

use std::time::Duration;

use godwit_client::Draft;
use godwit_client::protocol::ErrorCode;
use godwit_client::protocol::messages::SendMessage;
use tokio::time::sleep;

use super::{alone, server_on};
use crate::logs::{messages, read_log};
use crate::people::{Person, soon};
use crate::raw_http::RawHttp;

const SENT_IN_VAIN: usize = 4;
const LOOK_INTERVAL: Duration = Duration::from_millis(200);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sends_fail_temporarily_without_partial_writes() {
    let cluster = alone().await;
    let server = server_on(&cluster.contact_points()).await;
    let url = server.url();
    let (ada, bob) = (Person::stranger(&url).await, Person::stranger(&url).await);
    let chat = ada.open_direct(&bob).await;
    let first = ada.http.send_message(chat, Draft::text("before")).await.unwrap();

    cluster.pause(2).unwrap();
    cluster.pause(3).unwrap();
    let mut in_vain: Vec<SendMessage> = Vec::new();
    for number in 0..SENT_IN_VAIN {
        let message: SendMessage = Draft::text(format!("meanwhile {number}")).into();
        let error = ada.http.send_message(chat, message.clone()).await.unwrap_err();
        let problem = error.problem().unwrap_or_else(|| panic!("an answer of the server, not {error:?}"));
        assert!(problem.temporary && problem.retry_after.is_some(), "{problem:?}");
        in_vain.push(message);
    }
    // The health check reports the reason, and the server waits.
    let raw = RawHttp::new(&url);
    let readiness = async || raw.ask("GET", "/readyz").send().await;
    soon("the server to notice", async {
        while readiness().await.status == 200 {
            sleep(LOOK_INTERVAL).await;
        }
    })
    .await;
    let problem = readiness().await.assert_problem(503, ErrorCode::Unavailable);
    assert!(problem.detail.is_some(), "{problem:?}");
    cluster.resume(2).unwrap();
    cluster.resume(3).unwrap();
    soon("the server to be ready again", async {
        while readiness().await.status != 200 {
            sleep(LOOK_INTERVAL).await;
        }
    })
    .await;

    // Retries, as a client does: stored messages are returned, the others are new, and there are no duplicates.
    for message in &in_vain {
        let sent = loop {
            match ada.http.send_message(chat, message.clone()).await {
                Ok(sent) => break sent,
                Err(error) => assert!(error.is_temporary(), "{error:?}"),
            }
        };
        assert_eq!(sent.client_id.as_ref(), Some(&message.client_id));
    }
    let log = read_log(&bob.http, chat).await;
    let client_ids: Vec<&str> = messages(&log).map(|message| message.client_id.as_deref().unwrap()).collect();
    assert_eq!(client_ids.len(), 1 + SENT_IN_VAIN);
    assert_eq!(Some(client_ids[0]), first.client_id.as_deref());
    assert!(in_vain.iter().all(|message| client_ids.contains(&message.client_id.as_str())));
    drop(tokio::task::spawn_blocking(move || drop(cluster)).await);
}
