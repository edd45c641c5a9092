use godwit_client::Draft;
use godwit_client::protocol::ConversationId;
use godwit_client::protocol::ErrorCode;
use godwit_client::protocol::limits::DEVICES_PER_USER_MAX;
use godwit_client::protocol::socket::CloseCode;
use serde_json::{Value, json};

use super::assert_refused;
use crate::logs::{read_log, texts};
use crate::people::Person;
use crate::process::ServerProcess;
use crate::raw_socket::{Ended, RawSocket};
use crate::store::Enough;
use crate::unlimited::unlimited;

/// How often a race runs. Either side can win.
const ROUNDS: Enough = Enough { embedded: 30, cassandra: 6 };

async fn ada_and_bob(server: &ServerProcess) -> (Person, Person, ConversationId) {
    let ada = Person::register(&server.url(), "ada").await;
    let bob = Person::register(&server.url(), "bob").await;
    let direct = ada.open_direct(&bob).await;
    (ada, bob, direct)
}

/// The texts of the messages that a socket received.
fn told(said: &[Value]) -> Vec<&str> {
    said.iter().filter_map(|frame| frame["entry"]["message"]["text"].as_str()).collect()
}

#[tokio::test]
async fn revoking_closes_the_sockets_of_that_device_at_once() {
    let server = unlimited().await;
    let (ada, bob, direct) = ada_and_bob(&server).await;
    let (kept, kept_http) = ada.sign_in("kept").await;
    let mut kept_socket = RawSocket::open(server.address(), kept_http.access_token().as_deref()).await;
    for round in 0..ROUNDS.here() {
        let (phone, http) = ada.sign_in("phone").await;
        let token = http.access_token().unwrap();
        let mut sockets = Vec::new();
        for _ in 0..3 {
            sockets.push(RawSocket::open(server.address(), Some(&token)).await);
        }
        bob.http.send_message(direct, Draft::text(format!("before {round}"))).await.unwrap();
        kept_http.revoke_device(phone).await.unwrap();
        bob.http.send_message(direct, Draft::text(format!("after {round}"))).await.unwrap();
        for socket in &mut sockets {
            socket.post("send", json!({ "conversation_id": direct, "client_id": format!("late{round}"), "kind": "text", "text": "too late" })).await;
            let (said, ended) = socket.until_end().await;
            assert_eq!(ended, Ended::Closed(CloseCode::SignedOut), "round {round}");
            assert!(!told(&said).contains(&format!("after {round}").as_str()), "round {round}: {said:?}");
        }
        assert_refused(http.me().await, ErrorCode::Unauthenticated);
        assert_refused(http.refresh().await, ErrorCode::Unauthenticated);
        assert_refused(kept_http.revoke_device(phone).await, ErrorCode::NotFound);
    }
    kept_socket.assert_alive().await;
    assert!(ada.http.devices().await.unwrap().devices.iter().any(|device| device.id == kept));
    let log = read_log(&bob.http, direct).await;
    assert!(!texts(&log).contains(&"too late"), "a device that was revoked has sent something");
}

/// A socket that opens while its session ends is refused or closed, and receives nothing that happened afterwards.
#[tokio::test]
async fn a_revocation_also_closes_a_socket_that_signs_in_concurrently() {
    let server = unlimited().await;
    let (ada, bob, direct) = ada_and_bob(&server).await;
    for round in 0..ROUNDS.here() {
        let (phone, http) = ada.sign_in("phone").await;
        let token = http.access_token().unwrap();
        let address = server.address();
        let opening: Vec<_> = (0..6)
            .map(|number| {
                let token = token.clone();
                tokio::spawn(async move {
                    // Half of them sign in with the handshake, half with a command.
                    let by_header = number % 2 == 0;
                    let Ok(mut socket) = RawSocket::try_connect(address, by_header.then_some(&token)).await
                    else {
                        return None;
                    };
                    if !by_header {
                        socket.post("sign_in", json!({ "access_token": token })).await;
                    }
                    Some(socket)
                })
            })
            .collect();
        // At a different moment each time.
        for _ in 0..round {
            tokio::task::yield_now().await;
        }
        ada.http.revoke_device(phone).await.unwrap();
        let after = format!("after {round}");
        bob.http.send_message(direct, Draft::text(&after)).await.unwrap();
        for socket in opening {
            let Some(mut socket) = socket.await.unwrap() else { continue };
            let (mut said, mut ended) = (Vec::new(), None);
            // A socket whose sign-in was refused stays open anonymously: the test pings it and leaves it.
            let id = socket.post("ping", json!({})).await;
            while let Some(frame) = socket.next_value().await {
                match frame {
                    Ok(frame) => {
                        let is_last = frame["id"] == id;
                        said.push(frame);
                        if is_last {
                            break;
                        }
                    }
                    Err(how) => ended = Some(how),
                }
            }
            assert!(!told(&said).contains(&after.as_str()), "round {round}: {said:?}");
            let was_signed_in = said.iter().any(|frame| {
                frame["ok"].get("user_id").is_some() || frame["hello"].get("signed_in").is_some()
            });
            assert!(
                !was_signed_in || ended == Some(Ended::Closed(CloseCode::SignedOut)),
                "round {round}: {said:?} {ended:?}"
            );
        }
    }
}

#[tokio::test]
async fn exceeding_the_device_limit_signs_out_the_least_recently_active_device() {
    let server = unlimited().await;
    let ada = Person::register(&server.url(), "ada").await;
    let (_, second) = ada.sign_in("second").await;
    ada.http.refresh().await.unwrap();
    for number in 2..DEVICES_PER_USER_MAX {
        ada.sign_in(&format!("device {number}")).await;
    }
    assert_eq!(ada.http.devices().await.unwrap().devices.len(), DEVICES_PER_USER_MAX);
    second.me().await.unwrap();
    let mut socket = RawSocket::open(server.address(), second.access_token().as_deref()).await;
    ada.sign_in("one too many").await;
    assert_eq!(ada.http.devices().await.unwrap().devices.len(), DEVICES_PER_USER_MAX);
    assert_eq!(socket.end().await, Ended::Closed(CloseCode::SignedOut));
    assert_refused(second.me().await, ErrorCode::Unauthenticated);
}
