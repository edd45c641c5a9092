//! Moving the data of a running server to another store: the operator asks for it at the admin socket, and the server, which
//! alone has the store open, does it.

use std::sync::{Arc, Mutex, PoisonError};

use godwit_domain::ports::{Moving, TransferStore};
use godwit_transfer::{Control, MoveError, Mover, Progress};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::config::{Config, StoreLocation};
use crate::problem::chain;
use crate::wiring::{MovableStore, movable_store};

/// What a server knows of the move of its data.
#[derive(Debug)]
pub struct Moves {
    source: MovableStore,
    from: StoreLocation,
    config: Config,
    under_way: Mutex<Option<UnderWay>>,
    moved: watch::Sender<Option<StoreLocation>>,
}

/// A move that was begun.
#[derive(Debug)]
struct UnderWay {
    to: StoreLocation,
    control: Arc<Control>,
    outcome: watch::Receiver<Option<Outcome>>,
}

/// How a move goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveStatus {
    pub progress: Progress,
    /// None while it goes on.
    pub outcome: Option<Outcome>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Moved,
    /// One line that says why it does not go on.
    Failed(String),
}

impl Moves {
    pub fn new(source: MovableStore, config: Config) -> Self {
        let from = config.store_location().absolute();
        Self { source, from, config, under_way: Mutex::default(), moved: watch::Sender::new(None) }
    }

    /// Waits until everything is elsewhere, and says where.
    pub async fn moved(&self) -> StoreLocation {
        let mut moved = self.moved.subscribe();
        loop {
            let place = moved.borrow_and_update().clone();
            match place {
                Some(place) => return place,
                // The sender is in `self`.
                None => drop(moved.changed().await),
            }
        }
    }

    /// Waits for the end of a move that is under way: the store that is left fails a moment before. Where the data is then, if
    /// it was moved.
    pub async fn ends(&self) -> Option<StoreLocation> {
        let mut outcome = self.lock().as_ref()?.outcome.clone();
        // If the sender is gone, so is the mover.
        outcome.wait_for(Option::is_some).await.ok()?;
        self.moved.borrow().clone()
    }

    /// Where the data has gone, if somebody else has moved it.
    pub async fn gone(&self) -> Option<String> {
        match self.source.port().moving().await {
            Ok(Moving::Gone { to }) => Some(to),
            _ => None,
        }
    }

    /// Begins, or goes on with what was interrupted.
    pub fn start(&self, to: StoreLocation) -> Result<MoveStatus, String> {
        let mut under_way = self.lock();
        if let Some(begun) = &*under_way {
            let status = begun.status();
            match status.outcome {
                None if begun.to == to => return Ok(status),
                None => return Err(format!("the data is being moved to {}", begun.to)),
                Some(_) => {}
            }
        }
        let control = Arc::new(Control::default());
        let (done, outcome) = watch::channel(None);
        let begun = UnderWay { to: to.clone(), control: control.clone(), outcome };
        let status = begun.status();
        *under_way = Some(begun);
        let (source, config, moved) = (self.source.port(), self.config.clone(), self.moved.clone());
        let from = self.from.to_string();
        tokio::spawn(async move {
            let outcome = match run(&config, source, from, &to, control).await {
                Ok(()) => {
                    moved.send_replace(Some(to));
                    Outcome::Moved
                }
                Err(reason) => {
                    tracing::warn!(reason, "the data was not moved");
                    Outcome::Failed(reason)
                }
            };
            // The server may be gone.
            let _ = done.send(Some(outcome));
        });
        Ok(status)
    }

    /// None when nothing was moved since the server started.
    pub fn status(&self) -> Option<MoveStatus> {
        self.lock().as_ref().map(UnderWay::status)
    }

    /// Leaves it where it can go on later.
    pub fn stop(&self) {
        if let Some(under_way) = &*self.lock() {
            under_way.control.stop();
        }
    }

    /// Ends what was interrupted for good.
    pub async fn abandon(&self) -> Result<(), String> {
        if let Some(MoveStatus { outcome: None, .. }) = self.status() {
            return Err("it is under way: stop it first".into());
        }
        let abandoned = godwit_transfer::abandon(&*self.source.port(), &self.from.to_string()).await;
        abandoned.map(drop).map_err(|error| chain(&error))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<UnderWay>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UnderWay {
    fn status(&self) -> MoveStatus {
        let progress = *self.control.progress().borrow();
        MoveStatus { progress, outcome: self.outcome.borrow().clone() }
    }
}

/// Opens the other store, moves, and closes it.
async fn run(
    config: &Config,
    source: Arc<dyn TransferStore>,
    from: String,
    to: &StoreLocation,
    control: Arc<Control>,
) -> Result<(), String> {
    let target = movable_store(config, to).await.map_err(|error| chain(&error))?;
    let moved = Mover::new(source, target.port(), from, to.to_string(), control).run().await;
    let closed = target.close().await;
    moved.and_then(|_| closed.map_err(MoveError::Store)).map_err(|error| chain(&error))
}
