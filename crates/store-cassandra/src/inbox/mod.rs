//! The inbox: in exact order, and without tombstones however much is sent.
//!
//! The obvious table, with the time of the last activity in the key, would delete and insert a row per message
//! and member. So the inbox has two parts:
//!
//! - `inbox_recent` has the conversations that moved last, unordered, with their activity. A message overwrites
//!   a cell.
//! - `inbox_order` has the others, ordered. A row counts only if the membership names its position.
//!
//! A page merges all of the first part, which is short, with the next rows of the second part that are not in
//! the first. When the first part has grown too long, a new *epoch* of it begins, and conversations without
//! activity since an earlier epoch get positions in the second part. A busy conversation never moves there, and
//! most users have nothing in the second part at all. Partitions of old epochs are deleted as a whole, so no
//! read meets their tombstones.
//!
//! `inbox_changes` is the order of change, see [`changes`].
//!
//! A conversation goes to the second part in this order: the membership gets the position by compare-and-set,
//! the row is written, and the conversation leaves the first part. It comes back by a write to the first part.
//! A reader that reads the first part before the second finds the conversation in one of them, even after a
//! crash at any point. All writes use versions as timestamps instead of times, so clocks that differ do no
//! harm.

mod changes;
mod epochs;
mod listing;
#[cfg(test)]
mod on_cassandra;
mod placing;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex};

use futures_util::future::try_join_all;
use godwit_domain::ports::{ActivityPosition, InboxRow, StoreError, UnorderedRow};
use godwit_protocol::{ConversationId, Timestamp, UserId};
use scylla::errors::PrepareError;

use crate::account::{Accounts, Membership, Section};
use crate::cql::{Cql, Read, Write};
use crate::options::EpochTerms;
use crate::transfer::Gate;
use crate::values::int;

use changes::Changes;
use epochs::Epochs;
pub(crate) use listing::{Activity, ListingChange};

#[derive(Debug)]
pub(crate) struct Inbox {
    cql: Arc<Cql>,
    accounts: Arc<Accounts>,
    gate: Arc<Gate>,
    epochs: Epochs,
    statements: Statements,
    changes: Changes,
    /// Recent conversations per user and epoch.
    recent_max: usize,
    /// Users whose recent conversations get positions at present.
    placing: Mutex<HashSet<UserId>>,
}

#[derive(Debug)]
struct Statements {
    recent: Read,
    follow: Write,
    doubt: Write,
    clear: Write,
    order: Read,
    order_after: Read,
    put: Write,
    remove: Write,
}

impl Statements {
    async fn prepare(cql: &Cql) -> Result<Self, PrepareError> {
        let recent = "WHERE user_id = ? AND epoch = ? AND conversation_id = ?";
        let order = "SELECT activity_at, conversation_id FROM inbox_order WHERE user_id = ? AND section = ?";
        Ok(Self {
            recent: cql
                .prepare_read("SELECT conversation_id, activity_at FROM inbox_recent WHERE user_id = ? AND epoch = ?")
                .await?,
            follow: cql
                .prepare_write(&format!("UPDATE inbox_recent USING TIMESTAMP ? SET activity_at = ? {recent}"))
                .await?,
            doubt: cql
                .prepare_write(&format!("UPDATE inbox_recent USING TIMESTAMP ? SET revision = ? {recent}"))
                .await?,
            clear: cql.prepare_write("DELETE FROM inbox_recent WHERE user_id = ? AND epoch = ?").await?,
            order: cql.prepare_read(&format!("{order} AND activity_at >= ? LIMIT ?")).await?,
            order_after: cql
                .prepare_read(&format!(
                    "{order} AND (activity_at, conversation_id) < (?, ?) AND (activity_at) >= (?) LIMIT ?"
                ))
                .await?,
            put: cql
                .prepare_write(
                    "INSERT INTO inbox_order (user_id, section, activity_at, conversation_id) VALUES (?, ?, ?, ?) \
                     USING TIMESTAMP ?",
                )
                .await?,
            remove: cql
                .prepare_write(
                    "DELETE FROM inbox_order USING TIMESTAMP ? \
                     WHERE user_id = ? AND section = ? AND activity_at = ? AND conversation_id = ?",
                )
                .await?,
        })
    }
}

