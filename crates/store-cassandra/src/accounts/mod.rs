//! Users, and all that is one user's: profile, devices, blocks, settings of conversations, the account log.
//!
//! It is one partition, which changes by compare-and-set on its revision: several rows change at once or not at all, and
//! concurrent changes follow one another. How, in reading order:
//!
//! - [`rows`]: what is in a partition; [`statements`]: how it is read and written
//! - [`snapshot`]: what has been read of it; [`txn`]: what operations see and change
//! - [`queue`]: operations that wait together are made together
//! - [`writer`]: the compare-and-set, and what happens when it fails
//!
//! What is done with it: [`users`], [`devices`], [`blocks`], [`memberships`], [`stars`], [`scheduled`], [`log`] and, for
//! whoever moves it to another store, [`whole_log`]. Two things are not of one account: [`names`] are unique over all of
//! them, and [`people`] are found by their words.

mod blocks;
mod devices;
mod log;
mod memberships;
mod names;
mod people;
mod queue;
mod rows;
mod scheduled;
mod snapshot;
mod stars;
mod statements;
#[cfg(test)]
mod tests;
mod txn;
mod users;
mod whole_log;
mod writer;

use std::sync::Arc;

use godwit_domain::ports::StoreError;
use godwit_protocol::UserId;
use scylla::errors::PrepareError;
use serde::de::DeserializeOwned;

use crate::cql::Cql;
use crate::transfer::Gate;
use crate::values::int;
use names::Names;
use people::People;
use rows::Key;
use snapshot::AccountRow;
use statements::Statements;
use txn::decode;
use writer::Writer;

pub(crate) use memberships::{Displaced, Listing, Membership, Place, PlaceChange, Section};

#[derive(Debug)]
pub(crate) struct Accounts {
    cql: Arc<Cql>,
    statements: Arc<Statements>,
    writer: Arc<Writer>,
    names: Names,
    people: Arc<People>,
}

impl Accounts {
    pub(crate) async fn new(cql: Arc<Cql>, gate: Arc<Gate>) -> Result<Self, PrepareError> {
        let statements = Arc::new(Statements::prepare(&cql).await?);
        let people = Arc::new(People::new(cql.clone()).await?);
        let writer = Arc::new(Writer::new(cql.clone(), statements.clone(), people.clone(), gate));
        let names = Names::new(cql.clone()).await?;
        Ok(Self { cql, statements, writer, names, people })
    }

    /// One row as it is now.
    async fn row<R: DeserializeOwned>(&self, user: UserId, key: Key) -> Result<Option<R>, StoreError> {
        let values = (int(user.get()), key.kind, key.id);
        let row: Option<(String,)> = self.cql.row("read an account", &self.statements.body, values).await?;
        row.map(|(body,)| decode(user, key, &body)).transpose()
    }

    /// All rows of a kind as they are now.
    async fn rows_of(&self, user: UserId, kind: i8) -> Result<Vec<(Key, String)>, StoreError> {
        let values = (int(user.get()), kind, i64::MIN, i32::MAX);
        let rows: Vec<AccountRow> =
            self.cql.rows("read an account", &self.statements.rows_from, values).await?;
        Ok(rows.into_iter().map(|row| (Key { kind, id: row.id }, row.body)).collect())
    }
}
