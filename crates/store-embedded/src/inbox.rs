//! The inbox: pages of the order, with the hot conversations put where they belong.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use async_trait::async_trait;
use godwit_domain::model::{AccountEntry, AccountNote, Settings, SettingsChange};
use godwit_domain::ports::{ActivityPosition, InboxRow, InboxStore, StoreError, UnorderedRow};
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};

use crate::engine::{Direction, Row};
use crate::keys::{self, Section};
use crate::read::Read;
use crate::records::{HeadRecord, HotListRecord, ListingRecord};
use crate::txn::Txn;
use crate::{EmbeddedStore, account_log, listing};

#[async_trait]
impl InboxStore for EmbeddedStore {
    async fn inbox(
        &self,
        user: UserId,
        archived: bool,
        after: Option<ActivityPosition>,
        limit: usize,
    ) -> Result<Vec<InboxRow>, StoreError> {
        let sections = [Section { archived, pinned: false }];
        Page { user, after, floor: None, limit }.of(&self.engine.view(), &sections)
    }

    async fn pinned(&self, user: UserId) -> Result<Vec<InboxRow>, StoreError> {
        let sections = [false, true].map(|archived| Section { archived, pinned: true });
        Page { user, after: None, floor: None, limit: usize::MAX }.of(&self.engine.view(), &sections)
    }

    async fn fanned_out_on_read(&self, user: UserId) -> Result<Vec<UnorderedRow>, StoreError> {
        let view = self.engine.view();
        let row = |(key, _): &Row| {
            let conversation = ConversationId::new(keys::last_id("fanned out on read", key)?);
            Ok(UnorderedRow { conversation, settings: settings(&view, user, conversation)? })
        };
        view.all(&keys::on_read_of(user))?.iter().map(row).collect()
    }

    async fn active_since(
        &self,
        user: UserId,
        floor: Timestamp,
        after: Option<ActivityPosition>,
        limit: usize,
    ) -> Result<Vec<InboxRow>, StoreError> {
        let all = [(false, true), (false, false), (true, true), (true, false)];
        let sections = all.map(|(archived, pinned)| Section { archived, pinned });
        Page { user, after, floor: Some(floor), limit }.of(&self.engine.view(), &sections)
    }

    async fn settings(&self, user: UserId, conversation: ConversationId) -> Result<Settings, StoreError> {
        settings(&self.engine.view(), user, conversation)
    }

    async fn change_settings(
        &self,
        user: UserId,
        conversation: ConversationId,
        change: SettingsChange,
        note: AccountNote,
    ) -> Result<(Settings, AccountEntry), StoreError> {
        let write = move |txn: &mut Txn<'_>| {
            let settings = listing::change_settings(txn, user, conversation, change)?;
            Ok((settings, account_log::note(txn, note)?))
        };
        self.write("change settings", write).await
    }

    async fn clear(
        &self,
        user: UserId,
        conversation: ConversationId,
        cleared: Seq,
        note: AccountNote,
    ) -> Result<AccountEntry, StoreError> {
        let write = move |txn: &mut Txn<'_>| {
            listing::clear(txn, user, conversation, cleared)?;
            account_log::note(txn, note)
        };
        self.write("clear a conversation", write).await
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

fn settings(store: &impl Read, user: UserId, conversation: ConversationId) -> Result<Settings, StoreError> {
    let listing: Option<ListingRecord> = store.record(&keys::listing(user, conversation))?;
    Ok(listing.unwrap_or_default().into_settings())
}

/// A part of some sections of the order, the latest activity first.
struct Page {
    user: UserId,
    after: Option<ActivityPosition>,
    /// The earliest activity.
    floor: Option<Timestamp>,
    limit: usize,
}

impl Page {
    fn of(&self, store: &impl Read, sections: &[Section]) -> Result<Vec<InboxRow>, StoreError> {
        let hot = self.hot(store)?;
        let is_asked = |(position, section): &&(ActivityPosition, Section)| {
            sections.contains(section)
                && self.after.is_none_or(|after| *position < after)
                && self.floor.is_none_or(|floor| position.at >= floor)
        };
        let mut page: Vec<ActivityPosition> =
            hot.values().filter(is_asked).map(|(position, _)| *position).collect();
        for section in sections {
            page.extend(self.settled(store, *section, &hot)?);
        }
        page.sort_unstable_by_key(|position| Reverse(*position));
        page.truncate(self.limit);
        let row = |position: ActivityPosition| {
            let ActivityPosition { at, conversation } = position;
            Ok(InboxRow {
                conversation,
                settings: settings(store, self.user, conversation)?,
                activity_at: at,
            })
        };
        page.into_iter().map(row).collect()
    }

    /// The hot conversations of the user, with their activity as it is now.
    fn hot(
        &self,
        store: &impl Read,
    ) -> Result<BTreeMap<ConversationId, (ActivityPosition, Section)>, StoreError> {
        let mut rows = BTreeMap::new();
        let hot: HotListRecord = store.record(&keys::hot_list(self.user))?.unwrap_or_default();
        for conversation in hot.0 {
            let head: Option<HeadRecord> = store.record(&keys::head(conversation))?;
            let listing: Option<ListingRecord> = store.record(&keys::listing(self.user, conversation))?;
            if let (Some(head), Some(listing)) = (head, listing) {
                let position = ActivityPosition { at: head.standing.activity_at, conversation };
                rows.insert(conversation, (position, listing.section()));
            }
        }
        Ok(rows)
    }

    /// The first rows of a section that stand where they belong.
    fn settled(
        &self,
        store: &impl Read,
        section: Section,
        hot: &BTreeMap<ConversationId, (ActivityPosition, Section)>,
    ) -> Result<Vec<ActivityPosition>, StoreError> {
        let (mut rows, mut after) = (Vec::new(), self.after);
        loop {
            let missing = self.limit - rows.len();
            let range = keys::order_after(self.user, section, after, self.floor);
            let page = store.page(&range, Direction::Forward, missing)?;
            let is_last = page.len() < missing;
            for (key, _) in page {
                let position = keys::decode_order(&key)?;
                after = Some(position);
                if !hot.contains_key(&position.conversation) {
                    rows.push(position);
                }
            }
            if is_last || rows.len() == self.limit {
                return Ok(rows);
            }
        }
    }
}
