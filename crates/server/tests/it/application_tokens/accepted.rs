use std::collections::HashSet;
use std::time::Duration;

use godwit_client::protocol::ErrorCode;
use godwit_client::protocol::accounts::{Register, SignIn};
use godwit_client::protocol::socket::CloseCode;
use godwit_client::{Draft, Http};
use serde_json::json;
use tokio::time::sleep;

use super::keys::{Claims, HMAC_CONFIG, hs256, now, pairs, public_key_config, sign};
use crate::people::{PASSWORD, Person, unique};
use crate::process::ServerProcess;
use crate::raw_http::RawHttp;
use crate::raw_socket::{Ended, RawSocket};
use crate::unlimited::unlimited_with;

fn signed_in(server: &ServerProcess, token: &str) -> Http {
    let http = Http::new(&server.url()).unwrap();
    http.set_access_token(token);
    http
}

#[tokio::test]
async fn every_algorithm_works_with_its_key() {
    for (pair, algorithm, key) in pairs() {
        let server = unlimited_with(&public_key_config(pair)).await;
        let (subject, handle) = (unique("user 7"), unique("ada"));
        let claims = Claims::of(&subject).with("handle", handle.as_str()).with("name", "Ada");
        let token = sign(algorithm, &key, None, &claims);
        let me = signed_in(&server, &token).me().await.unwrap();
        assert_eq!((me.handle, me.display_name.as_str()), (handle, "Ada"), "{algorithm:?}");
        RawSocket::open(server.address(), Some(&token)).await.assert_alive().await;
    }
}

#[tokio::test]
async fn users_of_the_application_talk_with_each_other() {
    let server = unlimited_with(HMAC_CONFIG).await;
    let ada = signed_in(&server, &hs256(&Claims::of(&unique("1")).with("handle", unique("ada"))));
    let bob = signed_in(&server, &hs256(&Claims::of(&unique("2")).with("handle", unique("bob"))));
    let direct = ada.direct(bob.me().await.unwrap().id).await.unwrap().id;
    let mut socket = RawSocket::open(server.address(), bob.access_token().as_deref()).await;
    ada.send_message(direct, Draft::text("hello")).await.unwrap();
    assert_eq!(socket.event("entry").await["message"]["text"], "hello");
    // Passwords and application tokens work side by side.
    let eve = Person::register(&server.url(), "eve").await;
    eve.open_direct(&Person { id: ada.me().await.unwrap().id, handle: "ada".into(), http: ada }).await;
}

#[tokio::test]
async fn concurrent_first_requests_create_a_user_once() {
    let server = unlimited_with(HMAC_CONFIG).await;
    for round in 0..10 {
        let (subject, handle) = (unique(&format!("subject {round}")), unique(&format!("user{round}")));
        let token = hs256(&Claims::of(&subject).with("handle", handle.as_str()));
        let first: Vec<_> = (0..12)
            .map(|number| {
                let (http, address, token) = (signed_in(&server, &token), server.address(), token.clone());
                tokio::spawn(async move {
                    if number % 3 == 0 {
                        let mut socket = RawSocket::connect(address, Some(&token)).await;
                        let hello = socket.event("hello").await;
                        let signed_in = &hello["signed_in"];
                        (signed_in["user_id"].clone(), signed_in["device"]["id"].clone())
                    } else {
                        let (me, devices) = (http.me().await.unwrap(), http.devices().await.unwrap().devices);
                        assert_eq!(devices.len(), 1);
                        (json!(me.id), json!(devices[0].id))
                    }
                })
            })
            .collect();
        let mut seen = HashSet::new();
        for request in first {
            let (user, device) = request.await.unwrap();
            seen.insert((user.to_string(), device.to_string()));
        }
        assert_eq!(seen.len(), 1, "{seen:?}");
        let found = signed_in(&server, &token).search_users(&handle, None, None).await.unwrap();
        assert_eq!(found.users.iter().filter(|user| user.handle == handle).count(), 1);
    }
}

