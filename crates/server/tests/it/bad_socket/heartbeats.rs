use godwit_client::protocol::socket::CloseCode;

use crate::people::Person;
use crate::raw_socket::{Ended, PONG, RawSocket};
use crate::unlimited::unlimited_with;

const QUICK: &str = "[socket]\nheartbeat_ms = 1000\n";

#[tokio::test]
async fn only_sockets_that_do_not_answer_pings_are_closed() {
    let server = unlimited_with(QUICK).await;
    let ada = Person::register(&server.url(), "ada").await;
    let token = ada.http.access_token();
    let mut silent = RawSocket::connect(server.address(), token.as_deref()).await;
    silent.answers_pings = false;
    assert_eq!(silent.event("hello").await["heartbeat_ms"], 1_000);
    let mut answering = RawSocket::open(server.address(), token.as_deref()).await;
    let mut talking = RawSocket::open(server.address(), token.as_deref()).await;
    talking.answers_pings = false;
    let others = tokio::spawn(async move {
        loop {
            // A command or an unsolicited pong counts as an answer.
            talking.assert_alive().await;
            talking.frame(PONG, b"").await;
            if !answering.is_silent().await {
                panic!("the answering socket was closed, or told something");
            }
        }
    });
    assert_eq!(silent.end().await, Ended::Closed(CloseCode::HeartbeatTimeout));
    assert!(!others.is_finished(), "{:?}", others.await);
    others.abort();
}
