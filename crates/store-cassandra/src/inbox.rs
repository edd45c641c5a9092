//! The inbox: exact order, and no tombstones however much is sent.
//!
//! The obvious table, with the time of the last activity in the key, deletes and inserts a row per message and member. So
//! the list is in two parts:
//!
//! - `inbox_recent` has the conversations that moved last, in no order, with their activity. A message overwrites a cell.
//! - `inbox_order` has the others, at their places. A row counts only if the membership says that it stands there.
//!
//! A page takes all of the first (they are few), and from the second what comes next in order, without those of the first.
//! Only when the first part has grown too long a new *epoch* of it begins, and the conversations that were not heard of
//! since an earlier one are given places in the second: one that is always busy never moves, and most people have nothing
//! in the second part at all. Partitions of old epochs are deleted as a whole, so nobody ever reads a tombstone of theirs.
//!
//! A conversation goes to its place in this order: the membership is told the place (compare-and-set), the row is
//! written, and last it leaves the recent ones. It comes back by being written there first. So whoever reads the recent
//! ones first and the order after it finds it in one of them, also after a crash at any point. All writes carry versions as
//! timestamps rather than times, so that clocks that disagree do no harm.

#[cfg(test)]
mod cassandra;
mod epochs;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures_util::future::{BoxFuture, FutureExt, try_join_all};
use godwit_domain::model::{AccountEntry, AccountNote, Settings, SettingsChange};
use godwit_domain::ports::{ActivityPosition, InboxPosition, InboxRow, InboxStore, StoreError};
use godwit_protocol::{ConversationId, Timestamp, UserId};
use scylla::errors::PrepareError;

use crate::CassandraStore;
use crate::accounts::{Accounts, Membership, Place, PlaceChange, Section};
use crate::cql::{Cql, Read, Write};
use crate::values::int;

pub use epochs::EpochTerms;
use epochs::{Epochs, Known};

/// One in so many messages looks whether the recent ones of its readers have become too many, so that they do also for
/// somebody who never looks at the list.
const LOOK_ONCE_IN: u32 = 64;
/// How often places are given to conversations of an epoch that is cleared, before the next one who looks has to go on.
const PLACING_ROUNDS_MAX: usize = 8;
/// Conversations that are given places at once.
const PLACED_AT_ONCE_MAX: usize = 64;

#[derive(Debug)]
pub(crate) struct Inbox {
    cql: Arc<Cql>,
    accounts: Arc<Accounts>,
    epochs: Epochs,
    statements: Statements,
    /// Recent conversations of one user in one epoch.
    recent_max: usize,
    /// Users whose recent conversations are being placed.
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

/// Recent conversations, and when something was last said in them, unless they are there for another reason.
type Activities = HashMap<ConversationId, Option<Timestamp>>;

/// A conversation of a user, and where it stands.
#[derive(Debug, Clone, Copy)]
struct Standing {
    conversation: ConversationId,
    membership: Membership,
    activity_at: Timestamp,
}

impl Standing {
    const fn row(self) -> InboxRow {
        InboxRow {
            conversation: self.conversation,
            settings: self.membership.settings,
            activity_at: self.activity_at,
        }
    }

    const fn position(self) -> ActivityPosition {
        ActivityPosition { at: self.activity_at, conversation: self.conversation }
    }

    /// Whether it stands where it belongs.
    fn is_placed(&self) -> bool {
        let section = Section::of(self.membership.settings);
        self.membership.place.is_some_and(|place| place.section == section && place.at >= self.activity_at)
    }

    fn is_in(&self, section: Section) -> bool {
        self.membership.listed && Section::of(self.membership.settings) == section
    }
}

impl Inbox {
    pub(crate) async fn new(
        cql: Arc<Cql>,
        accounts: Arc<Accounts>,
        recent_max: usize,
        terms: EpochTerms,
    ) -> Result<Self, PrepareError> {
        let statements = Statements::prepare(&cql).await?;
        let epochs = Epochs::new(cql.clone(), terms).await?;
        Ok(Self { cql, accounts, epochs, statements, recent_max, placing: Mutex::default() })
    }

