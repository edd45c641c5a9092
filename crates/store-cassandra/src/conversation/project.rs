//! The projection of a log: everything that follows from its entries, written after they are appended.
//!
//! ```text
//! append ──▶ project ──▶ acknowledge ──▶ raise the watermark (later, in a batch)
//!              │
//!              1 independent writes, in any order: indexes, cursors, members, reactions, replies, expiries, invites,
//!              │   the activity of inboxes, the order of change
//!              2 inboxes: put the conversation into them, take it out, with notes in account logs
//!              3 details, then message states     (each says through which entry it goes)
//!              4 erase the content of deleted messages, which their states name
//! ```
//!
//! **Every write is idempotent**, and commutes with the writes of another node that projects the same or later entries: a write
//! carries its `seq` as the timestamp, so the latest wins, or it always says the same.
//!
//! **Recovery.** A node that dies between append and acknowledgement leaves a watermark below the head. The next node that
//! [loads](super::load) the conversation projects the entries in between again.
//!
//! **The order of the steps matters for recovery.** Details and message states have a mark, `through`: the last entry that they
//! include. Recovery does not fold an entry into a state again that includes it, and so makes no writes of steps 1 and 2 from
//! that state. Steps 1 and 2 therefore come first: when a state includes an entry, their writes for this entry are complete.

use std::collections::HashSet;

use futures_util::future::{BoxFuture, FutureExt, try_join};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use godwit_domain::model::{AccountEntry, Change, Entry, FanOut, Member};
use godwit_domain::ports::StoreError;
use godwit_domain::projection::{Effects, MemberWrite};
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};

use super::buckets::BucketStart;
use super::cursors::Passed;
use super::members::Unlisted;
use super::{Conversations, expiries};
use crate::inbox::{Activity, ListingChange};

/// Concurrent writes of one projection.
const WRITES_AT_ONCE_MAX: usize = 128;
/// Accounts changed concurrently.
const ACCOUNTS_AT_ONCE_MAX: usize = 32;

/// Entries that have been appended, with everything that follows from them.
#[derive(Debug)]
pub(super) struct Projection<'a> {
    pub(super) conversation: ConversationId,
    /// Set if the entries begin a bucket.
    pub(super) begun: Option<BucketStart>,
    pub(super) entries: &'a [Entry],
    pub(super) effects: &'a Effects,
    /// The last activity, of these entries or of later ones.
    pub(super) activity: Activity,
    /// The fan-out after these entries.
    pub(super) fan_out: FanOut,
}

type Writes<'a> = Vec<BoxFuture<'a, Result<(), StoreError>>>;

/// An entry written to an account log, with its user.
type Noted = Option<(UserId, AccountEntry)>;

impl<'a> Projection<'a> {
    /// The last of the entries: the version of everything that follows from them.
    fn through(&self) -> Seq {
        self.entries.last().map_or(Seq::ZERO, |entry| entry.seq)
    }

    fn at(&self) -> Timestamp {
        self.entries.last().map_or(self.activity.at, Entry::at)
    }

    /// The users who became members by these entries, and still are after them.
    pub(super) fn joined(&self) -> HashSet<UserId> {
        let mut joined = HashSet::new();
        for entry in self.entries {
            match &entry.change {
                Change::Created(created) => joined.extend(&created.member_ids),
                Change::MembersAdded { user_ids, .. } => joined.extend(user_ids),
                Change::MemberJoined { user_id, .. } => drop(joined.insert(*user_id)),
                change => {
                    if let Some(user) = change.departed() {
                        joined.remove(&user);
                    }
                }
            }
        }
        joined
    }

    fn put_members(&self) -> impl Iterator<Item = &'a Member> {
        self.effects.members.iter().filter_map(|write| match write {
            MemberWrite::Put(member) => Some(member),
            MemberWrite::Remove(_) => None,
        })
    }
}

impl Conversations {
    /// Does all steps, and returns the notes that it wrote to account logs.
    pub(super) async fn project(
        &self,
        projection: &Projection<'_>,
    ) -> Result<Vec<(UserId, AccountEntry)>, StoreError> {
        let joined = projection.joined();
        let unlisted = self.write_plain(projection, &joined).await?;
        let notes = self.change_inboxes(projection, &joined, &unlisted).await?;
        self.write_details(projection).await?;
        self.write_states(projection).await?;
        self.erase_content(projection).await?;
        Ok(notes)
    }

    /// Step 1. Returns the members in whose inbox the conversation is not, as read after the entries were appended.
    pub(super) async fn write_plain(
        &self,
        projection: &Projection<'_>,
        joined: &HashSet<UserId>,
    ) -> Result<Unlisted, StoreError> {
        let writes = at_once(self.plain_writes(projection, joined));
        Ok(try_join(self.unlisted(projection), writes).await?.0)
    }

    pub(super) async fn write_details(&self, projection: &Projection<'_>) -> Result<(), StoreError> {
        let Some(details) = &projection.effects.details else { return Ok(()) };
        if details.fan_out == FanOut::OnRead {
            self.marking().fan_out_on_read(projection.conversation).await?;
        }
        self.about().write(projection.conversation, details).await
    }

    pub(super) async fn write_states(&self, projection: &Projection<'_>) -> Result<(), StoreError> {
        let (id, states) = (projection.conversation, self.states());
        let messages = projection.effects.messages.iter();
        at_once(messages.map(|(seq, state)| states.write(id, *seq, state).boxed()).collect()).await
    }

