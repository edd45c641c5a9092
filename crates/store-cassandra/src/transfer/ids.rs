//! The highest id that has been given out.

use std::collections::HashMap;

use godwit_domain::ports::{StoreError, TransferState};
use uuid::Uuid;

use super::Rounds;

impl Rounds {
    /// The ceiling of a lease is minutes ahead of the clock. While writes are held, the processes that follow
    /// the round report the highest ids that they have given out, which are used instead. With the ceilings,
    /// the ids of the target store would begin minutes ahead.
    pub(crate) async fn highest_id(&self) -> Result<u64, StoreError> {
        let state = self.ledger.settled().await?;
        let mut last_of = HashMap::<Uuid, u64>::new();
        if matches!(state.transfer, TransferState::Held { .. } | TransferState::Gone { .. }) {
            let present = self.ledger.servers.all().await?.into_iter().map(|present| present.standing);
            let following = present.filter(|standing| standing.round >= state.round);
            last_of.extend(following.map(|standing| (standing.ids.lease, standing.ids.last)));
        }
        let (leases, beginning) = self.ledger.lease.all().await?;
        let reached = leases.into_iter().map(|lease| {
            let last = lease.owner.and_then(|owner| last_of.get(&owner).copied());
            last.or(lease.ceiling).unwrap_or(0)
        });
        Ok(reached.fold(beginning, u64::max))
    }
}
