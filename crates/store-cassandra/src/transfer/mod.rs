//! Moving everything to another store, or from one, while servers go on.
//!
//! - [`gate`]: what every write passes: it is refused, or what it changes is marked, as the move wants it
//! - [`ledger`]: what is known of a move, in the table `moving`; [`marks`]: what has changed, in `changed_parts`
//! - [`rounds`]: how all who have the keyspace open are made to follow, and what has changed is given out; [`ids`]: how far
//!   they have gone with their ids
//! - [`port`]: the port. What is copied is read and written where it is kept: [`accounts`](crate::accounts),
//!   [`conversations`](crate::conversations), [`lease`](crate::lease)
//!
//! Every change of what is known of a move begins a *round*, which has a number. A write belongs to the round in which it
//! began. Who has the keyspace open says in `servers` which round it has come to, when all its writes of earlier ones have
//! ended. So whoever moves knows when a round is over for all: its marks are complete then, and what they are about can be
//! copied.

#[cfg(test)]
mod cassandra;
mod gate;
mod ids;
mod ledger;
mod marks;
mod port;
mod rounds;

pub(crate) use gate::{Gate, Pass, UnderWay};
pub(crate) use ledger::Ledger;
pub(crate) use rounds::Rounds;
