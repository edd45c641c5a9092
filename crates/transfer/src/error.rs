//! Why a move does not go on.

use godwit_domain::ports::{Moving, Part, StoreError};
use thiserror::Error;

#[derive(Debug, Error)]
pub enum MoveError {
    #[error("the data at {from} cannot be moved: it {moving}")]
    NotHere { from: String, moving: Moving },
    #[error("{to} cannot be moved into: what is there {moving}")]
    NotFree { to: String, moving: Moving },
    #[error("{0} cannot be moved into: there is something in it already")]
    NotEmpty(String),
    #[error("{0} cannot be moved into: its tokens are signed with another key")]
    OtherKey(String),
    #[error("somebody else is at it: {0}")]
    Changed(Moving),
    #[error("{0:?} is not the same on both sides")]
    Different(Part),
    #[error("{0:?} cannot be copied: {1}")]
    Refused(Part, &'static str),
    #[error("it was stopped, and can go on later")]
    Stopped,
    #[error(transparent)]
    Store(#[from] StoreError),
}
