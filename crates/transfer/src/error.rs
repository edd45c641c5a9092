//! Why a transfer stops.

use godwit_domain::ports::{Part, StoreError, TransferState};
use thiserror::Error;

#[derive(Debug, Error)]
pub enum TransferError {
    #[error("cannot transfer the data at {from}: it {transfer}")]
    NotHere { from: String, transfer: TransferState },
    #[error("cannot transfer to {to}: its data {transfer}")]
    NotFree { to: String, transfer: TransferState },
    #[error("cannot transfer to {0}: it is not empty")]
    NotEmpty(String),
    #[error("cannot transfer to {0}: it has another signing key")]
    OtherKey(String),
    #[error("another process changed the transfer: the data {0}")]
    Changed(TransferState),
    #[error("{0:?} differs between the two stores")]
    Different(Part),
    #[error("cannot copy {0:?}: {1}")]
    Refused(Part, &'static str),
    #[error("the transfer was stopped; run the same command to resume it")]
    Stopped,
    #[error(transparent)]
    Store(#[from] StoreError),
}
