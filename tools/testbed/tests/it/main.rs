//! Whether what the testbed starts is what it says, and comes back from what tests do to it.

mod on_cassandra;
