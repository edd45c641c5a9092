//! Profile updates that other users receive, and the reservation of handles.

use godwit_domain::accounts::AccountError;
use godwit_protocol::UserId;
use godwit_protocol::accounts::UpdateMe;
use godwit_protocol::limits::{
    FORMER_HANDLE_DAYS, FORMER_HANDLES_MAX, PROFILE_CHANGES_PER_DAY_MAX, USER_UPDATE_MEMBERS_MAX,
};
use godwit_protocol::socket::Event;

use crate::stage::{Stage, registration};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

impl Stage {
    async fn rename(&self, user: UserId, handle: &str) -> Result<(), AccountError> {
        let update = UpdateMe { handle: Some(handle.into()), ..UpdateMe::default() };
        self.app.accounts.update_me(user, update).await.map(drop)
    }

    async fn call(&self, user: UserId, name: &str) -> Result<(), AccountError> {
        let update = UpdateMe { display_name: Some(name.into()), ..UpdateMe::default() };
        self.app.accounts.update_me(user, update).await.map(drop)
    }

    /// The names in the profile updates that a user received.
    fn told(&self, user: UserId) -> Vec<String> {
        let events = self.delivery.events_for(user).into_iter();
        let names = events.filter_map(|event| match event {
            Event::UserUpdated(user) => Some(format!("{} @{}", user.display_name, user.handle)),
            _ => None,
        });
        names.collect()
    }
}

#[tokio::test]
async fn profile_changes_reach_conversation_partners_except_blocked_ones() {
    let stage = Stage::new();
    let [ada, bob, eve, dan, kim, zoe] = stage.users(["ada", "bob", "eve", "dan", "kim", "zoe"]).await;
    let direct = stage.app.inbox.open_direct(ada, bob).await.unwrap().conversation.id;
    stage.say(ada, direct, "hello").await;
    stage.group(&[eve, ada, dan]).await;
    // A user who was only looked up has never seen the conversation.
    stage.app.inbox.open_direct(ada, kim).await.unwrap();
    stage.app.people.block(dan, ada).await.unwrap();
    stage.call(ada, "Countess").await.unwrap();
    stage.rename(ada, "lovelace").await.unwrap();
    for (user, expected) in [
        (bob, &["Countess @ada", "Countess @lovelace"][..]),
        (eve, &["Countess @ada", "Countess @lovelace"]),
        (dan, &[]),
        (kim, &[]),
        (zoe, &[]),
        (ada, &[]),
    ] {
        assert_eq!(stage.told(user), expected, "{user}");
    }
    // An update without a visible change causes no event.
    stage.delivery.take();
    stage.call(ada, "Countess").await.unwrap();
    let quiet = UpdateMe { read_receipts: Some(false), ..UpdateMe::default() };
    stage.app.accounts.update_me(ada, quiet).await.unwrap();
    assert!(stage.told(bob).is_empty());
    assert_eq!(stage.row(bob, direct).await.name, "Countess");
}

#[tokio::test]
async fn profile_changes_are_not_sent_to_large_conversations() {
    let stage = Stage::new();
    let users = stage.users(["ada", "bob", "eve", "dan", "kim"]).await;
    assert!(users.len() < USER_UPDATE_MEMBERS_MAX, "it is large by its fan-out");
    stage.group(&users).await;
    stage.call(users[0], "Countess").await.unwrap();
    assert!(stage.told(users[1]).is_empty());
}

#[tokio::test]
async fn profile_changes_have_a_daily_limit() {
    let stage = Stage::new();
    let [ada, _] = stage.users(["ada", "bob"]).await;
    for number in 0..PROFILE_CHANGES_PER_DAY_MAX {
        // A refused change does not count.
        assert!(matches!(stage.rename(ada, "bob").await, Err(AccountError::HandleTaken)));
        stage.call(ada, &format!("Ada {number}")).await.unwrap();
    }
    let Err(AccountError::TooOften { retry_after_secs, .. }) = stage.call(ada, "Countess").await else {
        panic!("there was one more")
    };
    assert_eq!(stage.app.accounts.me(ada).await.unwrap().display_name, "Ada 49");
    // Settings that others do not see can still be changed.
    let quiet = UpdateMe { read_receipts: Some(false), ..UpdateMe::default() };
    stage.app.accounts.update_me(ada, quiet).await.unwrap();
    stage.clock.advance_ms(i64::from(retry_after_secs) * 1_000);
    stage.call(ada, "Countess").await.unwrap();
}

