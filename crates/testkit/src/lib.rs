//! Test support for the other crates. Development only: no shipped crate depends on it.
//!
//! To define a store:
//!
//! - [`conformance`]: the cases that every store passes, in one list; [`conformance_tests!`] makes a test of each
//! - [`replay`]: random operations on a store and on the model, and a comparison of everything that can be read
//! - [`model`]: an in-memory reference store
//! - [`factory`]: the interface through which the suite opens a backend
//!
//! To write tests:
//!
//! - [`scene`]: fresh users, conversations and times for one test; [`founding`] builds new conversations, [`batch`] builds
//!   appends
//! - [`paging`]: reads all pages of a list; [`due`]: the due items of one test
//! - [`reading`]: everything that can be read from a store, as comparable text
//! - [`clock`], [`delivery`]: a clock and a delivery that the test controls
//!
//! The suite knows stores only as `Arc<dyn Store>`: no tables, files or processes. The traits in `godwit_domain::ports`
//! document every contract that the suite checks; if a case and that comment disagree, one of them is wrong.
//!
//! # Adding a case
//!
//! Write the case into the file of its group under `conformance/`, and add its name to the list in `conformance/cases.rs`.
//! The lints refuse a case that is not in the list as unused code. If the case checks a contract that must never break, add
//! the fault that it finds to `tests/suite/mutants/`.
//!
//! # Checking a store
//!
//! Implement [`StoreFactory`] in the tests of the backend, and then:
//!
//! ```ignore
//! godwit_testkit::conformance_tests!(MyFactory::new());
//!
//! #[test]
//! fn the_store_behaves_like_the_model() {
//!     godwit_testkit::replay::check_random(&MyFactory::new(), replay::SEQUENCES);
//! }
//! ```

pub mod batch;
pub mod clock;
pub mod conformance;
pub mod delivery;
pub mod due;
pub mod factory;
pub mod founding;
pub mod model;
pub mod paging;
pub mod reading;
pub mod replay;
pub mod scene;

pub use clock::{TestClock, WallClock};
pub use delivery::RecordingDelivery;
pub use factory::StoreFactory;
pub use model::{Lost, ModelStore, Moment, Read};
pub use scene::Scene;
