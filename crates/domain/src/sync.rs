//! What changed anywhere since a token.

use std::sync::Arc;

use godwit_protocol::conversations::Conversation;
use godwit_protocol::limits::SYNC_PAGE_BYTES_MAX;
use godwit_protocol::sync::{AccountChange as WireChange, Gone, SyncPage};
use godwit_protocol::{Timestamp, UserId};

use crate::account_log::AccountLog;
use crate::inbox::Inbox;
use crate::model::{AccountEntry, count_within};
use crate::ports::{ActivityPosition, Clock, InboxRow, Store, StoreError};

#[derive(Debug)]
pub struct Sync {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) account_log: Arc<AccountLog>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// Where a client is. The transport makes it opaque.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyncToken {
    /// The client has the account log up to here.
    pub account_seq: u64,
    /// The client has all activity before this time.
    pub floor: Timestamp,
    /// Set while a sync of several pages is under way: when it began, and where its next page begins.
    pub under_way: Option<(Timestamp, ActivityPosition)>,
}

impl Sync {
    /// Without a token everything is listed, in pages.
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
            // What was there at the beginning may be forgotten by now, and is in the lists all the same.
            None if is_first => self.page(by, token, &[], now, limit).await,
            None => Ok((SyncPage { truncated: true, ..empty_page() }, self.start(by).await?)),
        }
    }

    /// Before everything that is listed, and at the end of the account log: what it says is in the lists too.
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
        let mut rows = self.inbox.active_since(by, token.floor, after, limit).await?;
        let mut more_rows = rows.len() == limit;
        let mut conversations = self.inbox.show(by, &rows).await?;
        let fitting = count_within(SYNC_PAGE_BYTES_MAX, &conversations, size_bytes);
        if let Some(first_left) = conversations.get(fitting) {
            rows.truncate(
                rows.iter().position(|row| row.conversation == first_left.id).unwrap_or(rows.len()),
            );
            conversations.truncate(fitting);
            more_rows = true;
        }
        let mut page = SyncPage { conversations, more: more_rows || entries.len() == limit, ..empty_page() };
        for entry in entries {
            let Some(entry) = self.account_log.to_wire(by, entry).await? else { continue };
            if let WireChange::ConversationGone { conversation_id, reason } = entry.change {
                page.gone.push(Gone { conversation_id, reason, at: entry.at });
            } else {
                page.account.push(entry);
            }
        }
        if token.under_way.is_none() && token.floor > Timestamp::from_millis(0) {
            self.inbox.add_deleted_large(by, token.floor, &mut page.gone).await?;
        }
        let next = SyncToken {
            account_seq: entries.last().map_or(token.account_seq, |entry| entry.seq),
            // What was on its way then must not be missed the next time.
            floor: if more_rows { token.floor } else { began_at.plus_millis(-self.store.activity_lag_ms()) },
            under_way: rows.last().filter(|_| more_rows).map(|row: &InboxRow| (began_at, row.activity())),
        };
        Ok((page, next))
    }
}

/// What others chose of a conversation, in bytes.
fn size_bytes(conversation: &Conversation) -> usize {
    let Conversation { name, description, image, peer, last_message, me, .. } = conversation;
    let peer = peer.as_ref().map_or(0, |peer| {
        peer.handle.len() + peer.display_name.len() + peer.avatar.as_ref().map_or(0, String::len)
    });
    let preview = last_message.as_ref().map_or(0, |last| last.preview.len());
    let draft = me.draft.as_ref().map_or(0, |draft| draft.text.len());
    let texts = [description, image].into_iter().flatten().map(String::len).sum::<usize>();
    name.len() + texts + peer + preview + draft
}

fn empty_page() -> SyncPage {
    SyncPage {
        conversations: Vec::new(),
        gone: Vec::new(),
        account: Vec::new(),
        token: String::new(),
        more: false,
        truncated: false,
    }
}
