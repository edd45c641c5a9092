//! The state of a transfer, and the rows of the handles that follow it.

use std::sync::Arc;

use async_trait::async_trait;
use godwit_domain::ports::{Part, StoreError, TransferState};
use scylla::errors::PrepareError;

use super::gate::Records;
use super::marks::Marks;
use crate::cql::{Conditional, Cql, Outcome, Read, SerialRead};
use crate::lease::NodeLease;
use crate::records::{from_json, to_json};
use crate::servers::{Servers, Standing};
use crate::values::int;

/// The key of the one row.
const NAME: &str = "transfer";

/// The state of a transfer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct State {
    pub(super) transfer: TransferState,
    /// Grows with every change of the state, and with every new round.
    pub(super) round: u64,
    /// The first round whose marks may not be settled yet.
    pub(super) first: u64,
}

impl State {
    /// Whether changes are marked. While writes are held, the only changes are repairs after a crash.
    pub(super) const fn keeps_marks(&self) -> bool {
        matches!(self.transfer, TransferState::Out { .. } | TransferState::Held { .. })
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
        let read = "SELECT body, round, first FROM transfer WHERE name = ?";
        let set = "UPDATE transfer SET body = ?, round = ?, first = ? WHERE name = ?";
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

    /// The state as a serial read sees it: after every compare-and-set that began before the read.
    pub(super) async fn settled(&self) -> Result<State, StoreError> {
        decode(self.cql.serial_row("read back the transfer state", &self.read_settled, (NAME,)).await?)
    }

    /// Replaces the state by compare-and-set.
    pub(super) async fn replace(&self, found: &State, new: &State) -> Outcome {
        const OPERATION: &str = "change the transfer state";
        let (body, round, first) = (to_json(&new.transfer), int(new.round), int(new.first));
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
        decode(self.cql.row("read the transfer state", &self.read, (NAME,)).await?)
    }

    async fn mark(&self, round: u64, parts: &[Part]) -> Result<(), StoreError> {
        self.marks.put(round, parts).await
    }
}

fn decode(row: Option<Row>) -> Result<State, StoreError> {
    let Some((Some(body), Some(round), first)) = row else { return Ok(State::default()) };
    Ok(State {
        transfer: from_json("transfer", || NAME.to_owned(), &body)?,
        round: round.cast_unsigned(),
        first: first.map_or(0, i64::cast_unsigned),
    })
}
