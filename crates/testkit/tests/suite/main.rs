//! Whether the suite accepts what is right and finds what is wrong, and whether the crates keep to their places.
//!
//! - [`model`], [`embedded`], [`cassandra`]: stores that must pass
//! - [`mutants`]: stores that must not
//! - [`architecture`]: who may depend on whom
//! - [`cassandra_cluster`]: whether the local cluster is one, and comes back from what tests do to it

mod architecture;
mod cassandra;
#[path = "cluster.rs"]
mod cassandra_cluster;
mod embedded;
mod model;
mod mutants;
