//! What the other crates are tested with. Development only: nothing that ships depends on it.
//!
//! What a store is:
//!
//! - [`conformance`]: the cases that every store passes, in one list; [`conformance_tests!`] makes a test of each
//! - [`replay`]: random operations on a store and on the model, and a comparison of everything that can be read
//! - [`model`]: the store that is obviously right
//! - [`factory`]: what a backend gives to the suite, so that it can be opened
//!
//! What tests are written with:
//!
//! - [`scene`]: fresh users, conversations and times for one test; [`founding`] builds what a conversation begins with,
//!   [`batch`] what is appended to it
//! - [`paging`]: from page to page to the end; [`due`]: what has come due, of what is the test's own
//! - [`reading`]: everything that can be read from a store, as text that can be compared
//! - [`clock`], [`delivery`]: time and sockets that the test decides
//! - [`cluster`]: Cassandra and Redis on this machine, started when a test asks; also as the command `godwit-cluster`
//!
//! The suite knows stores by `Arc<dyn Store>` alone: no table, no file, no process. A contract that it checks stands on
//! the trait in `godwit_domain::ports`; where a case and that comment disagree, one of them is wrong.
//!
//! # Adding a case
//!
//! Write it into the file of its group under `conformance/`, and its name into the list in `conformance/cases.rs`. A case
//! that is not in the list is unused code, which the lints refuse. If it is about a contract that must never break,
//! add the fault that it finds to `tests/suite/mutants/`.
//!
//! # Checking a store
//!
//! Implement [`StoreFactory`] in the tests of the backend, and then:
//!
//! ```ignore
//! godwit_testkit::conformance_tests!(MyFactory::new());
//!
//! #[test]
//! fn it_does_what_the_model_does() {
//!     godwit_testkit::replay::check_random(&MyFactory::new(), replay::SEQUENCES);
//! }
//! ```

pub mod batch;
pub mod clock;
pub mod cluster;
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
pub use model::{Lost, ModelStore};
pub use scene::Scene;
