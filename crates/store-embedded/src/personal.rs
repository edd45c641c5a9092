//! Starred, hidden and scheduled messages.

use async_trait::async_trait;
use godwit_domain::model::{AccountEntry, AccountNote, Concealed, Scheduled, ScheduledStage, Star};
use godwit_domain::ports::{Listed, PersonalStore, ReplaceScheduled, ScheduleOutcome, SeqRange, StoreError};
use godwit_protocol::{ConversationId, MessageId, ScheduledId, Seq, Timestamp, UserId};

use crate::engine::{Direction, Row};
use crate::keys::{self, Key};
use crate::read::Read;
use crate::records::{CountRecord, Record, ScheduledRecord, StarRecord, present};
use crate::txn::Txn;
use crate::{EmbeddedStore, account_log, loading};

#[async_trait]
impl PersonalStore for EmbeddedStore {
    async fn hide(
        &self,
        user: UserId,
        conversation: ConversationId,
        seq: Seq,
        max: usize,
        note: AccountNote,
    ) -> Result<Listed, StoreError> {
        let write = move |txn: &mut Txn<'_>| {
            let key = keys::hidden(user, conversation, seq);
            if !txn.contains(&key)? && !count_one(txn, keys::hidden_count(user, conversation), max)? {
                return Ok(Listed::Full);
            }
            txn.put(key, present());
            txn.put(keys::hidden_from(conversation, seq, user), present());
            let concealed = Concealed { hidden_to: seq, ..Concealed::default() };
            loading::conceal(txn, conversation, user, concealed)?;
            account_log::note(txn, note).map(Listed::Added)
        };
        self.write("hide a message", write).await
    }

    async fn hidden_from(
        &self,
        conversation: ConversationId,
        seq: Seq,
        limit: usize,
    ) -> Result<Vec<UserId>, StoreError> {
        let range = keys::all_hidden_from(conversation, seq);
        let rows = self.engine.view().page(&range, Direction::Forward, limit)?;
        rows.iter().map(|(key, _)| keys::last_id("hidden messages", key).map(UserId::new)).collect()
    }

    async fn hidden(
        &self,
        user: UserId,
        conversation: ConversationId,
        range: SeqRange,
    ) -> Result<Vec<Seq>, StoreError> {
        let view = self.engine.view();
        // Most have hidden nothing, and to look for one row is much less than to go through none.
        if !view.contains(&keys::hidden_count(user, conversation))? {
            return Ok(Vec::new());
        }
        let rows = view.all(&keys::all_hidden(user, conversation, range))?;
        rows.iter().map(|(key, _)| keys::last_id("hidden messages", key).map(Seq::new)).collect()
    }

    async fn star(
        &self,
        user: UserId,
        star: Star,
        max: usize,
        note: AccountNote,
    ) -> Result<Listed, StoreError> {
        let write = move |txn: &mut Txn<'_>| {
            let key = keys::star(user, star.message_id);
            if txn.contains(&key)? {
                return Ok(Listed::Unchanged);
            }
            if !count_one(txn, keys::star_count(user), max)? {
                return Ok(Listed::Full);
            }
            txn.put_record(key, &StarRecord::from(star));
            account_log::note(txn, note).map(Listed::Added)
        };
        self.write("star a message", write).await
    }

    async fn unstar(
        &self,
        user: UserId,
        message: MessageId,
        note: AccountNote,
    ) -> Result<Option<AccountEntry>, StoreError> {
        let write = move |txn: &mut Txn<'_>| {
            let key = keys::star(user, message);
            if !txn.contains(&key)? {
                return Ok(None);
            }
            txn.remove(key);
            let count = keys::star_count(user);
            let CountRecord(stars) = txn.record(&count)?.unwrap_or_default();
            txn.put_record(count, &CountRecord(stars.saturating_sub(1)));
            account_log::note(txn, note).map(Some)
        };
        self.write("unstar a message", write).await
    }

    async fn stars(
        &self,
        user: UserId,
        before: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<Star>, StoreError> {
        let rows = self.engine.view().page(&keys::stars_before(user, before), Direction::Backward, limit)?;
        let star = |(key, value): &Row| {
            let id = MessageId::new(keys::last_id(StarRecord::TABLE, key)?);
            Ok(StarRecord::decode(key, value)?.into_star(id))
        };
        rows.iter().map(star).collect()
    }

    async fn schedule(
        &self,
        scheduled: Scheduled,
        max: usize,
        note: AccountNote,
    ) -> Result<ScheduleOutcome, StoreError> {
        self.write("schedule a message", move |txn| schedule(txn, &scheduled, max, note)).await
    }

    async fn scheduled(&self, user: UserId) -> Result<Vec<Scheduled>, StoreError> {
        all_scheduled(&self.engine.view(), user)
    }

    async fn scheduled_one(&self, user: UserId, id: ScheduledId) -> Result<Option<Scheduled>, StoreError> {
        scheduled_one(&self.engine.view(), user, id)
    }

    async fn replace_scheduled(
        &self,
        expected: Scheduled,
        with: Option<Scheduled>,
        note: Option<AccountNote>,
    ) -> Result<ReplaceScheduled, StoreError> {
        let write = move |txn: &mut Txn<'_>| {
            let (user, id) = (expected.user_id, expected.id);
            let Some(before) = scheduled_one(txn, user, id)? else { return Ok(ReplaceScheduled::NotFound) };
            if before != expected {
                return Ok(ReplaceScheduled::Changed);
            }
            txn.remove(keys::scheduled(user, id));
            txn.remove(keys::due(before.send_at, user, id));
            if let Some(with) = with {
                put_scheduled(txn, &with);
            }
            let entry = note.map(|note| account_log::note(txn, note)).transpose()?;
            Ok(ReplaceScheduled::Replaced(entry))
        };
        self.write("replace a scheduled message", write).await
    }

    async fn due_scheduled(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<(UserId, ScheduledId)>, StoreError> {
        let rows = self.engine.view().page(&keys::due_until(now), Direction::Forward, limit)?;
        rows.iter().map(|(key, _)| keys::decode_due(key)).collect()
    }
}

