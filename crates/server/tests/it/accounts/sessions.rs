use std::collections::HashSet;

use godwit_client::Http;
use godwit_client::protocol::ErrorCode;
use godwit_client::protocol::accounts::Register;
use godwit_client::protocol::socket::CloseCode;
use serde_json::json;

use super::{assert_refused, credentials, registration};
use crate::people::{PASSWORD, Person, unique};
use crate::raw_http::RawHttp;
use crate::raw_socket::{Ended, RawSocket};
use crate::unlimited::{unlimited, unlimited_with};

#[tokio::test]
async fn registering_signs_in_and_signing_in_makes_another_device() {
    let server = unlimited().await;
    let http = Http::new(&server.url()).unwrap();
    let handle = unique("ada.lovelace");
    let register = Register {
        handle: handle.replace("ada", "Ada"),
        display_name: Some(" Ada Lovelace ".to_owned()),
        phone: Some("+34600111222".to_owned()),
        device_name: Some("laptop".to_owned()),
        ..registration("")
    };
    let first = http.register(&register).await.unwrap();
    assert_eq!(
        (first.user.handle.as_str(), first.user.display_name.as_str()),
        (handle.as_str(), "Ada Lovelace")
    );
    assert_eq!(first.user.phone.as_deref(), Some("+34600111222"));
    assert!(first.device.current);
    assert_eq!(http.me().await.unwrap(), first.user);

    let phone = Http::new(&server.url()).unwrap();
    let second = phone.sign_in(&credentials(&handle.to_uppercase(), PASSWORD)).await.unwrap();
    assert_eq!(second.user, first.user);
    assert_ne!(second.device.id, first.device.id);
    let devices = phone.devices().await.unwrap().devices;
    let seen: Vec<_> =
        devices.iter().map(|device| (device.id, device.name.as_str(), device.current)).collect();
    assert_eq!(seen, [(first.device.id, "laptop", false), (second.device.id, "unnamed device", true)]);
}

#[tokio::test]
async fn wrong_passwords_and_unknown_users_get_the_same_answer() {
    let server = unlimited().await;
    let ada = Person::register(&server.url(), "ada").await.handle;
    let raw = RawHttp::new(&server.url());
    let nobody = unique("nobody");
    let mut bodies = HashSet::new();
    for (handle, password) in
        [(&*ada, "wrong password"), (&ada, ""), (&nobody, PASSWORD), ("not a handle!", PASSWORD), ("", "")]
    {
        let body = json!({ "handle": handle, "password": password });
        let answer = raw.ask("POST", "/v1/sessions").json(&body).send().await;
        answer.assert_problem(401, ErrorCode::WrongCredentials);
        bodies.insert(answer.body);
    }
    assert_eq!(bodies.len(), 1, "{bodies:?}");
}

#[tokio::test]
async fn registration_can_be_closed() {
    let server = unlimited_with("[auth]\nregistration = \"closed\"\n").await;
    let http = Http::new(&server.url()).unwrap();
    let ada = unique("ada");
    assert_refused(http.register(&registration(&ada)).await, ErrorCode::RegistrationClosed);
    assert_refused(http.sign_in(&credentials(&ada, PASSWORD)).await, ErrorCode::WrongCredentials);
}

#[tokio::test]
async fn a_refresh_token_from_before_the_last_one_ends_the_session() {
    let server = unlimited().await;
    let ada = Person::register(&server.url(), "ada").await;
    let first = ada.http.tokens().unwrap();
    let second = ada.http.refresh().await.unwrap();
    assert_ne!(first.refresh_token, second.refresh_token);
    assert_eq!(ada.http.me().await.unwrap().id, ada.id);
    let third = ada.http.refresh().await.unwrap();

    // The first token is used again: it was stolen, so the session ends for both.
    let mut socket = RawSocket::open(server.address(), Some(&third.access_token)).await;
    let thief = Http::new(&server.url()).unwrap();
    thief.set_tokens(first);
    assert_refused(thief.refresh().await, ErrorCode::RefreshReused);
    assert_eq!(socket.end().await, Ended::Closed(CloseCode::SignedOut));
    assert_refused(ada.http.me().await, ErrorCode::Unauthenticated);
    assert_refused(ada.http.refresh().await, ErrorCode::Unauthenticated);
    let fresh = Http::new(&server.url()).unwrap();
    fresh.sign_in(&credentials(&ada.handle, PASSWORD)).await.unwrap();
    assert_eq!(fresh.devices().await.unwrap().devices.len(), 1);
}

/// This happens when an answer is lost and the client retries.
#[tokio::test]
async fn concurrent_refreshes_with_one_token_have_one_outcome() {
    let server = unlimited().await;
    let ada = Person::register(&server.url(), "ada").await;
    for round in 0..10 {
        let (_, http) = ada.sign_in("phone").await;
        let tokens = http.tokens().unwrap();
        let refreshes = (0..8).map(|_| {
            let (raw, body) = (RawHttp::new(&server.url()), json!({ "refresh_token": tokens.refresh_token }));
            tokio::spawn(async move { raw.ask("POST", "/v1/sessions/refresh").json(&body).send().await })
        });
        let mut next = HashSet::new();
        for refresh in refreshes.collect::<Vec<_>>() {
            let answer = refresh.await.unwrap().ok();
            let raw = RawHttp::new(&server.url());
            raw.ask("GET", "/v1/me").token(answer["access_token"].as_str().unwrap()).send().await.ok();
            next.insert(answer["refresh_token"].as_str().unwrap().to_owned());
        }
        assert_eq!(next.len(), 1, "round {round}: {next:?}");
    }
}

#[tokio::test]
async fn other_tokens_do_not_refresh() {
    let server = unlimited().await;
    let ada = Person::register(&server.url(), "ada").await;
    let tokens = ada.http.tokens().unwrap();
    let raw = RawHttp::new(&server.url());
    let tampered = format!("{}x", tokens.refresh_token);
    let long = "x".repeat(20_000);
    for token in ["", "garbage", "a.b.c", &tokens.access_token, &tampered, &long] {
        let ask = raw.ask("POST", "/v1/sessions/refresh").json(&json!({ "refresh_token": token }));
        ask.refused(401, ErrorCode::Unauthenticated).await;
    }
    ada.http.refresh().await.unwrap();
}

#[tokio::test]
async fn signing_out_ends_the_session_and_nothing_else() {
    let server = unlimited().await;
    let ada = Person::register(&server.url(), "ada").await;
    let (_, phone) = ada.sign_in("phone").await;
    let tokens = phone.tokens().unwrap();
    let mut socket = RawSocket::open(server.address(), Some(&tokens.access_token)).await;
    phone.sign_out().await.unwrap();
    assert_eq!(socket.end().await, Ended::Closed(CloseCode::SignedOut));
    phone.set_tokens(tokens);
    assert_refused(phone.me().await, ErrorCode::Unauthenticated);
    assert_refused(phone.refresh().await, ErrorCode::Unauthenticated);
    assert_eq!(ada.http.devices().await.unwrap().devices.len(), 1);
}
