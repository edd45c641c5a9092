//! Tests on Cassandra. Every test has its own users.

mod log;
mod memberships;
mod names;
mod people;
mod scheduled;
mod writing;

use std::sync::Arc;

use godwit_domain::account::{AccountCommand, AccountOutcome, CreateUser, UserChange};
use godwit_domain::model::{AccountChange, AccountNote, DisplayName, Handle, User};
use godwit_protocol::{Timestamp, UserId};
use godwit_testbed::{Cassandra, Shared};
use godwit_testkit::WallClock;

use super::super::{Accounts, Outside};
use crate::cql::Cql;
use crate::due::Due;
use crate::options::Options;
use crate::schema;
use crate::test_keyspace::keyspace;
use crate::transfer::Gate;
use crate::values::int;

const NOON: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// A process that uses the keyspace.
struct Node {
    accounts: Arc<Accounts>,
    cql: Arc<Cql>,
    _cluster: Shared,
}

impl Node {
    async fn new() -> Self {
        let cluster = Cassandra::shared().unwrap();
        let keyspace = keyspace(&cluster).await;
        let options = Options::patient(cluster.contact_points(), keyspace);
        let cql = Arc::new(Cql::new(schema::prepare(&options).await.unwrap(), &options));
        let due = Arc::new(Due::new(cql.clone(), Arc::new(WallClock)).await.unwrap());
        let gate = Gate::without_transfer().await;
        let accounts = Accounts::new(cql.clone(), due, gate).await.unwrap();
        Self { accounts: Arc::new(accounts), cql, _cluster: cluster }
    }

    async fn change(&self, user: UserId, command: AccountCommand) -> AccountOutcome {
        self.accounts.change(user, command, Outside::default()).await.unwrap()
    }

    async fn create(&self, user: &User) -> CreateUser {
        self.change(user.id, create(user)).await.into()
    }

    /// A stored user.
    async fn user(&self) -> User {
        let user = new_user();
        assert_eq!(self.create(&user).await, CreateUser::Created);
        user
    }

    async fn revision(&self, user: UserId) -> i64 {
        let read = "SELECT revision FROM accounts WHERE user_id = ? LIMIT 1";
        let read = self.cql.prepare_serial_read(read).await.unwrap();
        let row: Option<(i64,)> = self.cql.serial_row("test", &read, (int(user.get()),)).await.unwrap();
        row.map_or(0, |(revision,)| revision)
    }
}

fn create(user: &User) -> AccountCommand {
    AccountCommand::CreateUser { user: Box::new(user.clone()) }
}

fn update(change: UserChange) -> AccountCommand {
    AccountCommand::UpdateUser { change: Box::new(change), note: None }
}

fn new_id() -> UserId {
    UserId::new(rand::random::<u64>() >> 1)
}

fn word() -> String {
    (0..16).map(|_| rand::random_range('a'..='z')).collect()
}

/// A user who is not stored yet.
fn new_user() -> User {
    User::new(new_id(), Handle::from_stored(word()), NOON)
}

fn note(user_id: UserId, change: AccountChange) -> AccountNote {
    AccountNote { user_id, at: NOON, change }
}

/// A note about something that no other note is about.
fn some_note(user: UserId) -> AccountNote {
    note(user, AccountChange::UserBlocked(new_id()))
}