/// Counts one more, unless there are `max` of them.
fn count_one(txn: &mut Txn<'_>, key: Key, max: usize) -> Result<bool, StoreError> {
    let CountRecord(count) = txn.record(&key)?.unwrap_or_default();
    let has_room = count < max as u64;
    if has_room {
        txn.put_record(key, &CountRecord(count + 1));
    }
    Ok(has_room)
}

/// A user has so few of them that they are counted, and searched for the client id.
fn schedule(
    txn: &mut Txn<'_>,
    scheduled: &Scheduled,
    max: usize,
    note: AccountNote,
) -> Result<ScheduleOutcome, StoreError> {
    let present = all_scheduled(txn, scheduled.user_id)?;
    let count = present.iter().filter(|other| other.stage.is_listed()).count();
    let is_same = |other: &Scheduled| {
        (other.conversation, &other.draft.client_id) == (scheduled.conversation, &scheduled.draft.client_id)
    };
    if let Some(same) = present.into_iter().find(is_same) {
        return Ok(ScheduleOutcome::Repeated(same));
    }
    if count >= max {
        return Ok(ScheduleOutcome::Full);
    }
    put_scheduled(txn, scheduled);
    account_log::note(txn, note).map(ScheduleOutcome::Scheduled)
}

/// Puts it where it is found, and among those that are due some time, unless it is past that.
fn put_scheduled(txn: &mut Txn<'_>, scheduled: &Scheduled) {
    let (user, id) = (scheduled.user_id, scheduled.id);
    if !matches!(scheduled.stage, ScheduledStage::Failed(_)) {
        txn.put(keys::due(scheduled.send_at, user, id), present());
    }
    txn.put_record(keys::scheduled(user, id), &ScheduledRecord::from(scheduled));
}

fn all_scheduled(store: &impl Read, user: UserId) -> Result<Vec<Scheduled>, StoreError> {
    let scheduled = |(key, value): &Row| {
        let id = ScheduledId::new(keys::last_id(ScheduledRecord::TABLE, key)?);
        Ok(ScheduledRecord::decode(key, value)?.into_scheduled(user, id))
    };
    store.all(&keys::scheduled_of(user))?.iter().map(scheduled).collect()
}

fn scheduled_one(store: &impl Read, user: UserId, id: ScheduledId) -> Result<Option<Scheduled>, StoreError> {
    let key = keys::scheduled(user, id);
    let Some(row) = store.bytes(&key)? else { return Ok(None) };
    Ok(Some(ScheduledRecord::decode(&key.bytes, &row)?.into_scheduled(user, id)))
}
