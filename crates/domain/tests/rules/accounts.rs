use godwit_domain::accounts::AccountError;
use godwit_domain::sessions::AuthError;
use godwit_protocol::accounts::{ChangePassword, SignIn, UpdateMe};
use godwit_protocol::limits::DEVICES_PER_USER_MAX;
use godwit_protocol::socket::CloseCode;
use godwit_testkit::delivery::Delivered;

use crate::stage::{LIFETIMES, Stage, registration};

fn sign_in(handle: &str, password: &str) -> SignIn {
    SignIn { handle: handle.into(), password: password.into(), device_name: None, device_proof: None }
}

#[tokio::test]
async fn handles_are_unique_whatever_their_case() {
    let stage = Stage::new();
    stage.app.accounts.register(registration("ada")).await.unwrap();
    assert!(matches!(stage.app.accounts.register(registration("ADA")).await, Err(AccountError::HandleTaken)));
    let bob = stage.app.accounts.register(registration("bob")).await.unwrap().user.id;
    let rename = UpdateMe { handle: Some("Ada".into()), ..UpdateMe::default() };
    assert!(matches!(stage.app.accounts.update_me(bob, rename).await, Err(AccountError::HandleTaken)));
}

#[tokio::test]
async fn a_wrong_password_and_a_wrong_handle_look_the_same() {
    let stage = Stage::new();
    stage.user("ada").await;
    for (handle, password) in [("ada", "wrong"), ("nobody", "password of ada"), ("not a handle", "x")] {
        let refused = stage.app.accounts.sign_in(sign_in(handle, password)).await;
        assert!(matches!(refused, Err(AccountError::WrongCredentials)), "{handle}");
    }
    stage.app.accounts.sign_in(sign_in("Ada", "password of ada")).await.unwrap();
}

#[tokio::test]
async fn registration_can_be_closed() {
    let stage = Stage::new();
    let closed = stage.second_node();
    assert!(matches!(
        closed.accounts.register(registration("ada")).await,
        Err(AccountError::RegistrationClosed)
    ));
}

#[tokio::test]
async fn a_refresh_token_works_once_and_using_it_again_ends_the_session() {
    let stage = Stage::new();
    let signed_in = stage.app.accounts.register(registration("ada")).await.unwrap();
    let first = signed_in.tokens.refresh_token;
    let second = stage.app.sessions.refresh(&first).await.unwrap();
    let third = stage.app.sessions.refresh(&second.refresh_token).await.unwrap();
    stage.app.sessions.authenticate(&third.access_token).await.unwrap();
    assert!(matches!(stage.app.sessions.refresh(&first).await, Err(AuthError::Reused)));
    assert!(matches!(stage.app.sessions.authenticate(&third.access_token).await, Err(AuthError::Invalid)));
    assert!(matches!(stage.app.sessions.refresh(&third.refresh_token).await, Err(AuthError::Invalid)));
    let closed = stage.delivery.take().into_iter().any(
        |d| matches!(d, Delivered::DeviceClosed(_, device, CloseCode::SignedOut) if device == signed_in.device.id),
    );
    assert!(closed);
}

#[tokio::test]
async fn a_refresh_can_be_repeated_within_the_grace_period_until_its_result_is_used() {
    let stage = Stage::new();
    let sessions = &stage.app.sessions;
    let first = stage.app.accounts.register(registration("ada")).await.unwrap().tokens.refresh_token;
    let (a, b) = tokio::join!(sessions.refresh(&first), sessions.refresh(&first));
    let second = a.unwrap().refresh_token;
    assert_eq!(b.unwrap().refresh_token, second, "there is one session, and one token of it");
    stage.clock.advance_ms(59_999);
    assert_eq!(sessions.refresh(&first).await.unwrap().refresh_token, second);
    stage.clock.advance_ms(1);
    assert!(matches!(sessions.refresh(&first).await, Err(AuthError::Reused)), "a minute is over");
    assert!(matches!(sessions.refresh(&second).await, Err(AuthError::Invalid)), "the session has ended");
}

#[tokio::test]
async fn tokens_expire() {
    let stage = Stage::new();
    let tokens = stage.app.accounts.register(registration("ada")).await.unwrap().tokens;
    stage.clock.advance_ms(LIFETIMES.access_ms);
    assert!(matches!(stage.app.sessions.authenticate(&tokens.access_token).await, Err(AuthError::Expired)));
    stage.clock.advance_ms(LIFETIMES.refresh_ms);
    assert!(matches!(stage.app.sessions.refresh(&tokens.refresh_token).await, Err(AuthError::Expired)));
}

