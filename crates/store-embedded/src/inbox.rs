//! The inbox: pages of the order, with the hot conversations put where they belong.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use async_trait::async_trait;
use godwit_domain::model::{AccountEntry, AccountNote, Settings, SettingsChange};
use godwit_domain::ports::{ActivityPosition, InboxPosition, InboxRow, InboxStore, StoreError};
use godwit_protocol::{ConversationId, Timestamp, UserId};

use crate::engine::{Direction, View};
use crate::keys::{self, Section};
use crate::read::Read;
use crate::records::{HeadRecord, HotRecord, ListingRecord, OrderRecord, Record};
use crate::txn::Txn;
use crate::{EmbeddedStore, account_log, order};

#[async_trait]
impl InboxStore for EmbeddedStore {
    async fn inbox(
        &self,
        user: UserId,
        archived: bool,
        after: Option<InboxPosition>,
        limit: usize,
    ) -> Result<Vec<InboxRow>, StoreError> {
        let view = self.engine.view();
        let hot = hot_rows(&view, user)?;
        let comes_after = |row: &&InboxRow| after.is_none_or(|after| rank(row.position()) < rank(after));
        let mut rows: Vec<InboxRow> = hot
            .values()
            .filter(|row| row.settings.archived == archived)
            .filter(comes_after)
            .copied()
            .collect();
        for pinned in [true, false] {
            let after = match after {
                Some(after) if pinned && !after.pinned => continue,
                after => after.filter(|after| after.pinned == pinned).map(|after| after.activity),
            };
            let scan = Scan { user, section: Section { archived, pinned }, after, floor: None, limit };
            rows.extend(scan.settled_rows(&view, &hot)?);
        }
        rows.sort_unstable_by_key(|row| Reverse(rank(row.position())));
        rows.truncate(limit);
        Ok(rows)
    }

    async fn active_since(
        &self,
        user: UserId,
        floor: Timestamp,
        after: Option<ActivityPosition>,
        limit: usize,
    ) -> Result<Vec<InboxRow>, StoreError> {
        let view = self.engine.view();
        let hot = hot_rows(&view, user)?;
        let is_asked =
            |row: &&InboxRow| row.activity_at >= floor && after.is_none_or(|after| row.activity() < after);
        let mut rows: Vec<InboxRow> = hot.values().filter(is_asked).copied().collect();
        for archived in [false, true] {
            for pinned in [true, false] {
                let scan =
                    Scan { user, section: Section { archived, pinned }, after, floor: Some(floor), limit };
                rows.extend(scan.settled_rows(&view, &hot)?);
            }
        }
        rows.sort_unstable_by_key(|row| Reverse(row.activity()));
        rows.truncate(limit);
        Ok(rows)
    }

    async fn settings(&self, user: UserId, conversation: ConversationId) -> Result<Settings, StoreError> {
        let listing: Option<ListingRecord> = self.engine.view().record(&keys::listing(user, conversation))?;
        Ok(listing.unwrap_or_default().settings())
    }

    async fn change_settings(
        &self,
        user: UserId,
        conversation: ConversationId,
        change: SettingsChange,
        note: AccountNote,
    ) -> Result<(Settings, AccountEntry), StoreError> {
        let write = move |txn: &mut Txn<'_>| {
            let settings = order::change_settings(txn, user, conversation, change)?;
            Ok((settings, account_log::note(txn, note)?))
        };
        self.write("change settings", write).await
    }

    async fn account_log(
        &self,
        user: UserId,
        after: u64,
        limit: usize,
    ) -> Result<Option<Vec<AccountEntry>>, StoreError> {
        account_log::entries(&self.engine.view(), user, after, limit)
    }

    async fn account_head(&self, user: UserId) -> Result<u64, StoreError> {
        Ok(account_log::head(&self.engine.view(), user)?.last)
    }
}

/// What comes first in the inbox is higher.
fn rank(position: InboxPosition) -> (bool, ActivityPosition) {
    (position.pinned, position.activity)
}

/// The hot conversations in the inbox of a user, with their activity as it is now.
fn hot_rows(view: &View<'_>, user: UserId) -> Result<BTreeMap<ConversationId, InboxRow>, StoreError> {
    let mut rows = BTreeMap::new();
    let hot: HotRecord = view.record(&keys::hot(user))?.unwrap_or_default();
    for conversation in hot.0 {
        let head: Option<HeadRecord> = view.record(&keys::head(conversation))?;
        let listing: Option<ListingRecord> = view.record(&keys::listing(user, conversation))?;
        if let (Some(head), Some(listing)) = (head, listing) {
            let row = InboxRow { conversation, settings: listing.settings(), activity_at: head.activity_at };
            rows.insert(conversation, row);
        }
    }
    Ok(rows)
}

/// A part of one section of the order.
struct Scan {
    user: UserId,
    section: Section,
    after: Option<ActivityPosition>,
    floor: Option<Timestamp>,
    limit: usize,
}

impl Scan {
    /// The first rows that stand where they belong.
    fn settled_rows(
        mut self,
        view: &View<'_>,
        hot: &BTreeMap<ConversationId, InboxRow>,
    ) -> Result<Vec<InboxRow>, StoreError> {
        let mut rows = Vec::new();
        loop {
            let missing = self.limit - rows.len();
            let range = keys::order_after(self.user, self.section, self.after, self.floor);
            let page = view.page(&range, Direction::Forward, missing)?;
            let is_last = page.len() < missing;
            for (key, value) in page {
                let position = keys::decode_order(&key)?;
                self.after = Some(position);
                if !hot.contains_key(&position.conversation) {
                    rows.push(self.row(position, OrderRecord::decode(&key, &value)?));
                }
            }
            if is_last || rows.len() == self.limit {
                return Ok(rows);
            }
        }
    }

    fn row(&self, position: ActivityPosition, record: OrderRecord) -> InboxRow {
        let Section { archived, pinned } = self.section;
        InboxRow {
            conversation: position.conversation,
            settings: Settings { pinned, archived, muted_until: record.muted_until },
            activity_at: position.at,
        }
    }
}