#[tokio::test]
async fn a_former_handle_is_reserved_for_its_owner() {
    let stage = Stage::new();
    let [ada, bob] = stage.users(["ada", "bob"]).await;
    stage.rename(ada, "countess").await.unwrap();
    let taken = |outcome| matches!(outcome, Err(AccountError::HandleTaken));
    assert!(taken(stage.rename(bob, "ada").await));
    assert!(taken(stage.app.accounts.register(registration("Ada")).await.map(drop)));
    assert!(stage.app.accounts.sign_in(sign_in("ada")).await.is_err(), "nobody is called so");
    stage.rename(ada, "ada").await.unwrap();
    assert!(taken(stage.rename(bob, "countess").await));
    stage.clock.advance_ms(i64::from(FORMER_HANDLE_DAYS) * DAY_MS);
    stage.rename(bob, "countess").await.unwrap();
    assert!(taken(stage.rename(ada, "countess").await));
}

#[tokio::test]
async fn the_number_of_reserved_handles_is_limited() {
    let stage = Stage::new();
    let ada = stage.user("ada").await;
    for number in 0..FORMER_HANDLES_MAX {
        stage.rename(ada, &format!("name{number}")).await.unwrap();
        stage.clock.advance_ms(DAY_MS);
    }
    let Err(AccountError::TooOften { retry_after_secs, .. }) = stage.rename(ada, "other").await else {
        panic!("there was one more")
    };
    assert!(i64::from(retry_after_secs) * 1_000 <= (i64::from(FORMER_HANDLE_DAYS) - 5) * DAY_MS + 1_000);
    // Users can take back their own handle at any time. The first handle to become free is one that was released a day
    // later.
    stage.rename(ada, "ada").await.unwrap();
    stage.clock.advance_ms(i64::from(retry_after_secs) * 1_000);
    assert!(stage.rename(ada, "other").await.is_err());
    stage.clock.advance_ms(DAY_MS);
    stage.rename(ada, "other").await.unwrap();
}

#[tokio::test]
async fn only_the_operator_can_assign_reserved_handles() {
    let stage = Stage::new();
    let bob = stage.user("bob").await;
    let reserved = |outcome| matches!(outcome, Err(AccountError::HandleReserved));
    assert!(reserved(stage.app.accounts.register(registration("Admin")).await.map(drop)));
    assert!(reserved(stage.rename(bob, "sup.port").await));
    stage.app.accounts.add(&registration("support")).await.unwrap();
    for everybody in ["all", "ALL"] {
        let refused = stage.app.accounts.add(&registration(everybody)).await;
        assert!(matches!(refused, Err(AccountError::Invalid(_))));
    }
}

#[tokio::test]
async fn common_passwords_are_refused_everywhere() {
    let stage = Stage::new();
    let signed_in = stage.app.accounts.register(registration("ada")).await.unwrap();
    let by = stage.app.sessions.authenticate(&signed_in.tokens.access_token).await.unwrap();
    for weak in ["12345678", "        ", "aaaaaaaa", "ada12345", "Password1"] {
        let register = godwit_protocol::accounts::Register { password: weak.into(), ..registration("ada") };
        let refused = stage.app.accounts.register(register).await;
        assert!(matches!(refused, Err(AccountError::Invalid(field)) if field.field == "password"), "{weak}");
        let change = godwit_protocol::accounts::ChangePassword {
            current_password: "password of ada".into(),
            new_password: weak.into(),
        };
        let refused = stage.app.accounts.change_password(by, change).await;
        assert!(matches!(refused, Err(AccountError::Invalid(f)) if f.field == "new_password"), "{weak}");
        assert!(stage.app.accounts.set_password("ada", weak).await.is_err());
    }
}

fn sign_in(handle: &str) -> godwit_protocol::accounts::SignIn {
    godwit_protocol::accounts::SignIn {
        handle: handle.into(),
        password: format!("password of {handle}"),
        device_name: None,
        device_proof: None,
    }
}
