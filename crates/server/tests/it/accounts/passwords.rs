use godwit_client::protocol::ErrorCode;
use godwit_client::protocol::accounts::ChangePassword;
use godwit_client::protocol::socket::CloseCode;
use godwit_client::{Draft, Error, Http};
use tokio::task::JoinHandle;

use super::{assert_refused, credentials};
use crate::people::{PASSWORD, Person};
use crate::process::{ServerProcess, run};
use crate::raw_socket::{Ended, RawSocket};
use crate::store::Enough;
use crate::unlimited::unlimited;

const ROUNDS: Enough = Enough { embedded: 10, cassandra: 3 };

/// Disables a user as the operator does, while the server runs.
async fn disable(server: &ServerProcess, handle: &str) {
    let (data, handle) = (server.data_dir().to_owned(), handle.to_owned());
    let output =
        tokio::task::spawn_blocking(move || run(&data, &["user", "disable", &handle])).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn change(current: &str, new: &str) -> ChangePassword {
    ChangePassword { current_password: current.to_owned(), new_password: new.to_owned() }
}

#[tokio::test]
async fn a_new_password_ends_every_other_session() {
    let server = unlimited().await;
    let ada = Person::register(&server.url(), "ada").await;
    let (_, phone) = ada.sign_in("phone").await;
    let mut own = RawSocket::open(server.address(), ada.http.access_token().as_deref()).await;
    let mut others = RawSocket::open(server.address(), phone.access_token().as_deref()).await;

    assert_refused(
        ada.http.change_password(&change("wrong password", "another password")).await,
        ErrorCode::WrongCredentials,
    );
    others.assert_alive().await;
    let before = ada.http.tokens().unwrap();
    ada.http.change_password(&change(PASSWORD, "another password")).await.unwrap();
    assert_eq!(others.end().await, Ended::Closed(CloseCode::SignedOut));
    assert_refused(phone.me().await, ErrorCode::Unauthenticated);
    own.assert_alive().await;

    let fresh = Http::new(&server.url()).unwrap();
    assert_refused(fresh.sign_in(&credentials(&ada.handle, PASSWORD)).await, ErrorCode::WrongCredentials);
    fresh.sign_in(&credentials(&ada.handle, "another password")).await.unwrap();

    // A holder of the old refresh token gets nothing, and is detected.
    let thief = Http::new(&server.url()).unwrap();
    thief.set_tokens(before);
    assert_refused(thief.refresh().await, ErrorCode::RefreshReused);
    assert_eq!(own.end().await, Ended::Closed(CloseCode::SignedOut));
}

/// The session survives while its tokens are replaced, used and refreshed concurrently.
#[tokio::test]
async fn a_password_change_and_a_concurrent_refresh_both_succeed() {
    let server = unlimited().await;
    let ada = Person::register(&server.url(), "ada").await;
    let mut current = PASSWORD.to_owned();
    for round in 0..ROUNDS.here() {
        let new = format!("password number {round}");
        let change = change(&current, &new);
        let (changed, refreshed) = tokio::join!(ada.http.change_password(&change), ada.http.refresh());
        changed.unwrap();
        refreshed.unwrap();
        ada.http.me().await.unwrap();
        current = new;
    }
    ada.http.refresh().await.unwrap();
}

/// A sign-in with the old password during the change is either refused, or succeeds before and ends.
#[tokio::test]
async fn a_sign_in_with_the_old_password_does_not_outlive_it() {
    let server = unlimited().await;
    let ada = Person::register(&server.url(), "ada").await;
    let mut current = PASSWORD.to_owned();
    for round in 0..ROUNDS.here() {
        let new = format!("password number {round}");
        // At least one succeeds before.
        let early = signed_in(&server.url(), &ada.handle, &current).await.unwrap();
        let attempts = sign_ins(&server, &ada.handle, &current);
        ada.http.change_password(&change(&current, &new)).await.unwrap();
        assert_refused(early.me().await, ErrorCode::Unauthenticated);
        none_is_left(attempts, ErrorCode::WrongCredentials).await;
        current = new;
    }
}

#[tokio::test]
async fn a_disabled_user_is_signed_out_at_once() {
    let server = unlimited().await;
    let ada = Person::register(&server.url(), "ada").await;
    let bob = Person::register(&server.url(), "bob").await;
    let direct = ada.open_direct(&bob).await;
    bob.http.send_message(direct, Draft::text("hello")).await.unwrap();
    let (_, phone) = ada.sign_in("phone").await;
    let mut sockets = Vec::new();
    for http in [&ada.http, &phone] {
        sockets.push(RawSocket::open(server.address(), http.access_token().as_deref()).await);
    }
    disable(&server, &ada.handle).await;
    bob.http.send_message(direct, Draft::text("are you there?")).await.unwrap();
    for socket in &mut sockets {
        let (said, ended) = socket.until_end().await;
        assert_eq!(ended, Ended::Closed(CloseCode::SignedOut));
        assert!(!said.iter().any(|frame| frame.to_string().contains("are you there?")), "{said:?}");
    }
    for http in [&ada.http, &phone] {
        assert_refused(http.me().await, ErrorCode::Unauthenticated);
        assert_refused(http.refresh().await, ErrorCode::Unauthenticated);
    }
    let fresh = Http::new(&server.url()).unwrap();
    assert_refused(fresh.sign_in(&credentials(&ada.handle, PASSWORD)).await, ErrorCode::AccountDisabled);
    assert_refused(
        fresh.sign_in(&credentials(&ada.handle, "wrong password")).await,
        ErrorCode::WrongCredentials,
    );
    // For others Ada's account is gone; her messages stay.
    assert_refused(bob.http.user(ada.id).await, ErrorCode::NotFound);
    assert_eq!(bob.http.search_users(&ada.handle, None, None).await.unwrap().users, []);
    assert_eq!(bob.http.conversation(direct).await.unwrap().unread, 0);
}

#[tokio::test]
async fn a_sign_in_does_not_outlive_the_account() {
    let server = unlimited().await;
    for round in 0..ROUNDS.here() {
        let handle = Person::register(&server.url(), &format!("user{round}")).await.handle;
        let early = signed_in(&server.url(), &handle, PASSWORD).await.unwrap();
        let attempts = sign_ins(&server, &handle, PASSWORD);
        disable(&server, &handle).await;
        assert_refused(early.me().await, ErrorCode::Unauthenticated);
        none_is_left(attempts, ErrorCode::AccountDisabled).await;
    }
}

async fn signed_in(url: &str, handle: &str, password: &str) -> Result<Http, Error> {
    let http = Http::new(url).unwrap();
    http.sign_in(&credentials(handle, password)).await.map(|_| http)
}

/// Several concurrent sign-ins.
fn sign_ins(server: &ServerProcess, handle: &str, password: &str) -> Vec<JoinHandle<Result<Http, Error>>> {
    let sign_in = |_| {
        let (url, handle, password) = (server.url(), handle.to_owned(), password.to_owned());
        tokio::spawn(async move { signed_in(&url, &handle, &password).await })
    };
    (0..6).map(sign_in).collect()
}

/// Successful sign-ins have ended, and the others were refused for the right reason.
async fn none_is_left(attempts: Vec<JoinHandle<Result<Http, Error>>>, refusal: ErrorCode) {
    for attempt in attempts {
        match attempt.await.unwrap() {
            Ok(http) => assert_refused(http.me().await, ErrorCode::Unauthenticated),
            refused => assert_refused(refused.map(drop), refusal),
        }
    }
}
