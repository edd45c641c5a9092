//! `sync`: the conversations and account entries that changed since a token.

use std::sync::Arc;

use godwit_protocol::limits::PAGE_BYTES_MAX;
use godwit_protocol::sync::{AccountChange as WireChange, Gone, MovedCursors, SyncPage};
use godwit_protocol::{Timestamp, UserId};

use crate::account_log::AccountLog;
use crate::bounds::Budget;
use crate::inbox::{Inbox, Marks};
use crate::model::AccountEntry;
use crate::ports::{ActivityPosition, ChangedRow, Clock, Store, StoreError};

#[derive(Debug)]
pub struct Sync {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) account_log: Arc<AccountLog>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// The position of a client. The transport encodes it opaquely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyncToken {
    /// The client has the account log up to here.
    pub account_seq: u64,
    /// The client has every change before this time.
    pub floor: Timestamp,
    /// Set during a sync of several pages: its start time, and the position of its next page.
    pub under_way: Option<(Timestamp, ActivityPosition)>,
}

impl Sync {
    /// Without a token, lists everything, in pages.
    pub async fn since(
        &self,
        by: UserId,
        token: Option<SyncToken>,
        limit: usize,
    ) -> Result<(SyncPage, SyncToken), StoreError> {
        let now = self.clock.now();
        let is_first = token.is_none();
        let token = match token {
            Some(token) => token,
            None => self.start(by).await?,
        };
        match self.store.account_log(by, token.account_seq, limit).await? {
            Some(entries) => self.page(by, token, &entries, now, limit).await,
            // The account log may have dropped entries since the start. The lists contain the same data.
            None if is_first => self.page(by, token, &[], now, limit).await,
            None => Ok((SyncPage { truncated: true, ..empty_page() }, self.start(by).await?)),
        }
    }

    /// The position before the first conversation and at the end of the account log, whose content is in the lists too.
    async fn start(&self, by: UserId) -> Result<SyncToken, StoreError> {
        let account_seq = self.store.account_head(by).await?;
        Ok(SyncToken { account_seq, floor: Timestamp::from_millis(0), under_way: None })
    }

    async fn page(
        &self,
        by: UserId,
        token: SyncToken,
        entries: &[AccountEntry],
        now: Timestamp,
        limit: usize,
    ) -> Result<(SyncPage, SyncToken), StoreError> {
        let (began_at, after) = match token.under_way {
            Some((began_at, after)) => (began_at, Some(after)),
            None => (now, None),
        };
        let mut page = empty_page();
        if token.under_way.is_none() && !token.is_at_the_beginning() {
            self.inbox.add_deleted_large(by, token.floor, &mut page.gone).await?;
        }
        let mut budget = Budget::new(PAGE_BYTES_MAX);
        budget.take(&page.gone);
        let account_seq = self.add_account(by, entries, &mut budget, &mut page).await?;
        let more_entries =
            entries.len() == limit || entries.last().is_some_and(|last| last.seq > account_seq);
        let mut rows = self.inbox.changed_since(by, token.floor, after, limit).await?;
        let mut more_rows = rows.len() == limit;
        if let Some(place) = self.add_conversations(by, &rows, token, &mut budget, &mut page).await? {
            rows.truncate(place);
            more_rows = true;
        }
        page.more = more_rows || more_entries;
        let under_way = match rows.last() {
            Some(last) => (began_at, last.position()),
            // The first conversation did not fit.
            None => (began_at, after.unwrap_or(ActivityPosition::LATEST)),
        };
        let next = SyncToken {
            account_seq: account_seq.max(token.account_seq),
            // Subtracts the activity lag, so that the next sync does not miss appends that were in progress.
            floor: if more_rows { token.floor } else { began_at.plus_millis(-self.store.activity_lag_ms()) },
            under_way: more_rows.then_some(under_way),
        };
        Ok((page, next))
    }

    /// Adds account entries while there is room, and returns the position after the last one. Adds at least one, because
    /// half a page has room for any single entry.
    async fn add_account(
        &self,
        by: UserId,
        entries: &[AccountEntry],
        budget: &mut Budget,
        page: &mut SyncPage,
    ) -> Result<u64, StoreError> {
        let mut done = 0;
        for entry in entries {
            if let Some(wire) = self.account_log.to_wire(by, entry).await? {
                if done > 0 && budget.left() < PAGE_BYTES_MAX / 2 {
                    break;
                }
                budget.take(&wire);
                if let WireChange::ConversationGone { conversation_id, reason } = wire.change {
                    page.gone.push(Gone { conversation_id, reason, at: wire.at });
                } else {
                    page.account.push(wire);
                }
            }
            done = entry.seq;
        }
        Ok(done)
    }

    /// Adds conversations while there is room, and returns the position of the first one that does not fit.
    async fn add_conversations(
        &self,
        by: UserId,
        rows: &[ChangedRow],
        token: SyncToken,
        budget: &mut Budget,
        page: &mut SyncPage,
    ) -> Result<Option<usize>, StoreError> {
        let marks = if token.is_at_the_beginning() { Marks::None } else { Marks::MovedSince(token.floor) };
        let shown = rows.iter().map(|row| (row.conversation, row.settings.clone())).collect();
        for mut conversation in self.inbox.show(by, shown, marks).await? {
            let is_first = page.conversations.is_empty() && page.account.is_empty();
            if !budget.take(&conversation) && !is_first {
                return Ok(rows.iter().position(|row| row.conversation == conversation.id));
            }
            let cursors = std::mem::take(&mut conversation.cursors);
            if !cursors.is_empty() {
                page.cursors.push(MovedCursors { conversation_id: conversation.id, cursors });
            }
            page.conversations.push(conversation);
        }
        Ok(None)
    }
}

impl SyncToken {
    /// True if everything is listed, whenever it changed.
    fn is_at_the_beginning(&self) -> bool {
        self.floor == Timestamp::default()
    }
}

fn empty_page() -> SyncPage {
    SyncPage {
        conversations: Vec::new(),
        cursors: Vec::new(),
        gone: Vec::new(),
        account: Vec::new(),
        token: String::new(),
        more: false,
        truncated: false,
    }
}
