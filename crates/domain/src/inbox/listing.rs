//! Pages of the inbox, and the conversations that have left it.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

use godwit_protocol::conversations::Conversation as WireConversation;
use godwit_protocol::limits::ACCOUNT_LOG_ENTRIES_MAX;
use godwit_protocol::sync::{Gone, GoneList, GoneReason};
use godwit_protocol::{MessageId, Seq, Timestamp, UserId};

use super::showing::Marks;
use super::{Inbox, InboxError, InboxPosition};
use crate::bounds::cut;
use crate::conversations::Live;
use crate::model::{AccountChange, ConversationState};
use crate::ports::{ActivityPosition, ChangedRow, InboxRow, StoreError, UnorderedRow};

/// Page size of the search in the account log for conversations that have left the inbox.
const GONE_PAGE: usize = 500;

impl Inbox {
    /// One page, and the position of the next one. Pinned conversations come first, whatever the limit is.
    pub async fn page(
        &self,
        by: UserId,
        archived: bool,
        after: Option<InboxPosition>,
        limit: usize,
    ) -> Result<(Vec<WireConversation>, Option<InboxPosition>), InboxError> {
        let (pinned_before, after) = match after {
            None => (Some(0), None),
            Some(InboxPosition::Pinned(before)) => (Some(before), None),
            Some(InboxPosition::Ordered(after)) => (None, Some(after)),
        };
        let (ordered, large) =
            tokio::try_join!(self.store.inbox(by, archived, after, limit), self.large_rows(by))?;
        let mut rows = ordered;
        let is_asked = |row: &&InboxRow| {
            row.settings.archived == archived
                && row.settings.pin.is_none()
                && after.is_none_or(|after| row.activity() < after)
        };
        rows.extend(large.iter().filter(is_asked).cloned());
        let rows = in_order(rows, limit, InboxRow::activity);
        let mut next =
            rows.last().filter(|_| rows.len() == limit).map(|row| InboxPosition::Ordered(row.activity()));
        let mut places = Vec::new();
        if let Some(before) = pinned_before.filter(|_| !archived) {
            let mut pinned = self.store.pinned(by).await?;
            pinned.extend(large.into_iter().filter(|row| row.settings.pin.is_some()));
            pinned.retain(|row| !row.settings.archived);
            pinned.sort_by_key(|row| (row.settings.pin, Reverse(row.activity())));
            pinned.dedup_by_key(|row| row.conversation);
            let pinned = pinned.into_iter().zip(1..).skip(before as usize);
            places.extend(pinned.map(|(row, number)| (row, InboxPosition::Pinned(number))));
        }
        places.extend(
            rows.into_iter()
                .map(|row| (row.activity(), row))
                .map(|(at, row)| (row, InboxPosition::Ordered(at))),
        );
        let rows = places.iter().map(|(row, _)| (row.conversation, row.settings.clone())).collect();
        let mut shown = self.show(by, rows, Marks::None).await?;
        if cut(&mut shown) {
            let last = shown.last().map(|last| last.id);
            let place = places.iter().find(|(row, _)| Some(row.conversation) == last);
            next = place.map(|(_, place)| *place).or(next);
        }
        Ok((shown, next))
    }

    /// Conversations with a change at or after a time, the latest change first, starting after `after`.
    pub(crate) async fn changed_since(
        &self,
        by: UserId,
        floor: Timestamp,
        after: Option<ActivityPosition>,
        limit: usize,
    ) -> Result<Vec<ChangedRow>, StoreError> {
        let changed_at = |state: &ConversationState| {
            state.last_activity_at().max(MessageId::new(state.head.id).timestamp())
        };
        let (mut rows, large) = tokio::try_join!(
            self.store.changed_since(by, floor, after, limit),
            self.large_listed(by, changed_at)
        )?;
        let large = large.into_iter().map(|(row, changed_at)| {
            let UnorderedRow { conversation, settings } = row;
            ChangedRow { conversation, settings, changed_at }
        });
        let is_asked =
            |row: &ChangedRow| row.changed_at >= floor && after.is_none_or(|after| row.position() < after);
        rows.extend(large.filter(is_asked));
        Ok(in_order(rows, limit, ChangedRow::position))
    }

