//! Whether the suite accepts what is right and finds what is wrong, and whether the crates keep to their places.
//!
//! - [`model`], [`embedded`]: stores that must pass
//! - [`mutants`]: stores that must not
//! - [`architecture`]: who may depend on whom

mod architecture;
mod embedded;
mod model;
mod mutants;
