//! Accounts: profile, devices, blocks, conversation settings and the account log of each user.
//!
//! An account is one partition. It changes by compare-and-set on its revision, so several rows change
//! atomically, and concurrent changes are serialized. In reading order:
//!
//! - [`rows`]: the rows of the partition; [`statements`]: the CQL to read and write them
//! - [`snapshot`]: the rows that have been read; [`txn`]: the rows that operations see and change
//! - [`queue`]: batches the operations that wait for the same account
//! - [`writer`]: the compare-and-set, and recovery when it fails
//!
//! On top of that, [`change`] carries out the decisions of `godwit_domain::account`, together with the rows
//! [`beside`] the account. [`memberships`] and [`log`] have operations of their own. [`users`], [`devices`],
//! [`blocks`], [`stars`] and [`scheduled`] only read. Two modules span accounts: [`names`] are unique over all
//! accounts, and [`people`] is the search index.

mod beside;
mod blocks;
mod change;
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
mod writer;

use std::sync::Arc;

use godwit_domain::ports::StoreError;
use godwit_protocol::UserId;
use scylla::errors::PrepareError;
use serde::de::DeserializeOwned;

use crate::cql::Cql;
use crate::due::Due;
use crate::transfer::Gate;
use crate::values::int;
use beside::Beside;
use names::Names;
use people::People;
use rows::Key;
use snapshot::AccountRow;
use statements::Statements;
use txn::decode;
use writer::Writer;

pub(crate) use change::Outside;
pub(crate) use memberships::{Displaced, InboxPosition, Listing, Membership, PositionChange, Section};

#[derive(Debug)]
pub(crate) struct Accounts {
    cql: Arc<Cql>,
    statements: Arc<Statements>,
    writer: Arc<Writer>,
    names: Names,
    people: Arc<People>,
    beside: Arc<Beside>,
}

impl Accounts {
    pub(crate) async fn new(cql: Arc<Cql>, due: Arc<Due>, gate: Arc<Gate>) -> Result<Self, PrepareError> {
        let statements = Arc::new(Statements::prepare(&cql).await?);
        let people = Arc::new(People::new(cql.clone()).await?);
        let writer = Arc::new(Writer::new(cql.clone(), statements.clone(), people.clone(), gate));
        let names = Names::new(cql.clone()).await?;
        let beside = Arc::new(Beside { cql: cql.clone(), statements: statements.clone(), due });
        Ok(Self { cql, statements, writer, names, people, beside })
    }

    /// Reads one row, outside a transaction.
    async fn row<R: DeserializeOwned>(&self, user: UserId, key: Key) -> Result<Option<R>, StoreError> {
        let values = (int(user.get()), key.kind, key.id);
        let row: Option<(String,)> = self.cql.row("read an account", &self.statements.body, values).await?;
        row.map(|(body,)| decode(user, key, &body)).transpose()
    }

    /// Reads all rows of a kind, outside a transaction.
    async fn rows_of(&self, user: UserId, kind: i8) -> Result<Vec<(Key, String)>, StoreError> {
        let values = (int(user.get()), kind, i64::MIN, i32::MAX);
        let rows: Vec<AccountRow> =
            self.cql.rows("read an account", &self.statements.rows_from, values).await?;
        Ok(rows.into_iter().map(|row| (Key { kind, id: row.id }, row.body)).collect())
    }
}
