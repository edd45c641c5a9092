//! Puts conversations into inboxes, moves them there, and takes them out.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use godwit_domain::model::{AccountEntry, AccountNote, Head};
use godwit_domain::ports::StoreError;
use godwit_domain::projection::Unlisting;
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};
use scylla::value::CqlValue;

use super::Inbox;
use crate::account::Listing;
use crate::cql::Batch;
use crate::values::{bigint, int};

/// One in 64 messages checks whether an inbox has too many recent conversations, so that this happens even for
/// a user who never reads the list.
const LOOK_ONCE_IN: u32 = 64;

/// The last message shown in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Activity {
    pub(crate) at: Timestamp,
    /// Zero if none was shown yet; `at` is then the time when the conversation was made.
    pub(crate) seq: Seq,
}

impl Activity {
    pub(crate) fn shown(head: &Head) -> Option<Self> {
        let last = head.last_message.as_ref()?;
        Some(Self { at: last.id.timestamp(), seq: last.seq })
    }

    pub(crate) fn of(head: &Head, created_at: Timestamp) -> Self {
        Self::shown(head).unwrap_or(Self { at: created_at, seq: Seq::ZERO })
    }
}

/// A conversation that enters inboxes with an entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListingChange {
    pub(crate) conversation: ConversationId,
    /// The time of the notes.
    pub(crate) at: Timestamp,
    /// The entry that it follows from.
    pub(crate) through: Seq,
    pub(crate) activity: Activity,
    /// The conversation is fanned out on read.
    pub(crate) apart: bool,
}

impl Inbox {
    /// Moves a conversation to the time of a message.
    pub(crate) async fn follow(
        self: &Arc<Self>,
        user: UserId,
        conversation: ConversationId,
        activity_at: Timestamp,
    ) -> Result<(), StoreError> {
        let at = activity_at.as_millis();
        let follow = |epoch| {
            let values = (at, at, int(user.get()), int(epoch), int(conversation.get()));
            self.cql.write("move an inbox row", &self.statements.follow, values)
        };
        self.epochs.write(user, follow).await?;
        if rand::random_ratio(1, LOOK_ONCE_IN) {
            self.place_later(user);
        }
        Ok(())
    }

    /// Puts a conversation into an inbox, unless it is already there.
    pub(crate) async fn list(
        self: &Arc<Self>,
        user: UserId,
        change: ListingChange,
        joined: bool,
    ) -> Result<Option<AccountEntry>, StoreError> {
        let ListingChange { conversation, at, through, activity, apart } = change;
        let known = self.accounts.memberships(user, &[conversation]).await?.remove(&conversation);
        if known.is_some_and(|known| known.listed && (!joined || known.through >= through)) {
            return Ok(None);
        }
        let listing = Listing { conversation, at, through, shown: activity.seq, apart, joined };
        if !apart {
            self.changes.enter(user, conversation, at).await?;
        }
        if apart {
            // Its row is not in the recent conversations, so nothing is written before.
            return self.accounts.list(user, listing, |_| async { Ok(()) }).await;
        }
        self.accounts.list(user, listing, self.doubting(user, conversation, Some(activity.at))).await
    }

    /// Takes a conversation out of an inbox, and removes its settings.
    pub(crate) async fn unlist(
        &self,
        conversation: ConversationId,
        at: Timestamp,
        unlisting: Unlisting,
    ) -> Result<Option<AccountEntry>, StoreError> {
        let gone = self.accounts.unlist(conversation, at, unlisting).await?;
        let Some((entry, displaced)) = gone else { return Ok(None) };
        self.displace(unlisting.user_id, conversation, displaced).await?;
        Ok(Some(entry))
    }

    /// Marks the conversation as fanned out on read, which it then stays.
    pub(crate) async fn cross(&self, user: UserId, change: ListingChange) -> Result<(), StoreError> {
        let ListingChange { conversation, through, .. } = change;
        match self.accounts.cross(user, conversation, through).await? {
            Some(displaced) => self.displace(user, conversation, displaced).await,
            None => Ok(()),
        }
    }

    /// Moves forward what a member has cleared. If `hides` is set, the conversation leaves the inbox.
    pub(crate) async fn clear(
        &self,
        user: UserId,
        conversation: ConversationId,
        cleared: Seq,
        hides: bool,
        note: AccountNote,
    ) -> Result<AccountEntry, StoreError> {
        let (entry, displaced) = self.accounts.clear(user, conversation, cleared, hides, note).await?;
        self.displace(user, conversation, displaced).await?;
        Ok(entry)
    }

    /// Makes a conversation a recent one, because its position is outdated at this revision. `activity_at` is
    /// given where the recent conversations may not know its activity yet.
    pub(crate) fn doubting(
        self: &Arc<Self>,
        user: UserId,
        conversation: ConversationId,
        activity_at: Option<Timestamp>,
    ) -> impl Fn(u64) -> BoxFuture<'static, Result<(), StoreError>> + Send + Sync + use<> {
        let this = self.clone();
        move |revision| {
            let this = this.clone();
            async move {
                let doubt = |epoch| {
                    let mut batch = Batch::new();
                    let row = || [user.get(), epoch, conversation.get()].map(bigint);
                    let [user, epoch, id] = row();
                    let version = [bigint(revision), bigint(revision)];
                    batch.write(&this.statements.doubt, [version.as_slice(), &[user, epoch, id]].concat());
                    if let Some(at) = activity_at {
                        let at = CqlValue::BigInt(at.as_millis());
                        let values = [[at.clone(), at].as_slice(), &row()].concat();
                        batch.write(&this.statements.follow, values);
                    }
                    this.cql.write_batch("move an inbox row", batch)
                };
                this.epochs.write(user, doubt).await
            }
            .boxed()
        }
    }
}
