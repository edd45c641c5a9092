//! The sweeper: expires disappearing messages and sends scheduled ones.
//!
//! Several nodes may sweep concurrently, and a node may crash at any point: an item stays due until it has been handled, and
//! handling an item is idempotent.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use godwit_protocol::{ConversationId, MessageId, UserId};

use crate::actions::{Action, Actions, Refusal};
use crate::model::Target;
use crate::personal::Personal;
use crate::ports::{Clock, DueExpiry, Store, StoreError};

/// The time between two sweeps.
pub const SWEEP_INTERVAL: Duration = Duration::from_secs(1);
/// Batch size of a sweep.
const SWEPT_AT_ONCE_MAX: usize = 256;

#[derive(Debug)]
pub struct Sweeper {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) actions: Arc<Actions>,
    pub(crate) personal: Arc<Personal>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Sweeper {
    /// Sweeps until the future is dropped. The server runs one of these.
    pub async fn run(&self) {
        let mut ticks = tokio::time::interval(SWEEP_INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = self.sweep().await {
                tracing::warn!(%error, "could not process due items; retrying");
            }
        }
    }

    /// Handles everything that is due now.
    pub async fn sweep(&self) -> Result<(), StoreError> {
        while self.expire().await? == SWEPT_AT_ONCE_MAX {}
        self.send_scheduled().await
    }

    /// Expires messages whose time is over. Returns the number of handled ones.
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
            match self.actions.act(nobody, conversation, Action::Expire { targets }).await {
                // A deleted conversation shows no messages any more.
                Ok(_) | Err(Refusal::NotFound) => self.store.forget_expiries(expiries).await?,
                Err(error) => {
                    left += expiries.len();
                    tracing::warn!(%conversation, %error, "could not expire messages; retrying");
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