/// Recent conversations with the time of their last message. `None` if a conversation is recent for another
/// reason.
type Activities = HashMap<ConversationId, Option<Timestamp>>;

/// A conversation in a user's inbox, with its activity.
#[derive(Debug, Clone)]
pub(crate) struct Standing {
    conversation: ConversationId,
    membership: Membership,
    activity_at: Timestamp,
}

impl Standing {
    fn into_row(self) -> InboxRow {
        InboxRow {
            conversation: self.conversation,
            settings: self.membership.settings,
            activity_at: self.activity_at,
        }
    }

    const fn position(&self) -> ActivityPosition {
        ActivityPosition { at: self.activity_at, conversation: self.conversation }
    }

    /// Whether it is in the ordered inbox.
    const fn is_listed(&self) -> bool {
        self.membership.listed && !self.membership.apart
    }

    /// Whether its position is right.
    fn is_placed(&self) -> bool {
        let section = Section::of(&self.membership.settings);
        self.membership.place.is_some_and(|place| place.section == section && place.at >= self.activity_at)
    }

    fn is_in(&self, section: Section) -> bool {
        self.is_listed() && Section::of(&self.membership.settings) == section
    }
}

impl Inbox {
    pub(crate) async fn new(
        cql: Arc<Cql>,
        accounts: Arc<Accounts>,
        recent_max: usize,
        terms: EpochTerms,
        gate: Arc<Gate>,
    ) -> Result<Self, PrepareError> {
        let statements = Statements::prepare(&cql).await?;
        let epochs = Epochs::new(cql.clone(), terms).await?;
        let changes = Changes::new(cql.clone()).await?;
        Ok(Self { cql, accounts, gate, epochs, statements, changes, recent_max, placing: Mutex::default() })
    }

