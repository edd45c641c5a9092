//! Fault injection: appends whose request or answer is lost, and reads that fail.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use godwit_domain::ports::StoreError;

/// A failure as the caller sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// The request was lost: nothing was written.
    Request,
    /// The answer was lost: the write happened.
    Answer,
}

#[derive(Debug, Default)]
pub(super) struct Losses(Mutex<VecDeque<Lost>>);

impl Losses {
    pub(super) fn expect(&self, losses: impl IntoIterator<Item = Lost>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(losses);
    }

    /// Runs the append unless its request is lost. A lost request has no answer either.
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

/// A kind of read that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// One member of a conversation.
    Member,
    /// The large conversations of a user.
    FannedOutOnRead,
}

/// Each kind of read that will fail, and how many of them succeed before.
#[derive(Debug, Default)]
pub(super) struct Failures(Mutex<Vec<(Read, usize)>>);

impl Failures {
    pub(super) fn expect(&self, read: Read, after: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((read, after));
    }

    pub(super) fn strike(&self, read: Read) -> Result<(), StoreError> {
        let mut expected = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(place) = expected.iter().position(|(kind, _)| *kind == read) else { return Ok(()) };
        match &mut expected[place].1 {
            0 => {
                expected.remove(place);
                Err(StoreError::Unavailable { operation: "read", source: "lost".into() })
            }
            after => {
                *after -= 1;
                Ok(())
            }
        }
    }
}
