//! Several servers on one keyspace without Redis: only the log's compare-and-set coordinates them.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::join_all;
use godwit_client::protocol::messages::SendMessage;
use godwit_client::{Draft, Http};
use godwit_testbed::Cassandra;
use tokio::time::sleep;

use super::server_on;
use crate::logs::{messages, read_log};
use crate::operations::metrics::{families, value};
use crate::people::{Person, same_session, soon};

const SERVERS: usize = 4;
/// Messages per server, sent one after the other.
const MESSAGES_EACH: usize = 10;
/// Messages that are sent through all servers at once, with the same client id.
const SENT_EVERYWHERE: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_servers_append_to_one_log_without_gaps_or_duplicates() {
    let cluster = tokio::task::spawn_blocking(Cassandra::shared).await.unwrap();
    let cluster = cluster.unwrap_or_else(|error| panic!("{error}"));
    let contact_points = cluster.contact_points().to_vec();
    let servers = join_all((0..SERVERS).map(|_| server_on(&contact_points))).await;
    let (ada, bob) = (Person::stranger(&servers[0].url()).await, Person::stranger(&servers[0].url()).await);
    let chat = ada.open_direct(&bob).await;

    // Ada's clients use half of the servers, Bob's the other half. A token of one server is valid on all.
    let clients: Vec<Http> = servers
        .iter()
        .enumerate()
        .map(|(number, server)| {
            same_session(if number % 2 == 0 { &ada.http } else { &bob.http }, &server.url())
        })
        .collect();
    join_all(clients.iter().enumerate().map(|(number, http)| async move {
        for count in 0..MESSAGES_EACH {
            let message =
                Draft::text(format!("{count} of server {number}")).client_id(format!("{number}-{count}"));
            send_until_stored(http, chat, message.into()).await;
        }
    }))
    .await;
    let ada_everywhere: Vec<Http> =
        servers.iter().map(|server| same_session(&ada.http, &server.url())).collect();
    for count in 0..SENT_EVERYWHERE {
        let message: SendMessage = Draft::text("the same").client_id(format!("everywhere-{count}")).into();
        let ids =
            join_all(ada_everywhere.iter().map(|http| send_until_stored(http, chat, message.clone()))).await;
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 1, "all servers answer with the one message");
    }

    let expected = SERVERS * MESSAGES_EACH + SENT_EVERYWHERE;
    let logs = join_all(clients.iter().map(|http| read_log(http, chat))).await;
    for log in &logs {
        assert_eq!(messages(log).count(), expected, "every client id once");
        assert!(log == &logs[0], "every server shows the same log");
    }
    for (number, _) in clients.iter().enumerate() {
        let own = messages(&logs[0])
            .filter(|message| message.client_id.as_ref().unwrap().starts_with(&format!("{number}-")));
        let order: Vec<String> = own.map(|message| message.client_id.clone().unwrap()).collect();
        let sent: Vec<String> = (0..MESSAGES_EACH).map(|count| format!("{number}-{count}")).collect();
        assert_eq!(order, sent, "the messages of one client are in the order in which it sent them");
    }
}

/// The id of the message, which is sent again while the refusal is temporary.
async fn send_until_stored(
    http: &Http,
    chat: godwit_client::protocol::ConversationId,
    message: SendMessage,
) -> godwit_client::protocol::MessageId {
    loop {
        match http.send_message(chat, message.clone()).await {
            Ok(sent) => return sent.id,
            Err(error) => assert!(error.is_temporary(), "{error:?}"),
        }
    }
}

#[tokio::test]
async fn metrics_count_requests_to_cassandra() {
    let cluster = tokio::task::spawn_blocking(Cassandra::shared).await.unwrap();
    let cluster = cluster.unwrap_or_else(|error| panic!("{error}"));
    let server = server_on(&cluster.contact_points()).await;
    let metrics = async || server.metrics().await;
    // Metrics are updated every few seconds.
    let more_than = async |known: f64| loop {
        let metrics = metrics().await;
        if let Some(kind) = families(&metrics).get("godwit_store_requests_total") {
            assert_eq!(*kind, "counter");
            let requests = value(&metrics, "godwit_store_requests_total");
            if requests > known {
                break requests;
            }
        }
        sleep(Duration::from_millis(100)).await;
    };
    let before = soon("the first figure", more_than(0.0)).await;
    Person::stranger(&server.url()).await;
    soon("a higher figure", more_than(before)).await;
}
