//! Appends whose request or answer is lost on the way, when the test says so.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use godwit_domain::ports::StoreError;

/// What a caller takes for a failure of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// Nothing was written.
    Request,
    /// It was written, and the caller is not told.
    Answer,
}

#[derive(Debug, Default)]
pub(super) struct Losses(Mutex<VecDeque<Lost>>);

impl Losses {
    pub(super) fn expect(&self, losses: impl IntoIterator<Item = Lost>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(losses);
    }

    /// Does it, unless its request is lost; the answer is lost with it.
    pub(super) fn strike<T>(&self, append: impl FnOnce() -> T) -> Result<T, StoreError> {
        let lost = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let error = || StoreError::Unavailable { operation: "append", source: "lost".into() };
        match lost {
            None => Ok(append()),
            Some(Lost::Request) => Err(error()),
            Some(Lost::Answer) => {
                append();
                Err(error())
            }
        }
    }
}
