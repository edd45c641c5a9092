mod groups;
mod sending;

use super::{Site, scene};
