//! Transfers the data of a running server to another store. The operator requests it on the admin socket; the server, which
//! alone has the store open, runs it.

use std::sync::{Arc, Mutex, PoisonError};

use godwit_domain::ports::{TransferState, TransferStore};
use godwit_transfer::{Control, Progress, Transfer, TransferError};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::config::{Config, StoreLocation};
use crate::problem::chain;
use crate::wiring::{OpenTransferStore, transfer_store};

/// The state of the server's transfer.
#[derive(Debug)]
pub struct Transfers {
    source: OpenTransferStore,
    from: StoreLocation,
    config: Config,
    under_way: Mutex<Option<UnderWay>>,
    transferred: watch::Sender<Option<StoreLocation>>,
}

/// A transfer that was started.
#[derive(Debug)]
struct UnderWay {
    to: StoreLocation,
    control: Arc<Control>,
    outcome: watch::Receiver<Option<Outcome>>,
}

/// The status of a transfer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferStatus {
    pub progress: Progress,
    /// `None` while it is running.
    pub outcome: Option<Outcome>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Transferred,
    /// The reason for the failure, on one line.
    Failed(String),
}

impl Transfers {
    pub fn new(source: OpenTransferStore, config: Config) -> Self {
        let from = config.store_location().absolute();
        Self { source, from, config, under_way: Mutex::default(), transferred: watch::Sender::new(None) }
    }

    /// Waits until the transfer is complete, and returns the target.
    pub async fn transferred(&self) -> StoreLocation {
        let mut transferred = self.transferred.subscribe();
        loop {
            let place = transferred.borrow_and_update().clone();
            match place {
                Some(place) => return place,
                // `self` owns the sender.
                None => drop(transferred.changed().await),
            }
        }
    }

    /// Waits for the end of a running transfer, because the source fails shortly before. Returns the target if the transfer
    /// succeeded.
    pub async fn ends(&self) -> Option<StoreLocation> {
        let mut outcome = self.lock().as_ref()?.outcome.clone();
        // Without a sender there is no transfer.
        outcome.wait_for(Option::is_some).await.ok()?;
        self.transferred.borrow().clone()
    }

    /// The store to which another process has transferred the data, if any.
    pub async fn gone(&self) -> Option<String> {
        match self.source.port().transfer_state().await {
            Ok(TransferState::Gone { to }) => Some(to),
            _ => None,
        }
    }

    /// Starts or resumes a transfer.
    pub fn start(&self, to: StoreLocation) -> Result<TransferStatus, String> {
        let mut under_way = self.lock();
        if let Some(begun) = &*under_way {
            let status = begun.status();
            match status.outcome {
                None if begun.to == to => return Ok(status),
                None => return Err(format!("the data is being transferred to {}", begun.to)),
                Some(_) => {}
            }
        }
        let control = Arc::new(Control::default());
        let (done, outcome) = watch::channel(None);
        let begun = UnderWay { to: to.clone(), control: control.clone(), outcome };
        let status = begun.status();
        *under_way = Some(begun);
        let (source, config, transferred) =
            (self.source.port(), self.config.clone(), self.transferred.clone());
        let from = self.from.to_string();
        tokio::spawn(async move {
            let outcome = match run(&config, source, from, &to, control).await {
                Ok(()) => {
                    transferred.send_replace(Some(to));
                    Outcome::Transferred
                }
                Err(reason) => {
                    tracing::warn!(reason, "the transfer failed");
                    Outcome::Failed(reason)
                }
            };
            // The server may have ended.
            let _ = done.send(Some(outcome));
        });
        Ok(status)
    }

    /// `None` if no transfer was started since the server started.
    pub fn status(&self) -> Option<TransferStatus> {
        self.lock().as_ref().map(UnderWay::status)
    }

    /// Stops the transfer so that it can be resumed later.
    pub fn stop(&self) {
        if let Some(under_way) = &*self.lock() {
            under_way.control.stop();
        }
    }

    /// Gives up an interrupted transfer.
    pub async fn abandon(&self) -> Result<(), String> {
        if let Some(TransferStatus { outcome: None, .. }) = self.status() {
            return Err("the transfer is running: stop it first".into());
        }
        let abandoned = godwit_transfer::abandon(&*self.source.port(), &self.from.to_string()).await;
        abandoned.map(drop).map_err(|error| chain(&error))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<UnderWay>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UnderWay {
    fn status(&self) -> TransferStatus {
        let progress = *self.control.progress().borrow();
        TransferStatus { progress, outcome: self.outcome.borrow().clone() }
    }
}

/// Opens the target, transfers, and closes it.
async fn run(
    config: &Config,
    source: Arc<dyn TransferStore>,
    from: String,
    to: &StoreLocation,
    control: Arc<Control>,
) -> Result<(), String> {
    let target = transfer_store(config, to).await.map_err(|error| chain(&error))?;
    let transferred = Transfer::new(source, target.port(), from, to.to_string(), control).run().await;
    let closed = target.close().await;
    transferred.and_then(|_| closed.map_err(TransferError::Store)).map_err(|error| chain(&error))
}
