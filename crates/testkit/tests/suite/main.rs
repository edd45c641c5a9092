//! Tests of the suite itself: it accepts correct stores and finds faults. Also tests the architecture of the crates.
//!
//! - [`model`], [`embedded`], [`on_cassandra`]: stores that must pass
//! - [`mutants`]: stores that must fail
//! - [`architecture`]: dependencies between crates and modules
//! - [`account_rules`]: stores have no rules about accounts

mod account_rules;
mod architecture;
mod embedded;
mod model;
mod mutants;
mod on_cassandra;
