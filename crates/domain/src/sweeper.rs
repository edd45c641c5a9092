//! What happens when a time has come: messages disappear, scheduled ones are sent.
//!
//! Several nodes may sweep at once, and one may die at any point: what is due stays due until it is dealt with, and dealing
//! with it twice is dealing with it once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use godwit_protocol::{ConversationId, MessageId, UserId};

use crate::actions::{Action, Appending, Refusal};
use crate::model::Target;
use crate::personal::Personal;
use crate::ports::{Clock, DueExpiry, Store, StoreError};

/// How often it looks.
pub const SWEEP_INTERVAL: Duration = Duration::from_secs(1);
/// Messages that disappear, or are sent, in one sweep.
const SWEPT_AT_ONCE_MAX: usize = 256;

#[derive(Debug)]
pub struct Sweeper {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) appending: Arc<Appending>,
    pub(crate) personal: Arc<Personal>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Sweeper {
    /// Sweeps until the future is dropped. One for the whole server.
    pub async fn run(&self) {
        let mut ticks = tokio::time::interval(SWEEP_INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = self.sweep().await {
                tracing::warn!(%error, "what is due could not be dealt with, it is tried again");
            }
        }
    }

    /// Deals with everything that is due now.
    pub async fn sweep(&self) -> Result<(), StoreError> {
        while self.expire().await? == SWEPT_AT_ONCE_MAX {}
        self.send_scheduled().await
    }

    /// Lets messages disappear whose time is over. Gives back how many were due.
    async fn expire(&self) -> Result<usize, StoreError> {
        let due = self.store.due_expiries(self.clock.now(), SWEPT_AT_ONCE_MAX).await?;
        let mut conversations = BTreeMap::<ConversationId, Vec<DueExpiry>>::new();
        for expiry in &due {
            conversations.entry(expiry.conversation).or_default().push(*expiry);
        }
        let mut left = 0;
        for (conversation, expiries) in conversations {
            let seqs: Vec<_> = expiries.iter().map(|expiry| expiry.seq).collect();
            let items = self.store.items(conversation, &seqs).await?.into_iter().flatten();
            let targets: Vec<Target> =
                items.map(|item| Target { id: MessageId::new(item.entry.id), seq: item.entry.seq }).collect();
            let nobody = UserId::new(0);
            match self.appending.act(nobody, conversation, Action::Expire { targets }).await {
                // A conversation that was deleted shows nothing any more.
                Ok(_) | Err(Refusal::NotFound) => self.store.forget_expiries(&expiries).await?,
                Err(error) => {
                    left += expiries.len();
                    tracing::warn!(%conversation, %error, "messages could not disappear, it is tried again");
                }
            }
        }
        Ok(due.len() - left)
    }

    async fn send_scheduled(&self) -> Result<(), StoreError> {
        for (user, id) in self.store.due_scheduled(self.clock.now(), SWEPT_AT_ONCE_MAX).await? {
            self.personal.send_scheduled(user, id).await?;
        }
        Ok(())
    }
}
