//! The account log, which keeps the devices of a user in sync.

use std::sync::Arc;

use godwit_domain::model::{AccountChange, AccountEntry, AccountNote};
use godwit_domain::ports::{Store, StoreError, UpdateUser, UserChange};
use godwit_protocol::limits::ACCOUNT_LOG_ENTRIES_MAX;
use godwit_protocol::sync::GoneReason;
use godwit_protocol::{ConversationId, DeviceId, MessageId, ScheduledId, UserId};

use super::{CALLERS, Outcome};
use crate::paging::account_log_after;
use crate::scene::Scene;

pub(super) async fn the_head_of_an_empty_log_is_zero(s: &Scene) -> Outcome {
    let user = s.user().await?;
    assert_eq!(s.store().account_head(user).await?, 0);
    assert_eq!(s.store().account_log(user, 0, 50).await?, Some(vec![]));
    Ok(())
}

pub(super) async fn entries_come_in_the_order_they_were_written(s: &Scene) -> Outcome {
    let user = s.user().await?;
    let (a, b, c) = (s.id(), s.id(), s.id());
    let mut log = Vec::new();
    for change in [
        AccountChange::ConversationListed(ConversationId::new(c)),
        AccountChange::ProfileUpdated,
        AccountChange::DeviceAdded(DeviceId::new(a)),
        AccountChange::ReadMoved(ConversationId::new(b)),
        AccountChange::SettingsChanged(ConversationId::new(b)),
        AccountChange::UserBlocked(UserId::new(b)),
        AccountChange::ConversationGone(ConversationId::new(a), GoneReason::Deleted),
        AccountChange::ConversationGone(ConversationId::new(b), GoneReason::Removed),
        AccountChange::UserUnblocked(UserId::new(a)),
        AccountChange::DeviceRemoved(DeviceId::new(c)),
        AccountChange::MessageHidden(MessageId::new(a)),
        AccountChange::MessageStarred(MessageId::new(a)),
        AccountChange::MessageUnstarred(MessageId::new(b)),
        AccountChange::ScheduledUpdated(ScheduledId::new(a)),
        AccountChange::ScheduledGone(ScheduledId::new(b)),
    ] {
        s.advance_ms(10);
        let entry = write(s.store(), s.note(user, change)).await?;
        assert_eq!((entry.at, entry.change), (s.now(), change));
        assert_eq!(s.store().account_head(user).await?, entry.seq);
        log.push(entry);
    }
    assert!(log.is_sorted_by(|a, b| a.seq < b.seq), "{log:?}");
    assert_eq!(s.store().account_log(user, 0, 50).await?, Some(log));
    Ok(())
}

pub(super) async fn pages_go_through_the_log(s: &Scene) -> Outcome {
    let user = s.user().await?;
    let mut log = Vec::new();
    for _ in 0..7 {
        log.push(write(s.store(), note_about_somebody(s, user)).await?);
    }
    for limit in 1..=log.len() + 1 {
        assert_eq!(account_log_after(s.store(), user, 0, limit).await?.as_ref(), Some(&log), "in pages of {limit}");
    }
    for (number, entry) in log.iter().enumerate() {
        let rest = s.store().account_log(user, entry.seq, 50).await?;
        assert_eq!(rest.as_deref(), Some(&log[number + 1..]));
    }
    Ok(())
}

pub(super) async fn a_newer_entry_replaces_the_one_about_the_same_subject(s: &Scene) -> Outcome {
    let user = s.user().await?;
    // The same id of different kinds of things: the subjects differ.
    let id = s.id();
    let (user_id, conversation, device) = (UserId::new(id), ConversationId::new(id), DeviceId::new(id));
    let (message, scheduled) = (MessageId::new(id), ScheduledId::new(id));
    let pairs = [
        (AccountChange::UserBlocked(user_id), AccountChange::UserUnblocked(user_id)),
        (
            AccountChange::ConversationListed(conversation),
            AccountChange::ConversationGone(conversation, GoneReason::Removed),
        ),
        (AccountChange::SettingsChanged(conversation), AccountChange::SettingsChanged(conversation)),
        (AccountChange::ReadMoved(conversation), AccountChange::ReadMoved(conversation)),
        (AccountChange::MessageHidden(message), AccountChange::MessageHidden(message)),
        (AccountChange::MessageStarred(message), AccountChange::MessageUnstarred(message)),
        (AccountChange::ScheduledUpdated(scheduled), AccountChange::ScheduledGone(scheduled)),
        (AccountChange::DeviceAdded(device), AccountChange::DeviceRemoved(device)),
        (AccountChange::ProfileUpdated, AccountChange::ProfileUpdated),
    ];
    let mut older = Vec::new();
    for (first, _) in pairs {
        older.push(write(s.store(), s.note(user, first)).await?);
    }
    let mut newer = Vec::new();
    for (number, (_, second)) in pairs.into_iter().enumerate() {
        s.advance_ms(10);
        newer.push(write(s.store(), s.note(user, second)).await?);
        let log: Vec<AccountEntry> = older[number + 1..].iter().chain(&newer).copied().collect();
        assert_eq!(s.store().account_log(user, 0, 50).await?, Some(log));
    }
    // A device that has read up to an entry which was replaced since continues from there.
    assert_eq!(s.store().account_log(user, older[2].seq, 50).await?, Some(newer));
    Ok(())
}

pub(super) async fn a_position_past_the_end_is_not_answered(s: &Scene) -> Outcome {
    let user = s.user().await?;
    assert_eq!(s.store().account_log(user, 1, 50).await?, None);
    let entry = write(s.store(), note_about_somebody(s, user)).await?;
    assert_eq!(s.store().account_log(user, entry.seq, 50).await?, Some(vec![]));
    assert_eq!(s.store().account_log(user, entry.seq + 1, 50).await?, None);
    assert_eq!(s.store().account_log(user, u64::MAX, 50).await?, None);
    Ok(())
}

