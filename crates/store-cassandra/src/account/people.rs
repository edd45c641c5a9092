//! The search index of users, by prefixes of the words of their profiles.
//!
//! Every prefix of every word has a row, so a search reads one range. Rows are written before the profile and
//! removed after it, and a reader checks each row against the profile, so rows left by a crash are skipped. The
//! timestamp of a row is the revision of the account: a late removal does not undo the addition of a newer
//! profile.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::try_join_all;
use futures_util::{StreamExt, TryStreamExt, stream};
use godwit_domain::model::{SearchPrefix, User};
use godwit_domain::ports::StoreError;
use godwit_protocol::UserId;
use scylla::errors::PrepareError;

use super::Accounts;
use super::rows::{Key, ProfileBody};
use super::snapshot::Snapshot;
use super::txn::{Changes, decode};
use crate::cql::{Cql, Read, Write};
use crate::values::int;

/// Length of an indexed prefix, in characters. A longer prefix is searched among the users that match its first
/// 8 characters.
const PREFIX_CHARS_MAX: usize = 8;
/// Partitions per prefix.
const SHARDS: u8 = 16;
/// Rows written concurrently.
const WRITES_AT_ONCE_MAX: usize = 16;
/// The prefix of all users, including those that search does not find.
const EVERYBODY: &str = "";

#[derive(Debug)]
pub(super) struct People {
    cql: Arc<Cql>,
    page: Read,
    add: Write,
    remove: Write,
}

/// The change of the index that follows from a change of a profile.
#[derive(Debug, Default)]
pub(super) struct Reindexed {
    pub(super) revision: i64,
    pub(super) added: BTreeSet<String>,
    pub(super) removed: BTreeSet<String>,
}

impl Reindexed {
    pub(super) fn by(user: UserId, before: &Snapshot, changes: &Changes) -> Result<Self, StoreError> {
        let Some(after) = changes.rows.get(&Key::PROFILE) else { return Ok(Self::default()) };
        let revision = before.next_revision();
        let before = beginnings(user, before.row(Key::PROFILE).flatten())?;
        let after = beginnings(user, after.as_deref())?;
        Ok(Self { revision, added: &after - &before, removed: &before - &after })
    }
}

fn beginnings(user: UserId, profile: Option<&str>) -> Result<BTreeSet<String>, StoreError> {
    let Some(body) = profile else { return Ok(BTreeSet::new()) };
    let profile: ProfileBody = decode(user, Key::PROFILE, body)?;
    let words = profile.into_user(user).words_in_search();
    let found_by = words.iter().flat_map(|word| prefixes(word));
    Ok(found_by.chain([EVERYBODY]).map(str::to_owned).collect())
}

fn prefixes(word: &str) -> impl Iterator<Item = &str> {
    word.char_indices().take(PREFIX_CHARS_MAX).map(|(start, char)| &word[..start + char.len_utf8()])
}

fn shard(user: UserId) -> i8 {
    (user.get() % u64::from(SHARDS)) as i8
}

impl People {
    pub(super) async fn new(cql: Arc<Cql>) -> Result<Self, PrepareError> {
        let page = "SELECT user_id FROM people WHERE prefix = ? AND shard = ? AND user_id > ? LIMIT ?";
        let add = "INSERT INTO people (prefix, shard, user_id) VALUES (?, ?, ?) USING TIMESTAMP ?";
        let remove = "DELETE FROM people USING TIMESTAMP ? WHERE prefix = ? AND shard = ? AND user_id = ?";
        Ok(Self {
            page: cql.prepare_read(page).await?,
            add: cql.prepare_write(add).await?,
            remove: cql.prepare_write(remove).await?,
            cql,
        })
    }

    /// Adds rows. Runs before the profile is written.
    pub(super) async fn add(&self, user: UserId, reindexed: &Reindexed) -> Result<(), StoreError> {
        let writes = reindexed.added.iter().map(|prefix| {
            let values = (prefix, shard(user), int(user.get()), reindexed.revision);
            self.cql.write("index a user", &self.add, values)
        });
        all_of(writes.collect()).await
    }

    /// Removes rows. Runs after the profile was written. A row that stays is skipped by readers.
    pub(super) async fn remove(&self, user: UserId, reindexed: &Reindexed) {
        let writes = reindexed.removed.iter().map(|prefix| {
            let values = (reindexed.revision, prefix, shard(user), int(user.get()));
            self.cql.write("index a user", &self.remove, values)
        });
        if let Err(error) = all_of(writes.collect()).await {
            tracing::debug!(%user, %error, "left stale index rows");
        }
    }

    /// The first `limit` users with a prefix after `after`, in the order of their ids.
    pub(super) async fn page(
        &self,
        prefix: &str,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<UserId>, StoreError> {
        // The lowest id is 0.
        let after = after.map_or(-1, |after| int(after.get()));
        let limit_rows = i32::try_from(limit).unwrap_or(i32::MAX);
        let shards = (0..SHARDS).map(|shard| {
            let values = (prefix, shard as i8, after, limit_rows);
            self.cql.rows::<(i64,)>("search users", &self.page, values)
        });
        let mut ids: Vec<i64> = try_join_all(shards).await?.into_iter().flatten().map(|(id,)| id).collect();
        ids.sort_unstable();
        ids.truncate(limit);
        Ok(ids.into_iter().map(|id| UserId::new(id.cast_unsigned())).collect())
    }
}

async fn all_of(writes: Vec<impl Future<Output = Result<(), StoreError>>>) -> Result<(), StoreError> {
    stream::iter(writes).buffer_unordered(WRITES_AT_ONCE_MAX).try_collect().await
}

impl Accounts {
    pub(crate) async fn search_users(
        &self,
        prefix: &SearchPrefix,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<User>, StoreError> {
        let Some(indexed) = prefixes(prefix).last() else { return Ok(Vec::new()) };
        self.people_where(indexed, after, limit, |user| user.is_in_search_for(prefix)).await
    }

    pub(crate) async fn list_users(
        &self,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<User>, StoreError> {
        self.people_where(EVERYBODY, after, limit, |_| true).await
    }

    async fn people_where(
        &self,
        prefix: &str,
        mut after: Option<UserId>,
        limit: usize,
        is_found: impl Fn(&User) -> bool + Send,
    ) -> Result<Vec<User>, StoreError> {
        let mut found = Vec::new();
        while found.len() < limit {
            let missing = limit - found.len();
            let page = self.people.page(prefix, after, missing).await?;
            let is_last = page.len() < missing;
            after = page.last().copied();
            let mut users = self.users(&page).await?;
            users.sort_unstable_by_key(|user| user.id);
            found.extend(users.into_iter().filter(&is_found));
            if is_last {
                break;
            }
        }
        Ok(found)
    }
}
