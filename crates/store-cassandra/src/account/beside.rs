//! Rows outside the account partition that follow from accounts: the owner of a device, the users who may block
//! a user, and the times at which scheduled messages are due.
//!
//! The store writes such a row before it changes the account, and removes it after. So a row may be stale, but
//! none is ever missing. A reader that finds a row checks it against the account. A hidden message is stored
//! before the note about it.

use std::sync::Arc;

use futures_util::future::{BoxFuture, try_join_all};
use godwit_domain::account::AccountEffect;
use godwit_domain::ports::StoreError;
use godwit_protocol::{DeviceId, UserId};

use super::change::{Changed, Write};
use super::queue::Before;
use super::rows::{BLOCKER, Present};
use super::scheduled::due_item;
use super::statements::Statements;
use super::txn::encode;
use crate::cql::Cql;
use crate::due::{Due, DueItem, DueKind};
use crate::values::int;

#[derive(Debug)]
pub(super) struct Beside {
    pub(super) cql: Arc<Cql>,
    pub(super) statements: Arc<Statements>,
    pub(super) due: Arc<Due>,
}

type Written = BoxFuture<'static, Result<(), StoreError>>;

impl Beside {
    /// Returns the writes that must be durable before the account has these effects. They run again for every
    /// attempt.
    pub(super) fn before(self: &Arc<Self>, user: UserId, further: Option<Write>) -> Before<Changed> {
        let beside = self.clone();
        Box::new(move |changed, revision| {
            let further = further.iter().map(|write| write(revision));
            let written = changed.effects.iter().filter_map(|effect| beside.write(user, effect, revision));
            let all: Vec<Written> = further.chain(written).collect();
            Box::pin(async move { try_join_all(all).await.map(drop) })
        })
    }

    fn write(self: &Arc<Self>, user: UserId, effect: &AccountEffect, revision: u64) -> Option<Written> {
        let beside = self.clone();
        Some(match effect {
            AccountEffect::AddDevice(device) => {
                let id = device.id;
                Box::pin(async move { beside.note_owner(id, user).await })
            }
            AccountEffect::AddBlock(blocked) => {
                let blocked = *blocked;
                Box::pin(async move { beside.note_blocker(blocked, user).await })
            }
            AccountEffect::PutScheduled { after, .. } => {
                let item = due_item(after)?;
                Box::pin(async move { beside.due.put(DueKind::Scheduled, item, revision).await })
            }
            _ => return None,
        })
    }

    /// Removes the rows that an effect has made stale.
    pub(super) async fn after(&self, effect: &AccountEffect, revision: u64) -> Result<(), StoreError> {
        let was_due = match effect {
            AccountEffect::RemoveDevice(id) => {
                self.forget_owner(*id).await;
                None
            }
            AccountEffect::PutScheduled { before, after } => {
                let is_due = due_item(after);
                before.as_deref().and_then(due_item).filter(|item| is_due != Some(*item))
            }
            AccountEffect::RemoveScheduled(before) => due_item(before),
            _ => None,
        };
        match was_due {
            Some(item) => self.forget_due(item, revision).await,
            None => Ok(()),
        }
    }

    pub(super) async fn forget_due(&self, item: DueItem, revision: u64) -> Result<(), StoreError> {
        self.due.remove(DueKind::Scheduled, item, revision).await
    }

    async fn note_owner(&self, id: DeviceId, user: UserId) -> Result<(), StoreError> {
        let owner = (int(id.get()), int(user.get()));
        self.cql.write("create a device", &self.statements.put_device_owner, owner).await
    }

    /// A failure is only logged: an owner row without its device does no harm.
    async fn forget_owner(&self, id: DeviceId) {
        let removed =
            self.cql.write("forget a device", &self.statements.remove_device_owner, (int(id.get()),));
        if let Err(error) = removed.await {
            tracing::debug!(device = %id, %error, "left a device owner row without its device");
        }
    }

    /// Notes in the account of `user` that `by` may block them. The note is never removed, so a missing note
    /// proves that there is no block. The account of `by` says whether the block still exists.
    async fn note_blocker(&self, user: UserId, by: UserId) -> Result<(), StoreError> {
        let row = (int(user.get()), BLOCKER, int(by.get()), encode(&Present {}));
        self.cql.write("note who blocks a user", &self.statements.put, row).await
    }
}
