//! How far ids go.

use std::collections::HashMap;

use godwit_domain::ports::{Moving, StoreError};
use uuid::Uuid;

use super::Rounds;

impl Rounds {
    /// A lease says up to where its holder may go, which is minutes ahead of the clock. While writes are held those who
    /// follow say how far they went. Without that the store that everything is moved to would begin minutes ahead.
    pub(crate) async fn highest_id(&self) -> Result<u64, StoreError> {
        let state = self.ledger.settled().await?;
        let mut last_of = HashMap::<Uuid, u64>::new();
        if matches!(state.moving, Moving::Held { .. } | Moving::Gone { .. }) {
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