    /// The newest conversations of several sections, after a position.
    pub(crate) async fn sections(
        &self,
        user: UserId,
        recent: &[Standing],
        sections: &[Section],
        floor: Timestamp,
        after: Option<ActivityPosition>,
        limit: usize,
    ) -> Result<Vec<InboxRow>, StoreError> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let ordered =
            sections.iter().map(|section| self.ordered(user, recent, *section, floor, after, limit));
        let mut rows: Vec<Standing> = try_join_all(ordered).await?.into_iter().flatten().collect();
        let in_range = |standing: &&Standing| {
            sections.iter().any(|section| standing.is_in(*section))
                && standing.activity_at >= floor
                && after.is_none_or(|after| standing.position() < after)
        };
        rows.extend(recent.iter().filter(in_range).cloned());
        rows.sort_unstable_by_key(|standing| std::cmp::Reverse(standing.position()));
        rows.truncate(limit);
        Ok(rows.into_iter().map(Standing::into_row).collect())
    }

    pub(crate) async fn apart(&self, user: UserId) -> Result<Vec<UnorderedRow>, StoreError> {
        let conversations = self.accounts.apart(user).await?;
        let mut memberships = self.accounts.memberships(user, &conversations).await?;
        let row = |conversation| {
            let membership = memberships.remove(&conversation).filter(|membership| membership.apart)?;
            Some(UnorderedRow { conversation, settings: membership.settings })
        };
        Ok(conversations.into_iter().filter_map(row).collect())
    }

    /// The recent conversations of all sections. Must be read before the ordered part.
    pub(crate) async fn recent(self: &Arc<Self>, user: UserId) -> Result<Vec<Standing>, StoreError> {
        let epochs = self.epochs.current(user).await?;
        let read = epochs.read().map(|epoch| self.activities(user, epoch));
        let by_epoch = try_join_all(read).await?;
        if by_epoch.last().is_some_and(|current| current.len() > self.recent_max) {
            self.place_later(user);
        }
        let mut activities = HashMap::new();
        for (conversation, activity_at) in by_epoch.into_iter().flatten() {
            let newest = activities.entry(conversation).or_default();
            *newest = activity_at.max(*newest);
        }
        self.standings(user, activities).await
    }

    async fn activities(&self, user: UserId, epoch: u64) -> Result<Activities, StoreError> {
        let values = (int(user.get()), int(epoch));
        let rows: Vec<(i64, Option<i64>)> =
            self.cql.rows("read an inbox", &self.statements.recent, values).await?;
        let activity = |(id, at): (i64, Option<i64>)| {
            (ConversationId::new(id.cast_unsigned()), at.map(Timestamp::from_millis))
        };
        Ok(rows.into_iter().map(activity).collect())
    }

    async fn standings(&self, user: UserId, activities: Activities) -> Result<Vec<Standing>, StoreError> {
        let ids: Vec<ConversationId> = activities.keys().copied().collect();
        let mut memberships = self.accounts.memberships(user, &ids).await?;
        let standing = |(conversation, activity_at): (ConversationId, Option<Timestamp>)| {
            let membership = memberships.remove(&conversation).unwrap_or_default();
            let activity_at = activity_at.max(membership.place.map(|place| place.at));
            // A conversation without either time is not listed, and has no message.
            Some(Standing { conversation, membership, activity_at: activity_at? })
        };
        Ok(activities.into_iter().filter_map(standing).collect())
    }

    /// The next conversations of one section in the ordered part that are not recent ones.
    async fn ordered(
        &self,
        user: UserId,
        recent: &[Standing],
        section: Section,
        floor: Timestamp,
        after: Option<ActivityPosition>,
        limit: usize,
    ) -> Result<Vec<Standing>, StoreError> {
        let recent: BTreeSet<ConversationId> = recent.iter().map(|standing| standing.conversation).collect();
        let (mut found, mut after) = (Vec::with_capacity(limit), after);
        loop {
            let positions = self.positions(user, section, floor, after, limit).await?;
            let is_last = positions.len() < limit;
            after = positions.last().copied().or(after);
            let ids: Vec<ConversationId> = positions.iter().map(|position| position.conversation).collect();
            let mut memberships = self.accounts.memberships(user, &ids).await?;
            found.extend(positions.into_iter().filter_map(|ActivityPosition { at, conversation }| {
                let membership = memberships.remove(&conversation)?;
                let stands = membership.place.is_some_and(|place| place.section == section && place.at == at);
                let standing = Standing { conversation, membership, activity_at: at };
                (stands && standing.is_in(section) && !recent.contains(&conversation)).then_some(standing)
            }));
            if is_last || found.len() >= limit {
                found.truncate(limit);
                return Ok(found);
            }
        }
    }

    async fn positions(
        &self,
        user: UserId,
        section: Section,
        floor: Timestamp,
        after: Option<ActivityPosition>,
        limit: usize,
    ) -> Result<Vec<ActivityPosition>, StoreError> {
        let (user, floor) = (int(user.get()), floor.as_millis());
        let limit = i32::try_from(limit).unwrap_or(i32::MAX);
        let rows: Vec<(i64, i64)> = match after {
            None => {
                let values = (user, section.number(), floor, limit);
                self.cql.rows("read an inbox", &self.statements.order, values).await?
            }
            Some(ActivityPosition { at, conversation }) => {
                let values = (user, section.number(), at.as_millis(), int(conversation.get()), floor, limit);
                self.cql.rows("read an inbox", &self.statements.order_after, values).await?
            }
        };
        Ok(rows
            .into_iter()
            .map(|(at, id)| ActivityPosition {
                at: Timestamp::from_millis(at),
                conversation: ConversationId::new(id.cast_unsigned()),
            })
            .collect())
    }
}