pub(super) async fn logs_of_two_users_do_not_mix(s: &Scene) -> Outcome {
    let (ada, bob) = (s.user().await?, s.user().await?);
    let of_ada = write(s.store(), s.note(ada, AccountChange::ProfileUpdated)).await?;
    let of_bob = write(s.store(), s.note(bob, AccountChange::ProfileUpdated)).await?;
    assert_eq!(s.store().account_log(ada, 0, 50).await?, Some(vec![of_ada]));
    assert_eq!(s.store().account_log(bob, 0, 50).await?, Some(vec![of_bob]));
    Ok(())
}

pub(super) async fn concurrent_notes_are_all_kept(s: &Scene) -> Outcome {
    let user = s.user().await?;
    let notes: Vec<AccountNote> = (0..CALLERS).map(|_| note_about_somebody(s, user)).collect();
    let written = s.at_once(CALLERS, |i, store| {
        let note = notes[i];
        async move { write(&*store, note).await }
    });
    let mut written = written.await?;
    written.sort_by_key(|entry| entry.seq);
    assert!(written.is_sorted_by(|a, b| a.seq < b.seq), "two have the same seq: {written:?}");
    assert_eq!(s.store().account_log(user, 0, CALLERS * 2).await?, Some(written));
    Ok(())
}

pub(super) async fn a_reader_misses_nothing_while_others_write(s: &Scene) -> Outcome {
    const WRITERS: usize = 8;
    const NOTES: usize = 10;
    let user = s.user().await?;
    let read = s.at_once(WRITERS + 1, |i, store| {
        let s = s.clone();
        async move {
            if i == 0 {
                return read_until(&store, user, WRITERS * NOTES).await;
            }
            for _ in 0..NOTES {
                write(&*store, note_about_somebody(&s, user)).await?;
            }
            Ok(Vec::new())
        }
    });
    let read = read.await?.swap_remove(0);
    assert_eq!(s.store().account_log(user, 0, WRITERS * NOTES * 2).await?, Some(read));
    Ok(())
}

pub(super) async fn a_truncated_log_reports_the_gap(s: &Scene) -> Outcome {
    let user = s.user().await?;
    let mut log = write_many(s, user, ACCOUNT_LOG_ENTRIES_MAX - 100).await?;
    // More entries than the log keeps were written, but about few subjects.
    let mut profile = None;
    for _ in 0..200 {
        profile = Some(write(s.store(), s.note(user, AccountChange::ProfileUpdated)).await?);
    }
    log.extend(profile);
    assert!(s.store().account_log(user, 0, 1).await?.is_some(), "replaced entries do not count");

    log.extend(write_many(s, user, 200).await?);
    is_cut(s, user, &log).await?;
    // A dropped entry no longer has a subject: a new entry about it replaces none.
    log.push(write(s.store(), s.note(user, log[0].change)).await?);
    is_cut(s, user, &log).await
}

/// A note about a unique subject.
fn note_about_somebody(s: &Scene, user: UserId) -> AccountNote {
    s.note(user, AccountChange::UserBlocked(UserId::new(s.id())))
}

/// Asserts that the newest entries are there, and that a reader of older ones is told about the gap.
async fn is_cut(s: &Scene, user: UserId, written: &[AccountEntry]) -> Outcome {
    let (dropped, kept) = written.split_at(written.len() - ACCOUNT_LOG_ENTRIES_MAX);
    for after in [0, dropped[0].seq, dropped[dropped.len() - 2].seq] {
        assert_eq!(s.store().account_log(user, after, 50).await?, None, "after {after}");
    }
    let last_dropped = dropped[dropped.len() - 1].seq;
    let read = account_log_after(s.store(), user, last_dropped, 1_000).await?;
    assert!(read.is_some_and(|read| read == kept), "who has read all that was dropped gets all that was kept");
    Ok(())
}

/// Writes at least this many notes about different subjects, and returns their entries in order.
async fn write_many(s: &Scene, user: UserId, count: usize) -> Result<Vec<AccountEntry>, StoreError> {
    let written = s.at_once(CALLERS, |_, store| {
        let s = s.clone();
        async move {
            let mut written = Vec::new();
            for _ in 0..count.div_ceil(CALLERS) {
                written.push(write(&*store, note_about_somebody(&s, user)).await?);
            }
            Ok(written)
        }
    });
    let mut written: Vec<AccountEntry> = written.await?.into_iter().flatten().collect();
    written.sort_by_key(|entry| entry.seq);
    Ok(written)
}

/// Writes any note: an update of a user accepts every kind and needs no other data.
async fn write(store: &dyn Store, note: AccountNote) -> Result<AccountEntry, StoreError> {
    match store.update_user(note.user_id, UserChange::default(), Some(note)).await? {
        UpdateUser::Updated(_, Some(entry)) => Ok(entry),
        other => panic!("a note was not written: {other:?}"),
    }
}

/// Follows a log, as devices do, until it has this many entries.
async fn read_until(store: &Arc<dyn Store>, user: UserId, count: usize) -> Result<Vec<AccountEntry>, StoreError> {
    let mut read: Vec<AccountEntry> = Vec::new();
    while read.len() < count {
        let after = read.last().map_or(0, |entry| entry.seq);
        read.extend(store.account_log(user, after, 7).await?.expect("nothing was dropped"));
        tokio::task::yield_now().await;
    }
    Ok(read)
}