#[tokio::test]
async fn names_of_the_application_need_not_be_unique() {
    let server = unlimited_with(HMAC_CONFIG).await;
    let (ada, one) = (unique("ada"), unique("1"));
    let named =
        |subject: &str, handle: &str| signed_in(&server, &hs256(&Claims::of(subject).with("handle", handle)));
    let first = named(&one, &ada).me().await.unwrap();
    let second = named(&unique("2"), &ada).me().await.unwrap();
    assert_eq!(first.handle, ada);
    assert_eq!(second.handle, format!("user_{}", second.id));
    let unnamed = signed_in(&server, &hs256(&Claims::of(&unique("3")))).me().await.unwrap();
    assert_eq!(unnamed.handle, format!("user_{}", unnamed.id));
    // Only the operator can assign these handles, whoever signs the token.
    for reserved in ["admin", "Sup.Port", "all"] {
        let user = named(&unique("4"), reserved).me().await.unwrap();
        assert_eq!(user.handle, format!("user_{}", user.id), "{reserved}");
    }
    // Only the first sight sets the profile: later it is the user's own.
    let again = named(&one, &unique("countess")).me().await.unwrap();
    assert_eq!(again, first);
}

#[tokio::test]
async fn devices_are_distinguished_and_a_revoked_one_needs_a_newer_token() {
    let server = unlimited_with(HMAC_CONFIG).await;
    let ada = unique("ada");
    let of = |device: &str, issued: i64| hs256(&Claims::of(&ada).with("device", device).with("iat", issued));
    let issued = now() - 60;
    let laptop = signed_in(&server, &of("laptop", issued));
    laptop.me().await.unwrap();
    let old_token = of("phone", issued);
    let phone = signed_in(&server, &old_token);
    phone.me().await.unwrap();
    let devices = laptop.devices().await.unwrap().devices;
    let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, ["laptop", "phone"]);
    let revoked = devices.iter().find(|device| device.name == "phone").unwrap().id;

    let mut socket = RawSocket::open(server.address(), Some(&old_token)).await;
    laptop.revoke_device(revoked).await.unwrap();
    assert_eq!(socket.end().await, Ended::Closed(CloseCode::SignedOut));
    let raw = RawHttp::new(&server.url());
    let without_time = hs256(&Claims::of(&ada).with("device", "phone").without("iat"));
    for token in [&old_token, &of("phone", issued + 1), &without_time] {
        raw.ask("GET", "/v1/me").token(token).refused(401, ErrorCode::Unauthenticated).await;
        assert!(RawSocket::try_connect(server.address(), Some(token)).await.is_err());
    }
    assert_eq!(laptop.devices().await.unwrap().devices.len(), 1);

    // Times in tokens are whole seconds: the next token is issued after the revocation.
    sleep(Duration::from_secs(1)).await;
    let newer = signed_in(&server, &of("phone", now()));
    newer.me().await.unwrap();
    let devices = laptop.devices().await.unwrap().devices;
    assert_eq!(devices.len(), 2);
    assert!(devices.iter().all(|device| device.id != revoked));
    // The device is back, but its older tokens stay invalid: their holder may be the reason for the revocation.
    raw.ask("GET", "/v1/me").token(&old_token).refused(401, ErrorCode::Unauthenticated).await;
}

#[tokio::test]
async fn a_server_can_do_without_passwords() {
    let server = unlimited_with(&format!("{HMAC_CONFIG}[auth]\npasswords_enabled = false\n")).await;
    let http = Http::new(&server.url()).unwrap();
    let ada = unique("ada");
    let register = Register {
        handle: ada.clone(),
        password: PASSWORD.to_owned(),
        display_name: None,
        phone: None,
        device_name: None,
    };
    assert_eq!(http.register(&register).await.unwrap_err().code(), Some(ErrorCode::PasswordsDisabled));
    let sign_in =
        SignIn { handle: ada.clone(), password: PASSWORD.to_owned(), device_name: None, device_proof: None };
    assert_eq!(http.sign_in(&sign_in).await.unwrap_err().code(), Some(ErrorCode::PasswordsDisabled));
    http.set_access_token(hs256(&Claims::of(&ada)));
    http.me().await.unwrap();
}