#[tokio::test]
async fn a_new_password_ends_the_other_sessions() {
    let stage = Stage::new();
    let here = stage.app.accounts.register(registration("ada")).await.unwrap();
    let there = stage.app.accounts.sign_in(sign_in("ada", "password of ada")).await.unwrap();
    let by = stage.app.sessions.authenticate(&here.tokens.access_token).await.unwrap();
    let wrong = ChangePassword { current_password: "wrong".into(), new_password: "a new password".into() };
    assert!(matches!(
        stage.app.accounts.change_password(by, wrong).await,
        Err(AccountError::WrongCredentials)
    ));
    let change =
        ChangePassword { current_password: "password of ada".into(), new_password: "a new password".into() };
    let tokens = stage.app.accounts.change_password(by, change).await.unwrap().tokens.unwrap();
    assert_ne!(tokens.refresh_token, here.tokens.refresh_token);
    stage.app.sessions.authenticate(&tokens.access_token).await.unwrap();
    assert!(stage.app.sessions.authenticate(&there.tokens.access_token).await.is_err());
    stage.app.accounts.sign_in(sign_in("ada", "a new password")).await.unwrap();
    // A request with the token from before the change is refused, and shows that the token was stolen.
    assert!(matches!(stage.app.sessions.refresh(&here.tokens.refresh_token).await, Err(AuthError::Reused)));
    assert!(stage.app.sessions.authenticate(&tokens.access_token).await.is_err());
}

/// As after a call that failed when the password was stored and the other sessions had not ended.
#[tokio::test]
async fn a_repeated_password_change_ends_the_remaining_sessions() {
    let stage = Stage::new();
    let here = stage.app.accounts.register(registration("ada")).await.unwrap();
    let by = stage.app.sessions.authenticate(&here.tokens.access_token).await.unwrap();
    let change = |current: &str, new: &str| {
        let change = ChangePassword { current_password: current.into(), new_password: new.into() };
        stage.app.accounts.change_password(by, change)
    };
    change("password of ada", "a new password").await.unwrap();
    let left = stage.app.accounts.sign_in(sign_in("ada", "a new password")).await.unwrap();
    let other = change("password of ada", "another new password").await;
    assert!(matches!(other, Err(AccountError::WrongCredentials)), "another password is another change");
    stage.app.sessions.authenticate(&left.tokens.access_token).await.unwrap();
    let tokens = change("password of ada", "a new password").await.unwrap().tokens.unwrap();
    assert!(stage.app.sessions.authenticate(&left.tokens.access_token).await.is_err());
    stage.app.sessions.refresh(&tokens.refresh_token).await.unwrap();
    stage.app.accounts.sign_in(sign_in("ada", "a new password")).await.unwrap();
}

#[tokio::test]
async fn disabling_a_user_ends_their_sessions_until_they_are_enabled_again() {
    let stage = Stage::new();
    let tokens = stage.app.accounts.register(registration("ada")).await.unwrap().tokens;
    stage.app.accounts.set_disabled("ada", true).await.unwrap();
    assert!(stage.app.sessions.authenticate(&tokens.access_token).await.is_err());
    let refused = stage.app.accounts.sign_in(sign_in("ada", "password of ada")).await;
    assert!(matches!(refused, Err(AccountError::Disabled)));
    stage.app.accounts.set_disabled("ada", false).await.unwrap();
    stage.app.accounts.sign_in(sign_in("ada", "password of ada")).await.unwrap();
}

#[tokio::test]
async fn a_sign_in_fails_if_the_account_changes_during_the_password_check() {
    let stage = Stage::new();
    let here = stage.app.accounts.register(registration("ada")).await.unwrap();
    let by = stage.app.sessions.authenticate(&here.tokens.access_token).await.unwrap();
    let accounts = &stage.app.accounts;
    let (refused, done) = tokio::join!(
        accounts.sign_in(sign_in("ada", "password of ada")),
        accounts.set_password("ada", "a new password")
    );
    assert!(matches!(refused, Err(AccountError::WrongCredentials)), "{refused:?}");
    done.unwrap();
    let (refused, done) =
        tokio::join!(accounts.sign_in(sign_in("ada", "a new password")), accounts.set_disabled("ada", true));
    assert!(matches!(refused, Err(AccountError::Disabled)), "{refused:?}");
    done.unwrap();
    assert_eq!(stage.app.sessions.devices(by).await.unwrap(), []);
}

#[tokio::test]
async fn exceeding_the_device_limit_signs_out_the_least_recently_active_device() {
    let stage = Stage::new();
    let first = stage.app.accounts.register(registration("ada")).await.unwrap();
    for _ in 0..DEVICES_PER_USER_MAX {
        stage.clock.advance_ms(1);
        stage.app.accounts.sign_in(sign_in("ada", "password of ada")).await.unwrap();
    }
    assert!(stage.app.sessions.authenticate(&first.tokens.access_token).await.is_err());
}

#[tokio::test]
async fn a_user_cannot_revoke_a_device_of_another_user() {
    let stage = Stage::new();
    let ada = stage.app.accounts.register(registration("ada")).await.unwrap();
    let bob = stage.app.accounts.register(registration("bob")).await.unwrap();
    let by_bob = stage.app.sessions.authenticate(&bob.tokens.access_token).await.unwrap();
    assert!(!stage.app.sessions.revoke(by_bob, ada.device.id).await.unwrap());
    stage.app.sessions.authenticate(&ada.tokens.access_token).await.unwrap();
    assert!(stage.app.sessions.revoke(by_bob, bob.device.id).await.unwrap());
    assert!(stage.app.sessions.authenticate(&bob.tokens.access_token).await.is_err());
}
