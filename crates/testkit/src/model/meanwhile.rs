//! What somebody else does while a call is on its way, when the test says so.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

type Other = Pin<Box<dyn Future<Output = ()> + Send>>;

#[derive(Default)]
pub(super) struct Meanwhile(Mutex<Option<Other>>);

impl Meanwhile {
    pub(super) fn expect(&self, other: impl Future<Output = ()> + Send + 'static) {
        *self.lock() = Some(Box::pin(other));
    }

    /// Happens once. It may make the same call itself.
    pub(super) async fn happen(&self) {
        let other = self.lock().take();
        if let Some(other) = other {
            other.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Other>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Meanwhile").field(&self.lock().is_some()).finish()
    }
}
