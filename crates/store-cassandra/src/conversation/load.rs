//! Loads a conversation, and first projects the entries that a crash left without a projection.

use std::sync::Arc;

use futures_util::future::{try_join, try_join4};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use godwit_domain::model::details::default_permissions;
use godwit_domain::model::{ConversationState, Details, Entry, FanOut, Head, LogItem, Member};
use godwit_domain::ports::StoreError;
use godwit_domain::projection::{Effects, Fold, Needs};
use godwit_protocol::{ConversationId, MessageId, Seq, UserId};

use super::Conversations;
use super::buckets::BucketStart;
use super::concealed::{self, ByUser};
use super::details::Stored;
use super::making::FIRST;
use super::members::Unlisted;
use super::project::Projection;
use crate::inbox::{Activity, ListingChange};
use crate::records::corrupt;

/// Entries projected in one go after a crash.
const PROJECTED_AT_ONCE_MAX: usize = 256;
/// Members that are read at once for that, where they are not all loaded.
const MEMBERS_AT_ONCE_MAX: usize = 64;

/// The members of a conversation, those in whose inbox it is not, and what each has deleted for themselves.
type Everybody = (Vec<Member>, Unlisted, ByUser);

impl Conversations {
    /// The present state of the conversation.
    ///
    /// The watermark is read first, then the state, then the head. So the state contains everything that
    /// follows from the entries up to the watermark, and nothing that follows from entries past the head. The
    /// entries between watermark and head are projected again.
    pub(crate) async fn load(&self, id: ConversationId) -> Result<Option<ConversationState>, StoreError> {
        let marks = self.marking().read(id).await?;
        let stored = Box::pin(self.read_stored(id, marks.fanned_out_on_read)).await?;
        let Some((stored, everybody)) = stored else { return Ok(None) };
        let Some((head, bucket)) = self.head(id, marks.bucket).await? else { return Ok(None) };
        if bucket != marks.bucket {
            self.find_begun_buckets(id, marks.bucket, bucket).await?;
        }
        let projected = marks.projected.filter(|_| stored.details.is_some()).unwrap_or_default();
        let details = stored.details.unwrap_or_else(|| {
            // Before the first projection, all details come from the first entry.
            Arc::new(Details::new(stored.conversation.created_at, default_permissions(false)))
        });
        let (members, mut unlisted, concealed) = everybody;
        let mut state = ConversationState { conversation: stored.conversation, details, head, members };
        if projected < state.head.seq {
            let pass = self.gate.enter_to_finish().await?;
            pass.leave(Box::pin(self.project_again(&mut state, &mut unlisted, projected)).await).await?;
        }
        // Including members who joined after the watermark.
        concealed::complete(&mut state.members, &concealed);
        self.finish_listing(&mut state, &unlisted).await?;
        Ok(Some(state))
    }

    /// The head of the log and its bucket; `bucket` is the last one known.
    pub(super) async fn head(
        &self,
        id: ConversationId,
        bucket: u64,
    ) -> Result<Option<(Head, u64)>, StoreError> {
        let _guard = self.logs_in_use.lock(id).await;
        self.log().head(id, bucket).await
    }

    /// Reads the conversation, and its members unless there are too many. Only the details say that for
    /// certain. The hint avoids reading the details before the members in the usual case.
    async fn read_stored(
        &self,
        id: ConversationId,
        hint: bool,
    ) -> Result<Option<(Stored, Everybody)>, StoreError> {
        let is_whole = |stored: &Stored| {
            stored.details.as_ref().is_none_or(|details| details.fan_out == FanOut::OnWrite)
        };
        if hint {
            let Some(stored) = self.about().read(id).await? else { return Ok(None) };
            let everybody = if is_whole(&stored) { self.everybody(id).await? } else { Everybody::default() };
            return Ok(Some((stored, everybody)));
        }
        let (stored, everybody) = Box::pin(try_join(self.about().read(id), self.everybody(id))).await?;
        let Some(stored) = stored else { return Ok(None) };
        if is_whole(&stored) {
            return Ok(Some((stored, everybody)));
        }
        self.marking().fan_out_on_read(id).await?;
        Ok(Some((stored, Everybody::default())))
    }

    async fn everybody(&self, id: ConversationId) -> Result<Everybody, StoreError> {
        let (mut members, cursors, unlisted, concealed) = try_join4(
            self.members().all(id),
            self.cursors().all(id),
            self.members().unlisted(id),
            self.concealing().all(id),
        )
        .await?;
        for member in &mut members {
            (member.cursor, member.moved_at) = cursors.get(&member.user_id).copied().unwrap_or_default();
        }
        Ok((members, unlisted, concealed))
    }

