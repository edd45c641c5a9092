mod closing;
pub(super) mod committing;

use super::{Site, listed, scene};
