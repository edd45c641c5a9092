//! Transfers of all data to another store, or from one, while servers run.
//!
//! - [`gate`]: every write passes it; depending on the state, it marks what the write changes, or refuses the
//!   write
//! - [`ledger`]: the state of the transfer, in the table `transfer`; [`marks`]: the changed parts, in
//!   `changed_parts`
//! - [`rounds`]: makes all store handles follow the state, and returns the changed parts; [`ids`]: the highest
//!   id given out
//!
//! Every change of the state begins a *round*, which has a number. A write belongs to the round in which it
//! began. A store handle writes into its row in `servers` which round it has reached, after all its writes of
//! earlier rounds have ended. When all rows have reached a round, the marks of earlier rounds are complete, and
//! the marked parts can be copied.
//!
//! The data to copy is read and written by `account`, `conversation` and `lease`.

mod gate;
mod ids;
mod ledger;
mod marks;
#[cfg(test)]
mod on_cassandra;
mod rounds;

pub(crate) use gate::{Gate, Pass, UnderWay};
pub(crate) use ledger::Ledger;
pub(crate) use rounds::Rounds;