    async fn find_begun_buckets(
        &self,
        id: ConversationId,
        known: u64,
        newest: u64,
    ) -> Result<(), StoreError> {
        for bucket in known + 1..=newest {
            if let Some((seq, entry_id)) = self.history().first_of_bucket(id, bucket).await? {
                self.marking().begin_bucket(id, BucketStart { bucket, seq, id: entry_id }).await?;
            }
        }
        Ok(())
    }

    /// Projects the entries after the watermark again, and brings the state up to the head.
    async fn project_again(
        &self,
        state: &mut ConversationState,
        unlisted: &mut Unlisted,
        after: Seq,
    ) -> Result<(), StoreError> {
        let id = state.conversation.id;
        let head = state.head.clone();
        let activity = Activity::of(&head, state.conversation.created_at);
        let mut after = after;
        while after < head.seq {
            let items = self.history().entries(id, after, PROJECTED_AT_ONCE_MAX).await?;
            let Some(last) = items.last().map(|item| item.entry.seq) else {
                return Err(corrupt("log", format!("{id}/{after}"), "the entry after it is missing"));
            };
            let effects = self.fold(state, &items).await?;
            effects.apply_to(state);
            let entries: Vec<Entry> = items.into_iter().map(|item| item.entry).collect();
            let begun = entries.first().filter(|entry| entry.seq == FIRST);
            let projection = Projection {
                conversation: id,
                begun: begun.map(|first| BucketStart::new(0, first)),
                entries: &entries,
                effects: &effects,
                activity,
                fan_out: state.details.fan_out,
            };
            self.project(&projection).await?;
            // A member who joined again starts afresh.
            let joined = projection.joined();
            unlisted.retain(|user, _| !joined.contains(user));
            after = last;
        }
        state.head = head;
        self.watermarks.raise(id, after);
        Ok(())
    }

    /// The effects of entries after the state. Some of them may have been written already.
    async fn fold(&self, state: &ConversationState, items: &[LogItem]) -> Result<Effects, StoreError> {
        let id = state.conversation.id;
        let mut fold = Fold::new(state);
        let mut needs = Needs::default();
        for Needs { members, messages } in items.iter().map(|item| Needs::of(&item.entry)) {
            needs.members.extend(members);
            needs.messages.extend(messages);
        }
        let is_new = |seq: &Seq| items.first().is_some_and(|first| *seq >= first.entry.seq);
        needs.messages.retain(|seq| !is_new(seq));
        let older = self.history().items(id, &needs.messages).await?.into_iter().flatten();
        for item in older.chain(items.iter().filter(|item| item.entry.message().is_some()).cloned()) {
            needs.members.extend(Needs::of_mentioned(&item));
            fold.know_message(item);
        }
        if !state.is_whole() {
            for (user, member) in self.members_of(id, needs.members).await? {
                fold.know_member(user, member);
            }
        }
        items.iter().for_each(|item| fold.apply(&item.entry));
        Ok(fold.finish())
    }

    /// Reads members by their ids. `None` for a user who is not a member.
    async fn members_of(
        &self,
        id: ConversationId,
        mut users: Vec<UserId>,
    ) -> Result<Vec<(UserId, Option<Member>)>, StoreError> {
        users.sort_unstable();
        users.dedup();
        let members =
            users.into_iter().map(|user| async move { Ok((user, self.member_alone(id, user).await?)) });
        stream::iter(members).buffered(MEMBERS_AT_ONCE_MAX).try_collect().await
    }

    /// Sets for each member whether the conversation is in their inbox. If a crash interrupted a member who
    /// took it out while an entry was shown, the conversation is put back.
    async fn finish_listing(
        &self,
        state: &mut ConversationState,
        unlisted: &Unlisted,
    ) -> Result<(), StoreError> {
        if !state.is_whole() || unlisted.is_empty() {
            return Ok(());
        }
        let change = listing_change(state);
        for member in &mut state.members {
            let Some(through) = unlisted.get(&member.user_id) else { continue };
            member.unlisted = *through >= change.activity.seq;
            if !member.unlisted {
                let pass = self.gate.enter_to_finish().await?;
                pass.leave(self.list(member.user_id, change, false, true).await).await?;
            }
        }
        Ok(())
    }
}

/// The change that puts a conversation into inboxes in its present state.
pub(super) fn listing_change(state: &ConversationState) -> ListingChange {
    let head = &state.head;
    ListingChange {
        conversation: state.conversation.id,
        at: MessageId::new(head.id).timestamp(),
        through: head.seq,
        activity: Activity::of(head, state.conversation.created_at),
        apart: !state.is_whole(),
    }
}
