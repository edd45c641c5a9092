//! Gives positions to conversations that have not moved for a while.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError};

use futures_util::future::try_join_all;
use godwit_domain::ports::StoreError;
use godwit_protocol::{ConversationId, UserId};

use super::epochs::Known;
use super::{Inbox, Standing};
use crate::account::{Displaced, InboxPosition, PositionChange, Section};
use crate::values::int;

/// Rounds that one task takes to clear an epoch, before it leaves the rest to the next one.
const PLACING_ROUNDS_MAX: usize = 8;
/// Conversations positioned with one compare-and-set.
const PLACED_AT_ONCE_MAX: usize = 64;

impl Inbox {
    /// Begins a new epoch in the background if the current one is full.
    pub(super) fn place_later(self: &Arc<Self>, user: UserId) {
        if !self.placing().insert(user) {
            return;
        }
        let this = Arc::clone(self);
        tokio::spawn(async move {
            if let Err(error) = this.begin_epoch_unless_held(user).await {
                tracing::debug!(%user, %error, "could not move recent conversations to the ordered inbox; the next reader does it");
            }
            this.placing().remove(&user);
        });
    }

    async fn begin_epoch_unless_held(&self, user: UserId) -> Result<(), StoreError> {
        let pass = self.gate.enter([]).await?;
        pass.leave(self.begin_epoch(user).await).await
    }

    async fn begin_epoch(&self, user: UserId) -> Result<(), StoreError> {
        let epochs = self.epochs.current(user).await?;
        let is_full = self.activities(user, epochs.epoch).await?.len() > self.recent_max;
        if !is_full || !self.epochs.is_settled(epochs) {
            return Ok(());
        }
        if let Some(old) = epochs.cleared()
            && !self.clear_epoch(user, old, epochs).await?
        {
            return Ok(());
        }
        self.epochs.begin_next(user, epochs).await
    }

    /// Gives positions to the conversations of an epoch that nobody writes to any more, and deletes the epoch.
    /// Returns whether that is complete.
    async fn clear_epoch(&self, user: UserId, epoch: u64, epochs: Known) -> Result<bool, StoreError> {
        for _ in 0..PLACING_ROUNDS_MAX {
            let mut old = self.activities(user, epoch).await?;
            if old.is_empty() {
                return Ok(true);
            }
            for newer in epoch + 1..=epochs.epoch {
                for conversation in self.activities(user, newer).await?.keys() {
                    old.remove(conversation);
                }
            }
            // A conversation that is not in the inbox needs no position: when it comes back, it is a recent one
            // first.
            let standings = self.standings(user, old).await?.into_iter();
            let unplaced: Vec<Standing> =
                standings.filter(|standing| standing.is_listed() && !standing.is_placed()).collect();
            if unplaced.is_empty() {
                self.cql
                    .write("clear an epoch", &self.statements.clear, (int(user.get()), int(epoch)))
                    .await?;
                return Ok(true);
            }
            for group in unplaced.chunks(PLACED_AT_ONCE_MAX) {
                self.place_group(user, group).await?;
            }
        }
        Ok(false)
    }

    async fn place_group(&self, user: UserId, group: &[Standing]) -> Result<(), StoreError> {
        let changes = group.iter().map(|standing| PositionChange {
            conversation: standing.conversation,
            seen: standing.membership.clone(),
            section: Section::of(&standing.membership.settings),
            at: standing.activity_at,
        });
        let (_, placed) = self.accounts.place(user, changes.collect()).await?;
        let moved = group.iter().zip(placed).filter_map(|(standing, place)| Some((standing, place?)));
        try_join_all(moved.map(|(standing, place)| self.settle(user, standing, place))).await?;
        Ok(())
    }

    /// Moves the row of a conversation to the position that its membership names.
    async fn settle(
        &self,
        user: UserId,
        standing: &Standing,
        place: InboxPosition,
    ) -> Result<(), StoreError> {
        let (user, id) = (int(user.get()), int(standing.conversation.get()));
        let values = (user, place.section.number(), place.at.as_millis(), id, int(place.version));
        self.cql.write("place an inbox row", &self.statements.put, values).await?;
        let before = standing.membership.place;
        if let Some(old) = before.filter(|old| (old.section, old.at) != (place.section, place.at)) {
            let values = (int(old.version), user, old.section.number(), old.at.as_millis(), id);
            self.cql.write("remove an inbox row", &self.statements.remove, values).await?;
        }
        Ok(())
    }

    /// Removes the row of a conversation that has lost its position. If that fails, the row stays behind and
    /// does not count.
    pub(super) async fn displace(
        &self,
        user: UserId,
        conversation: ConversationId,
        displaced: Displaced,
    ) -> Result<(), StoreError> {
        let Some(old) = displaced.place else { return Ok(()) };
        let (user, id) = (int(user.get()), int(conversation.get()));
        let values = (int(displaced.revision), user, old.section.number(), old.at.as_millis(), id);
        self.cql.write("remove an inbox row", &self.statements.remove, values).await
    }

    fn placing(&self) -> std::sync::MutexGuard<'_, HashSet<UserId>> {
        self.placing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
