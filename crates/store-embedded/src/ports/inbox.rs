//! The inbox port.

use std::cmp::Reverse;

use async_trait::async_trait;
use godwit_domain::model::{AccountEntry, AccountNote, Concealed, Settings};
use godwit_domain::ports::{ActivityPosition, ChangedRow, InboxRow, InboxStore, Result, UnorderedRow};
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};

use crate::engine::Row;
use crate::inbox::page::{Page, all_of};
use crate::inbox::{changes, listing};
use crate::keys::{self, Section};
use crate::read::Read;
use crate::txn::Txn;
use crate::{EmbeddedStore, account};

#[async_trait]
impl InboxStore for EmbeddedStore {
    async fn inbox(
        &self,
        user: UserId,
        archived: bool,
        after: Option<ActivityPosition>,
        limit: usize,
    ) -> Result<Vec<InboxRow>> {
        let sections = [Section { archived, pinned: false }];
        Page { user, after, floor: None, limit }.of(&self.engine.view(), &sections)
    }

    async fn pinned(&self, user: UserId) -> Result<Vec<InboxRow>> {
        let view = self.engine.view();
        let mut rows = all_of(&view, user, Section { archived: false, pinned: true })?;
        rows.extend(all_of(&view, user, Section { archived: true, pinned: true })?);
        rows.sort_unstable_by_key(|row| Reverse(row.activity()));
        Ok(rows)
    }

    async fn fanned_out_on_read(&self, user: UserId) -> Result<Vec<UnorderedRow>> {
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
    ) -> Result<Vec<ChangedRow>> {
        changes::page(&self.engine.view(), user, floor, after, limit)
    }

    async fn settings(&self, user: UserId, conversation: ConversationId) -> Result<Settings> {
        Ok(listing::of(&self.engine.view(), user, conversation)?.into_settings())
    }

    async fn clear(
        &self,
        user: UserId,
        conversation: ConversationId,
        cleared: Seq,
        ordinal: u64,
        note: AccountNote,
    ) -> Result<AccountEntry> {
        let write = move |txn: &mut Txn<'_>| {
            let concealed = Concealed::clearing(cleared, ordinal);
            account::concealed::conceal(txn, conversation, user, concealed)?;
            listing::clear(txn, user, conversation, cleared)?;
            account::log::note(txn, note)
        };
        self.write("clear a conversation", write).await
    }

    async fn account_log(&self, user: UserId, after: u64, limit: usize) -> Result<Option<Vec<AccountEntry>>> {
        account::log::entries(&self.engine.view(), user, after, limit)
    }

    async fn account_head(&self, user: UserId) -> Result<u64> {
        Ok(account::log::head(&self.engine.view(), user)?.last)
    }
}
