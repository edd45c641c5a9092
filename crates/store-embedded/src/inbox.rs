//! The inbox: pages of the order, with the hot conversations put where they belong.

use std::cmp::Reverse;

use async_trait::async_trait;
use godwit_domain::model::{AccountEntry, AccountNote, Settings, SettingsChange};
use godwit_domain::ports::{ActivityPosition, ChangedRow, InboxRow, InboxStore, StoreError, UnorderedRow};
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};

use crate::engine::{Direction, Row};
use crate::keys::{self, Section};
use crate::read::Read;
use crate::records::{HeadRecord, HotListRecord};
use crate::txn::Txn;
use crate::{EmbeddedStore, account_log, changes, listing};

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
        let view = self.engine.view();
        let mut rows = all_of(&view, user, Section { archived: false, pinned: true })?;
        rows.extend(all_of(&view, user, Section { archived: true, pinned: true })?);
        rows.sort_unstable_by_key(|row| Reverse(row.activity()));
        Ok(rows)
    }

    async fn fanned_out_on_read(&self, user: UserId) -> Result<Vec<UnorderedRow>, StoreError> {
        let view = self.engine.view();
        let row = |(key, _): &Row| {
            let conversation = ConversationId::new(keys::last_id("fanned out on read", key)?);
            Ok(UnorderedRow {
                conversation,
                settings: listing::of(&view, user, conversation)?.into_settings(),
            })
        };
        view.all(&keys::on_read_of(user))?.iter().map(row).collect()
    }

    async fn changed_since(
        &self,
        user: UserId,
        floor: Timestamp,
        after: Option<ActivityPosition>,
        limit: usize,
    ) -> Result<Vec<ChangedRow>, StoreError> {
        changes::page(&self.engine.view(), user, floor, after, limit)
    }

    async fn settings(&self, user: UserId, conversation: ConversationId) -> Result<Settings, StoreError> {
        Ok(listing::of(&self.engine.view(), user, conversation)?.into_settings())
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
        ordinal: u64,
        note: AccountNote,
    ) -> Result<AccountEntry, StoreError> {
        let write = move |txn: &mut Txn<'_>| {
            listing::clear(txn, user, conversation, cleared, ordinal)?;
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

/// Where conversations of all sections stand in the order, the latest activity first.
pub(crate) fn active(
    store: &impl Read,
    user: UserId,
    floor: Timestamp,
    after: Option<ActivityPosition>,
    limit: usize,
) -> Result<Vec<ActivityPosition>, StoreError> {
    let all = [(false, true), (false, false), (true, true), (true, false)];
    let sections = all.map(|(archived, pinned)| Section { archived, pinned });
    let rows = Page { user, after, floor: Some(floor), limit }.of(store, &sections)?;
    Ok(rows.iter().map(InboxRow::activity).collect())
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
        let hot = hot_list(store, self.user)?;
        let mut positions = Vec::new();
        for conversation in &hot {
            positions.extend(position(store, *conversation)?.filter(|position| self.is_asked(*position)));
        }
        for section in sections {
            positions.extend(self.settled(store, *section, &hot)?);
        }
        positions.sort_unstable_by_key(|position| Reverse(*position));
        let mut page = Vec::new();
        for ActivityPosition { at, conversation } in positions {
            if page.len() == self.limit {
                break;
            }
            // In which section a hot one is, only its listing says.
            let listing = listing::of(store, self.user, conversation)?;
            if sections.contains(&listing.section()) {
                page.push(InboxRow { conversation, settings: listing.into_settings(), activity_at: at });
            }
        }
        Ok(page)
    }

    fn is_asked(&self, position: ActivityPosition) -> bool {
        self.after.is_none_or(|after| position < after) && self.floor.is_none_or(|floor| position.at >= floor)
    }

    /// The first rows of a section that stand where they belong.
    fn settled(
        &self,
        store: &impl Read,
        section: Section,
        hot: &[ConversationId],
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
                if !hot.contains(&position.conversation) {
                    rows.push(position);
                }
            }
            if is_last || rows.len() == self.limit {
                return Ok(rows);
            }
        }
    }
}

/// All rows of a section. Those of hot conversations are there too, and only say the wrong time.
fn all_of(store: &impl Read, user: UserId, section: Section) -> Result<Vec<InboxRow>, StoreError> {
    let rows = store.all(&keys::order_after(user, section, None, None))?;
    let hot = if rows.is_empty() { Vec::new() } else { hot_list(store, user)? };
    let row = |(key, _): &Row| {
        let stands = keys::decode_order(key)?;
        let conversation = stands.conversation;
        let position = if hot.contains(&conversation) { position(store, conversation)? } else { None };
        let activity_at = position.unwrap_or(stands).at;
        let settings = listing::of(store, user, conversation)?.into_settings();
        Ok(InboxRow { conversation, settings, activity_at })
    };
    rows.iter().map(row).collect()
}

fn hot_list(store: &impl Read, user: UserId) -> Result<Vec<ConversationId>, StoreError> {
    let hot: Option<HotListRecord> = store.record(&keys::hot_list(user))?;
    Ok(hot.unwrap_or_default().0)
}

/// Where a conversation belongs, by what it says itself.
fn position(store: &impl Read, conversation: ConversationId) -> Result<Option<ActivityPosition>, StoreError> {
    let head: Option<HeadRecord> = store.record(&keys::head(conversation))?;
    Ok(head.map(|head| ActivityPosition { at: head.standing.activity_at, conversation }))
}