    /// Something was said in a conversation.
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

    /// Puts a conversation into an inbox, unless it is there.
    pub(crate) async fn list(
        self: &Arc<Self>,
        user: UserId,
        conversation: ConversationId,
        activity_at: Timestamp,
        at: Timestamp,
    ) -> Result<Option<AccountEntry>, StoreError> {
        let listed = self.accounts.memberships(user, &[conversation]).await?;
        if listed.get(&conversation).is_some_and(|membership| membership.listed) {
            return Ok(None);
        }
        self.follow(user, conversation, activity_at).await?;
        self.accounts.list(user, conversation, at, self.doubting(user, conversation)).await
    }

    /// Makes a conversation one of the recent ones, because with this revision its place will not be right any more.
    fn doubting(
        self: &Arc<Self>,
        user: UserId,
        conversation: ConversationId,
    ) -> impl Fn(u64) -> BoxFuture<'static, Result<(), StoreError>> + Send + Sync + use<> {
        let this = self.clone();
        move |revision| {
            let this = this.clone();
            async move {
                let doubt = |epoch| {
                    let revision = int(revision);
                    let values = (revision, revision, int(user.get()), int(epoch), int(conversation.get()));
                    this.cql.write("move an inbox row", &this.statements.doubt, values)
                };
                this.epochs.write(user, doubt).await
            }
            .boxed()
        }
    }

    /// The latest of several sections, those after a position.
    async fn sections(
        &self,
        user: UserId,
        recent: &[Standing],
        sections: &[Section],
        floor: Timestamp,
        after: Option<ActivityPosition>,
        limit: usize,
    ) -> Result<Vec<InboxRow>, StoreError> {
        let ordered =
            sections.iter().map(|section| self.ordered(user, recent, *section, floor, after, limit));
        let mut rows: Vec<Standing> = try_join_all(ordered).await?.into_iter().flatten().collect();
        let in_range = |standing: &&Standing| {
            sections.iter().any(|section| standing.is_in(*section))
                && standing.activity_at >= floor
                && after.is_none_or(|after| standing.position() < after)
        };
        rows.extend(recent.iter().filter(in_range));
        rows.sort_unstable_by_key(|standing| std::cmp::Reverse(standing.position()));
        rows.truncate(limit);
        Ok(rows.into_iter().map(Standing::row).collect())
    }

    /// The recent ones, whatever their sections. To be read before the order.
    async fn recent(self: &Arc<Self>, user: UserId) -> Result<Vec<Standing>, StoreError> {
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
        let memberships = self.accounts.memberships(user, &ids).await?;
        let standing = |(conversation, activity_at): (ConversationId, Option<Timestamp>)| {
            let membership = memberships.get(&conversation).copied().unwrap_or_default();
            let activity_at = activity_at.max(membership.place.map(|place| place.at));
            // One without either is not listed, and nothing was said in it.
            Some(Standing { conversation, membership, activity_at: activity_at? })
        };
        Ok(activities.into_iter().filter_map(standing).collect())
    }