    async fn large_rows(&self, by: UserId) -> Result<Vec<InboxRow>, StoreError> {
        let listed = self.large_listed(by, ConversationState::last_activity_at).await?;
        let row = |(row, activity_at): (UnorderedRow, Timestamp)| {
            let UnorderedRow { conversation, settings } = row;
            InboxRow { conversation, settings, activity_at }
        };
        Ok(listed.into_iter().map(row).collect())
    }

    /// The large conversations in a user's inbox, each with its current time.
    async fn large_listed(
        &self,
        by: UserId,
        time: impl Fn(&ConversationState) -> Timestamp + Send,
    ) -> Result<Vec<(UnorderedRow, Timestamp)>, StoreError> {
        let found = self.conversations.large_of(by).await?;
        let listed = |(row, live): (UnorderedRow, Arc<Live>)| {
            let at = live.read(|state| {
                let settings = &row.settings;
                let last = state.head.last_message.as_ref().map(|last| last.seq);
                let is_listed =
                    settings.cleared == Seq::ZERO || last.is_some_and(|last| last > settings.cleared);
                let is_there = state.details.deleted_at.is_none() && !state.is_whole();
                (is_listed && is_there).then(|| time(state))
            });
            Some((row, at?))
        };
        Ok(found.into_iter().filter_map(listed).collect())
    }

    /// Conversations that have left the inbox since a time, and whether the list may be incomplete.
    pub async fn gone_since(&self, by: UserId, since: Timestamp) -> Result<GoneList, StoreError> {
        let (mut gone, mut after) = (Vec::new(), 0);
        // The log is compacted, so it has each departure at most once.
        let mut truncated = false;
        loop {
            let Some(entries) = self.store.account_log(by, after, GONE_PAGE).await? else {
                // The log has dropped older entries. The head of the log is a valid position to continue from.
                truncated = true;
                after = self.store.account_head(by).await?.saturating_sub(ACCOUNT_LOG_ENTRIES_MAX as u64 / 2);
                if self.store.account_log(by, after, 1).await?.is_none() {
                    break;
                }
                continue;
            };
            for entry in &entries {
                if let AccountChange::ConversationGone(conversation_id, reason) = entry.change
                    && entry.at >= since
                {
                    gone.push(Gone { conversation_id, reason, at: entry.at });
                }
            }
            match entries.last() {
                Some(last) if entries.len() == GONE_PAGE => after = last.seq,
                _ => break,
            }
        }
        self.add_deleted_large(by, since, &mut gone).await?;
        gone.sort_by_key(|gone| gone.at);
        let more = cut(&mut gone);
        Ok(GoneList { gone, more, truncated })
    }

    /// Large conversations that were deleted for all: they have too many members for a note in each account.
    pub(crate) async fn add_deleted_large(
        &self,
        by: UserId,
        since: Timestamp,
        gone: &mut Vec<Gone>,
    ) -> Result<(), StoreError> {
        for (row, live) in self.conversations.large_of(by).await? {
            if let Some(at) = live.read(|state| state.details.deleted_at).filter(|at| *at >= since) {
                gone.push(Gone { conversation_id: row.conversation, reason: GoneReason::Deleted, at });
            }
        }
        Ok(())
    }
}

/// Sorts rows, the latest first, keeps each conversation once and at most `limit` rows. A conversation that becomes large
/// during the read can appear twice.
fn in_order<R>(mut rows: Vec<R>, limit: usize, position: impl Fn(&R) -> ActivityPosition) -> Vec<R> {
    rows.sort_unstable_by_key(|row| Reverse(position(row)));
    let mut seen = HashSet::with_capacity(rows.len());
    rows.retain(|row| seen.insert(position(row).conversation));
    rows.truncate(limit);
    rows
}