    pub(super) async fn erase_content(&self, projection: &Projection<'_>) -> Result<(), StoreError> {
        let erase = &projection.effects.erase;
        if erase.is_empty() {
            return Ok(());
        }
        self.erasing().erase(projection.conversation, erase).await
    }

    /// The members in whose inbox the conversation is not, read if these entries may bring it back to some of them.
    async fn unlisted(&self, projection: &Projection<'_>) -> Result<Unlisted, StoreError> {
        let Effects { follow, list, .. } = projection.effects;
        if follow.is_empty() && list.is_empty() {
            return Ok(Unlisted::new());
        }
        self.members().unlisted(projection.conversation).await
    }

    fn plain_writes<'a>(&'a self, projection: &Projection<'a>, joined: &HashSet<UserId>) -> Writes<'a> {
        let Projection { conversation: id, entries, effects, activity, .. } = *projection;
        let through = projection.through();
        let mut writes: Writes<'a> = Vec::new();
        writes.extend(projection.begun.map(|start| self.marking().begin_bucket(id, start).boxed()));
        for entry in entries {
            if entry.shown {
                writes.push(self.finding().index_id(id, entry).boxed());
            }
            if entry.message().is_some() {
                writes.push(self.finding().index_client_id(id, entry).boxed());
            }
        }
        let cursors = self.cursors();
        writes.extend(effects.cursors.iter().map(|by| cursors.write(*by, Passed::both(by.cursor)).boxed()));
        if !effects.members.is_empty() {
            writes.push(self.members().write(id, &effects.members, through).boxed());
        }
        let unlisted =
            projection.put_members().filter(|member| member.unlisted && joined.contains(&member.user_id));
        writes.extend(
            unlisted.map(|member| self.members().set_unlisted(id, member.user_id, through, through).boxed()),
        );
        let reactions = self.reactions();
        writes.extend(effects.reactions.iter().map(|write| reactions.write(id, write, through).boxed()));
        writes.extend(effects.replies.iter().map(|reply| self.threads().write(id, *reply).boxed()));
        writes.extend(effects.expiries.iter().map(|expiry| expiries::put(&self.due, id, *expiry).boxed()));
        let invites = self.invites();
        writes.extend(effects.invites.iter().map(|write| invites.write(id, entries, write).boxed()));
        if !effects.touch.is_empty() {
            let touch = self.inbox.touch(id, projection.at(), &effects.touch);
            writes.push(touch.map(|touched| touched.map(drop)).boxed());
        }
        writes.extend(effects.follow.iter().map(|user| self.inbox.follow(*user, id, activity.at).boxed()));
        writes
    }

    /// Step 2. It follows step 1, so that a user who learns of a conversation can load it.
    pub(super) async fn change_inboxes(
        &self,
        projection: &Projection<'_>,
        joined: &HashSet<UserId>,
        unlisted: &Unlisted,
    ) -> Result<Vec<(UserId, AccountEntry)>, StoreError> {
        let Projection { conversation, effects, activity, fan_out, .. } = *projection;
        let change = ListingChange {
            conversation,
            at: projection.at(),
            through: projection.through(),
            activity,
            apart: fan_out == FanOut::OnRead,
        };
        let listed: HashSet<UserId> = effects.list.iter().copied().collect();
        // Also users who cleared the conversation after the effects were decided.
        let comes_back = |user: &&UserId| {
            !listed.contains(user) && unlisted.get(user).is_some_and(|through| *through < activity.seq)
        };
        let returning = effects.follow.iter().filter(comes_back);
        let mut changes: Vec<BoxFuture<'_, Result<Noted, StoreError>>> = Vec::new();
        for user in effects.list.iter().chain(returning).copied() {
            let has_joined = joined.contains(&user);
            let was_unlisted = unlisted.contains_key(&user);
            changes.push(self.list(user, change, has_joined, was_unlisted).boxed());
        }
        for user in effects.cross.iter().filter(|user| !listed.contains(user)).copied() {
            changes.push(self.inbox.cross(user, change).map(|crossed| crossed.map(|()| None)).boxed());
        }
        for unlisting in effects.unlist.iter().copied() {
            let gone = self.inbox.unlist(conversation, change.at, unlisting);
            changes.push(gone.map(move |gone| Ok(gone?.map(|entry| (unlisting.user_id, entry)))).boxed());
        }
        stream::iter(changes)
            .buffered(ACCOUNTS_AT_ONCE_MAX)
            .try_filter_map(|note| async move { Ok(note) })
            .try_collect()
            .await
    }

    /// Puts the conversation into an inbox, and then clears the mark that it is not there.
    pub(super) async fn list(
        &self,
        user: UserId,
        change: ListingChange,
        has_joined: bool,
        was_unlisted: bool,
    ) -> Result<Noted, StoreError> {
        let entry = self.inbox.list(user, change, has_joined).await?;
        if was_unlisted {
            let at = if has_joined { change.through } else { change.activity.seq };
            self.members().set_unlisted(change.conversation, user, Seq::ZERO, at).await?;
        }
        Ok(entry.map(|entry| (user, entry)))
    }
}

async fn at_once(writes: Writes<'_>) -> Result<(), StoreError> {
    stream::iter(writes).buffer_unordered(WRITES_AT_ONCE_MAX).try_collect().await
}

/// The fan-out of a conversation after these effects. It matters only to effects that list or follow users. Such effects
/// change the details, or come from a conversation that is fanned out on write.
pub(super) fn fan_out_after(effects: &Effects) -> FanOut {
    effects.details.as_ref().map_or(FanOut::OnWrite, |details| details.fan_out)
}