    /// The next of one section that stand at their places, and are not among the recent ones.
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
            let memberships: HashMap<_, _> = self.accounts.memberships(user, &ids).await?;
            found.extend(positions.into_iter().filter_map(|ActivityPosition { at, conversation }| {
                let membership = *memberships.get(&conversation)?;
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

    /// Begins an epoch if this one is full, in the background.
    fn place_later(self: &Arc<Self>, user: UserId) {
        if !self.placing().insert(user) {
            return;
        }
        let this = Arc::clone(self);
        tokio::spawn(async move {
            if let Err(error) = this.begin_epoch(user).await {
                tracing::debug!(%user, %error, "recent conversations were not placed, the next to look does it");
            }
            this.placing().remove(&user);
        });
    }

    async fn begin_epoch(&self, user: UserId) -> Result<(), StoreError> {
        let epochs = self.epochs.current(user).await?;
        let is_full = self.activities(user, epochs.epoch).await?.len() > self.recent_max;
        if !is_full || !self.epochs.is_settled(epochs) {
            return Ok(());
        }
        if let Some(old) = epochs.cleared()
            && !self.clear(user, old, epochs).await?
        {
            return Ok(());
        }
        self.epochs.begin_next(user, epochs).await
    }

    /// Gives places to the conversations of an epoch, and deletes it. Nobody writes to it any more. Says whether it is done.
    async fn clear(&self, user: UserId, epoch: u64, epochs: Known) -> Result<bool, StoreError> {
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
            let standings = self.standings(user, old).await?;
            let unplaced: Vec<Standing> =
                standings.into_iter().filter(|standing| !standing.is_placed()).collect();
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
        let changes = group.iter().map(|standing| PlaceChange {
            conversation: standing.conversation,
            seen: standing.membership,
            section: Section::of(standing.membership.settings),
            at: standing.activity_at,
        });
        let (_, placed) = self.accounts.place(user, changes.collect()).await?;
        let moved = group.iter().zip(placed).filter_map(|(standing, place)| Some((standing, place?)));
        try_join_all(moved.map(|(standing, place)| self.settle(user, standing, place))).await?;
        Ok(())
    }

    /// Brings the row of a conversation to where its membership says that it stands now.
    async fn settle(&self, user: UserId, standing: &Standing, place: Place) -> Result<(), StoreError> {
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

    fn placing(&self) -> std::sync::MutexGuard<'_, HashSet<UserId>> {
        self.placing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl InboxStore for CassandraStore {
    async fn inbox(
        &self,
        user: UserId,
        archived: bool,
        after: Option<InboxPosition>,
        limit: usize,
    ) -> Result<Vec<InboxRow>, StoreError> {
        let epoch = Timestamp::from_millis(0);
        let mut rows = Vec::new();
        let recent = self.inbox.recent(user).await?;
        for pinned in [true, false] {
            let after = match after {
                Some(after) if after.pinned && !pinned => None,
                Some(after) if !after.pinned && pinned => continue,
                after => after.map(|after| after.activity),
            };
            let section = Section::of(Settings { pinned, archived, ..Settings::default() });
            let left = limit - rows.len();
            if left > 0 {
                rows.extend(self.inbox.sections(user, &recent, &[section], epoch, after, left).await?);
            }
        }
        Ok(rows)
    }

    async fn active_since(
        &self,
        user: UserId,
        floor: Timestamp,
        after: Option<ActivityPosition>,
        limit: usize,
    ) -> Result<Vec<InboxRow>, StoreError> {
        let recent = self.inbox.recent(user).await?;
        self.inbox.sections(user, &recent, &Section::ALL, floor, after, limit).await
    }

    async fn settings(&self, user: UserId, conversation: ConversationId) -> Result<Settings, StoreError> {
        let memberships = self.inbox.accounts.memberships(user, &[conversation]).await?;
        Ok(memberships.get(&conversation).map(|membership| membership.settings).unwrap_or_default())
    }

    async fn change_settings(
        &self,
        user: UserId,
        conversation: ConversationId,
        change: SettingsChange,
        note: AccountNote,
    ) -> Result<(Settings, AccountEntry), StoreError> {
        let doubt = self.inbox.doubting(user, conversation);
        self.accounts.change_settings(user, conversation, change, note, doubt).await
    }

    async fn account_log(
        &self,
        user: UserId,
        after: u64,
        limit: usize,
    ) -> Result<Option<Vec<AccountEntry>>, StoreError> {
        self.accounts.account_log(user, after, limit).await
    }

    async fn account_head(&self, user: UserId) -> Result<u64, StoreError> {
        self.accounts.account_head(user).await
    }
}
