//! What is known of a move, and who follows it.

use std::sync::Arc;

use async_trait::async_trait;
use godwit_domain::ports::{Moving, Part, StoreError};
use scylla::errors::PrepareError;

use super::gate::Records;
use super::marks::Marks;
use crate::cql::{Conditional, Cql, Outcome, Read, SerialRead};
use crate::lease::NodeLease;
use crate::records::{from_json, to_json};
use crate::servers::{Servers, Standing};
use crate::values::int;

/// The row.
const NAME: &str = "moving";

/// What is known of a move.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct State {
    pub(super) moving: Moving,
    /// Rises with every change, also when only a new round begins.
    pub(super) round: u64,
    /// Marks of earlier rounds are settled.
    pub(super) first: u64,
}

impl State {
    /// Whether what changes is marked. While writes are held only what was left half done is finished.
    pub(super) const fn keeps_marks(&self) -> bool {
        matches!(self.moving, Moving::Out { .. } | Moving::Held { .. })
    }
}

#[derive(Debug)]
pub(crate) struct Ledger {
    cql: Arc<Cql>,
    pub(super) servers: Arc<Servers>,
    pub(super) lease: Arc<NodeLease>,
    pub(super) marks: Marks,
    read: Read,
    read_settled: SerialRead,
    begin: Conditional,
    replace: Conditional,
}

type Row = (Option<String>, Option<i64>, Option<i64>);

impl Ledger {
    pub(crate) async fn new(
        cql: Arc<Cql>,
        servers: Arc<Servers>,
        lease: Arc<NodeLease>,
    ) -> Result<Self, PrepareError> {
        let read = "SELECT body, round, first FROM moving WHERE name = ?";
        let set = "UPDATE moving SET body = ?, round = ?, first = ? WHERE name = ?";
        Ok(Self {
            marks: Marks::new(cql.clone()).await?,
            read: cql.prepare_read(read).await?,
            read_settled: cql.prepare_serial_read(read).await?,
            begin: cql.prepare_conditional(&format!("{set} IF round = null")).await?,
            replace: cql.prepare_conditional(&format!("{set} IF round = ?")).await?,
            cql,
            servers,
            lease,
        })
    }

    /// After every change that was begun before.
    pub(super) async fn settled(&self) -> Result<State, StoreError> {
        decode(self.cql.serial_row("read back a move", &self.read_settled, (NAME,)).await?)
    }

    /// If it still is what was found.
    pub(super) async fn replace(&self, found: &State, new: &State) -> Outcome {
        const OPERATION: &str = "change what is known of a move";
        let (body, round, first) = (to_json(&new.moving), int(new.round), int(new.first));
        if found.round == 0 {
            let values = (body, round, first, NAME);
            return self.cql.conditional(OPERATION, &self.begin, values).await;
        }
        let values = (body, round, first, NAME, int(found.round));
        self.cql.conditional(OPERATION, &self.replace, values).await
    }
}

#[async_trait]
impl Records for Ledger {
    async fn say(&self, round: u64) -> Result<(), StoreError> {
        self.servers.say(Standing { round, ids: self.lease.given() }).await
    }

    async fn state(&self) -> Result<State, StoreError> {
        decode(self.cql.row("look whether everything is moved", &self.read, (NAME,)).await?)
    }

    async fn mark(&self, round: u64, parts: &[Part]) -> Result<(), StoreError> {
        self.marks.put(round, parts).await
    }
}

fn decode(row: Option<Row>) -> Result<State, StoreError> {
    let Some((Some(body), Some(round), first)) = row else { return Ok(State::default()) };
    Ok(State {
        moving: from_json("moving", || NAME.to_owned(), &body)?,
        round: round.cast_unsigned(),
        first: first.map_or(0, i64::cast_unsigned),
    })
}
