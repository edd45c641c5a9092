//! Scheduled messages.

use std::slice;

use godwit_domain::model::{
    AccountChange, ClientId, Draft, Media, MessageBody, Scheduled, ScheduledStage,
};
use godwit_domain::ports::{ReplaceScheduled, ScheduleOutcome, StoreError};
use godwit_protocol::{ConversationId, ErrorCode, MessageId, ScheduledId, UserId};

use super::{CALLERS, Outcome};
use crate::due::due_scheduled_of;
use crate::paging::account_log_after;
use crate::scene::Scene;

/// More than a case schedules, unless it tests the limit.
const MAX: usize = 100;
/// Nodes that find the same due message concurrently.
const CLAIMANTS: usize = 8;

pub(super) async fn a_scheduled_message_reads_back(s: &Scene) -> Outcome {
    let user = s.user().await?;
    let media = Media {
        url: "https://example.org/m".into(),
        content_type: "image/png".into(),
        size_bytes: 7,
        name: Some("señal.png".into()),
        width: Some(640),
        height: None,
        duration_ms: Some(1),
    };
    let plain = new(s, user, 1_000);
    let full = Scheduled {
        draft: Draft {
            client_id: ClientId::from_stored("full"),
            body: Some(MessageBody::Image { media: media.into(), caption: Some("two\nlines".into()) }),
            reply_to: Some(MessageId::new(7)),
            forwarded_from: Some(MessageId::new(8)),
        },
        ..new(s, user, 2_000)
    };
    let forward = Scheduled {
        draft: Draft { body: None, forwarded_from: Some(MessageId::new(9)), ..plain.draft.clone() },
        ..new(s, user, 3_000)
    };
    for scheduled in [&plain, &full, &forward] {
        let ScheduleOutcome::Scheduled(entry) = schedule(s, scheduled, MAX).await? else {
            panic!("it was not there before");
        };
        assert_eq!((entry.at, entry.change), (s.now(), AccountChange::ScheduledUpdated(scheduled.id)));
        assert_eq!(s.store().account_head(user).await?, entry.seq);
        assert_eq!(s.store().scheduled_one(user, scheduled.id).await?.as_ref(), Some(scheduled));
    }
    assert_eq!(all_of(s, user).await?, [plain.clone(), full, forward]);
    let other = s.user().await?;
    assert_eq!(s.store().scheduled(other).await?, []);
    assert_eq!(s.store().scheduled_one(other, plain.id).await?, None);
    tidy_up(s, user).await
}

pub(super) async fn a_repeated_client_id_returns_the_first_message(s: &Scene) -> Outcome {
    let (user, other) = (s.user().await?, s.user().await?);
    let first = new(s, user, 1_000);
    schedule(s, &first, 1).await?;
    let head = s.store().account_head(user).await?;
    let again = Scheduled { id: ScheduledId::new(s.id()), send_at: s.now(), ..first.clone() };
    let outcome = schedule(s, &again, 1).await?;
    assert_eq!(outcome, ScheduleOutcome::Repeated(first.clone()), "also when there is no room for more");
    assert_eq!(s.store().account_head(user).await?, head);
    assert_eq!(all_of(s, user).await?, slice::from_ref(&first));
    // In another conversation, or from another user, it is a different message.
    let elsewhere = Scheduled { conversation: ConversationId::new(s.id()), ..again.clone() };
    assert!(matches!(schedule(s, &elsewhere, MAX).await?, ScheduleOutcome::Scheduled(_)));
    let of_other = Scheduled { user_id: other, ..again };
    assert!(matches!(schedule(s, &of_other, MAX).await?, ScheduleOutcome::Scheduled(_)));
    // After it is removed, the client id is free.
    replace(s, &first, None).await?;
    let anew = Scheduled { id: ScheduledId::new(s.id()), ..first };
    assert!(matches!(schedule(s, &anew, MAX).await?, ScheduleOutcome::Scheduled(_)));
    tidy_up(s, user).await?;
    tidy_up(s, other).await
}

pub(super) async fn concurrent_callers_with_a_client_id_schedule_one_message(s: &Scene) -> Outcome {
    let user = s.user().await?;
    let first = new(s, user, 1_000);
    let offers: Vec<Scheduled> =
        (0..CALLERS).map(|_| Scheduled { id: ScheduledId::new(s.id()), ..first.clone() }).collect();
    let outcomes = s.at_once(CALLERS, |i, store| {
        let offer = offers[i].clone();
        let note = s.note(user, AccountChange::ScheduledUpdated(offer.id));
        async move { store.schedule(offer, MAX, note).await }
    });
    let outcomes = outcomes.await?;
    let stored = all_of(s, user).await?;
    assert_eq!(stored.len(), 1, "{stored:?}");
    for (offer, outcome) in offers.into_iter().zip(outcomes) {
        match outcome {
            ScheduleOutcome::Scheduled(_) => assert_eq!(offer, stored[0]),
            outcome => assert_eq!(outcome, ScheduleOutcome::Repeated(stored[0].clone())),
        }
    }
    assert_eq!(account_log_after(s.store(), user, 0, 50).await?.map(|log| log.len()), Some(1));
    tidy_up(s, user).await
}

pub(super) async fn scheduled_messages_are_bounded(s: &Scene) -> Outcome {
    let user = s.user().await?;
    let [a, b, c] = [1_000, 2_000, 3_000].map(|ms| new(s, user, ms));
    schedule(s, &a, 2).await?;
    schedule(s, &b, 2).await?;
    let head = s.store().account_head(user).await?;
    assert_eq!(schedule(s, &c, 2).await?, ScheduleOutcome::Full);
    assert_eq!(s.store().account_head(user).await?, head, "what is refused writes no note");
    assert_eq!(s.store().scheduled_one(user, c.id).await?, None);
    replace(s, &a, None).await?;
    assert!(matches!(schedule(s, &c, 2).await?, ScheduleOutcome::Scheduled(_)));
    tidy_up(s, user).await
}

pub(super) async fn a_sent_message_is_remembered_and_does_not_count(s: &Scene) -> Outcome {
    let user = s.user().await?;
    let (a, b) = (new(s, user, 1_000), new(s, user, 2_000));
    schedule(s, &a, 1).await?;
    let until = s.now().plus_millis(5_000);
    let sent = a.clone().remembered_as(MessageId::new(7), until);
    replace(s, &a, Some(&sent)).await?;
    assert_eq!(s.store().scheduled_one(user, a.id).await?, Some(sent.clone()));
    assert!(matches!(schedule(s, &b, 1).await?, ScheduleOutcome::Scheduled(_)), "there is room");
    let again = Scheduled { id: ScheduledId::new(s.id()), ..a.clone() };
    assert_eq!(schedule(s, &again, 9).await?, ScheduleOutcome::Repeated(sent.clone()));
    let due = due_scheduled_of(s.store(), until, &[user]).await?;
    assert_eq!(due, [(user, b.id), (user, a.id)], "it is due when it is to be forgotten");
    let sent_as_another = Scheduled { stage: ScheduledStage::Sent(MessageId::new(8)), ..sent.clone() };
    assert_eq!(replace(s, &sent_as_another, None).await?, ReplaceScheduled::Changed);
    replace(s, &sent, None).await?;
    assert!(matches!(schedule(s, &again, 9).await?, ScheduleOutcome::Scheduled(_)));
    tidy_up(s, user).await
}

pub(super) async fn a_scheduled_message_is_replaced_only_at_the_expected_stage(s: &Scene) -> Outcome {
    let user = s.user().await?;
    let waiting = new(s, user, 1_000);
    schedule(s, &waiting, MAX).await?;
    let sending = Scheduled { stage: ScheduledStage::Sending, ..waiting.clone() };
    let failed = Scheduled { stage: ScheduledStage::Failed(ErrorCode::NotFound), ..waiting.clone() };
    for (current, with) in
        [(&waiting, &sending), (&sending, &waiting), (&waiting, &sending), (&sending, &failed)]
    {
        for stage in [ScheduledStage::Waiting, ScheduledStage::Sending, ScheduledStage::Failed(ErrorCode::Unknown)] {
            let wrong = Scheduled { stage, ..current.clone() };
            if wrong != *current {
                let head = s.store().account_head(user).await?;
                let outcome = replace(s, &wrong, Some(with)).await?;
                assert_eq!(outcome, ReplaceScheduled::Changed, "it is {:?}, not {stage:?}", current.stage);
                assert_eq!(s.store().account_head(user).await?, head);
            }
        }
        s.advance_ms(10);
        let outcome = replace(s, current, Some(with)).await?;
        let ReplaceScheduled::Replaced(Some(entry)) = outcome else { panic!("{outcome:?}") };
        assert_eq!((entry.at, entry.change), (s.now(), AccountChange::ScheduledUpdated(waiting.id)));
        assert_eq!(all_of(s, user).await?, slice::from_ref(with));
    }
    assert_eq!(replace(s, &waiting, None).await?, ReplaceScheduled::Changed);
    assert!(matches!(replace(s, &failed, None).await?, ReplaceScheduled::Replaced(Some(_))));
    assert_eq!(all_of(s, user).await?, []);
    assert_eq!(replace(s, &failed, None).await?, ReplaceScheduled::NotFound);
    assert_eq!(replace(s, &failed, Some(&waiting)).await?, ReplaceScheduled::NotFound);
    Ok(())
}

pub(super) async fn an_unread_change_is_not_overwritten(s: &Scene) -> Outcome {
    let user = s.user().await?;
    let read = new(s, user, 1_000);
    schedule(s, &read, MAX).await?;
    let mut current = read.clone();
    let body = Some(MessageBody::Text("another".into()));
    let reworded = Scheduled { draft: Draft { body, ..read.draft.clone() }, ..read.clone() };
    let put_off = Scheduled { send_at: s.now().plus_millis(90_000_000), ..read.clone() };
    // Every stage is still the one that an earlier reader expects.
    for changed in [reworded, put_off] {
        replace(s, &current, Some(&changed)).await?;
        let head = s.store().account_head(user).await?;
        for with in [Some(Scheduled { stage: ScheduledStage::Sending, ..read.clone() }), None] {
            assert_eq!(replace(s, &read, with.as_ref()).await?, ReplaceScheduled::Changed);
            assert_eq!(all_of(s, user).await?, slice::from_ref(&changed));
        }
        assert_eq!(s.store().account_head(user).await?, head);
        assert_eq!(due_scheduled_of(s.store(), changed.send_at, &[user]).await?, [(user, read.id)]);
        current = changed;
    }
    assert_eq!(due_scheduled_of(s.store(), read.send_at, &[user]).await?, [], "it was put off");
    // Of several concurrent changes of the same version, one succeeds, and the others read again.
    let changes: Vec<Scheduled> =
        (1..=CLAIMANTS as i64).map(|n| Scheduled { send_at: s.now().plus_millis(n), ..current.clone() }).collect();
    let outcomes = s.at_once(CLAIMANTS, |i, store| {
        let (expected, with) = (current.clone(), Some(changes[i].clone()));
        async move { store.replace_scheduled(expected, with, None).await }
    });
    let outcomes = outcomes.await?;
    let won = outcomes.iter().position(|outcome| *outcome == ReplaceScheduled::Replaced(None));
    let won = won.expect("one of them is first");
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == ReplaceScheduled::Changed).count(), CLAIMANTS - 1);
    assert_eq!(all_of(s, user).await?, slice::from_ref(&changes[won]));
    tidy_up(s, user).await
}

pub(super) async fn a_replacement_without_a_note_writes_none(s: &Scene) -> Outcome {
    let user = s.user().await?;
    let waiting = new(s, user, 1_000);
    schedule(s, &waiting, MAX).await?;
    let head = s.store().account_head(user).await?;
    let sending = Scheduled { stage: ScheduledStage::Sending, ..waiting.clone() };
    let store = s.store();
    let outcome = store.replace_scheduled(waiting, Some(sending.clone()), None).await?;
    assert_eq!(outcome, ReplaceScheduled::Replaced(None));
    let outcome = store.replace_scheduled(sending, None, None).await?;
    assert_eq!(outcome, ReplaceScheduled::Replaced(None));
    assert_eq!(s.store().account_head(user).await?, head);
    Ok(())
}

pub(super) async fn one_of_many_concurrent_claims_wins(s: &Scene) -> Outcome {
    let user = s.user().await?;
    for round in 0..4_usize {
        // From the second round on, one caller cancels it instead.
        let canceller = round.checked_sub(1);
        let waiting = new(s, user, 1_000);
        schedule(s, &waiting, MAX).await?;
        let sending = Scheduled { stage: ScheduledStage::Sending, ..waiting.clone() };
        let outcomes = s.at_once(CLAIMANTS, |i, store| {
            let (expected, with) = (waiting.clone(), (Some(i) != canceller).then(|| sending.clone()));
            async move { store.replace_scheduled(expected, with, None).await }
        });
        let outcomes = outcomes.await?;
        let won = |outcome: &ReplaceScheduled| *outcome == ReplaceScheduled::Replaced(None);
        assert_eq!(outcomes.iter().filter(|outcome| won(outcome)).count(), 1, "{outcomes:?}");
        let cancelled = canceller.is_some_and(|canceller| won(&outcomes[canceller]));
        let expected = (!cancelled).then(|| sending.clone());
        assert_eq!(s.store().scheduled_one(user, waiting.id).await?, expected);
        let lost = if cancelled { ReplaceScheduled::NotFound } else { ReplaceScheduled::Changed };
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == lost).count(), CLAIMANTS - 1, "{outcomes:?}");
    }
    tidy_up(s, user).await
}

pub(super) async fn due_messages_are_sorted_longest_overdue_first(s: &Scene) -> Outcome {
    let users = [s.user().await?, s.user().await?];
    let mut all = Vec::new();
    for (place, ms) in [5_000, 1_000, 3_600_000, 2_000, 90_000_000, 4_000].into_iter().enumerate() {
        let scheduled = new(s, users[place % 2], ms);
        schedule(s, &scheduled, MAX).await?;
        all.push(scheduled);
    }
    all.sort_by_key(|scheduled| scheduled.send_at);
    let begin = s.now();
    for ms in [999, 1_000, 1_001, 4_500, 4_000_000, 100_000_000] {
        let now = begin.plus_millis(ms);
        let due = all.iter().filter(|scheduled| scheduled.send_at <= now);
        let expected: Vec<_> = due.map(|scheduled| (scheduled.user_id, scheduled.id)).collect();
        assert_eq!(due_scheduled_of(s.store(), now, &users).await?, expected, "after {ms} ms");
        assert!(s.store().due_scheduled(now, 2).await?.len() <= 2);
    }
    for user in users {
        tidy_up(s, user).await?;
    }
    assert_eq!(due_scheduled_of(s.store(), begin.plus_millis(100_000_000), &users).await?, []);
    Ok(())
}

pub(super) async fn a_replaced_message_is_due_at_its_new_time(s: &Scene) -> Outcome {
    let user = s.user().await?;
    let begin = s.now();
    let first = new(s, user, 1_000);
    schedule(s, &first, MAX).await?;
    let is_due = async |ms| {
        let due = due_scheduled_of(s.store(), begin.plus_millis(ms), &[user]).await?;
        Ok::<_, StoreError>(due == [(user, first.id)])
    };
    let later = Scheduled { send_at: begin.plus_millis(90_000_000), ..first.clone() };
    replace(s, &first, Some(&later)).await?;
    assert_eq!((is_due(1_000).await?, is_due(90_000_000).await?), (false, true));
    let earlier = Scheduled { send_at: begin.plus_millis(500), ..first.clone() };
    replace(s, &later, Some(&earlier)).await?;
    assert_eq!((is_due(499).await?, is_due(500).await?), (false, true));
    let sending = Scheduled { stage: ScheduledStage::Sending, ..earlier.clone() };
    replace(s, &earlier, Some(&sending)).await?;
    assert!(is_due(500).await?, "a server that finds it half sent resumes it");
    let failed = Scheduled { stage: ScheduledStage::Failed(ErrorCode::NotFound), ..earlier.clone() };
    replace(s, &sending, Some(&failed)).await?;
    assert!(!is_due(90_000_000).await?, "it was tried");
    replace(s, &failed, Some(&earlier)).await?;
    assert!(is_due(500).await?, "it is to be tried again");
    tidy_up(s, user).await?;
    assert!(!is_due(90_000_000).await?);
    Ok(())
}

/// A scheduled text of the user, due in this many milliseconds.
fn new(s: &Scene, user_id: UserId, in_ms: i64) -> Scheduled {
    let client_id = s.word();
    let draft = Draft {
        body: Some(MessageBody::Text("later".into())),
        client_id: ClientId::from_stored(client_id),
        reply_to: None,
        forwarded_from: None,
    };
    Scheduled {
        id: ScheduledId::new(s.id()),
        user_id,
        conversation: ConversationId::new(s.id()),
        send_at: s.now().plus_millis(in_ms),
        draft,
        stage: ScheduledStage::Waiting,
    }
}

async fn schedule(s: &Scene, scheduled: &Scheduled, max: usize) -> Result<ScheduleOutcome, StoreError> {
    let note = s.note(scheduled.user_id, AccountChange::ScheduledUpdated(scheduled.id));
    s.store().schedule(scheduled.clone(), max, note).await
}

async fn replace(
    s: &Scene,
    expected: &Scheduled,
    with: Option<&Scheduled>,
) -> Result<ReplaceScheduled, StoreError> {
    let (user, id) = (expected.user_id, expected.id);
    let change = match with {
        Some(_) => AccountChange::ScheduledUpdated(id),
        None => AccountChange::ScheduledGone(id),
    };
    s.store().replace_scheduled(expected.clone(), with.cloned(), Some(s.note(user, change))).await
}

/// Sorted by creation.
async fn all_of(s: &Scene, user: UserId) -> Result<Vec<Scheduled>, StoreError> {
    let mut all = s.store().scheduled(user).await?;
    all.sort_by_key(|scheduled| scheduled.id);
    Ok(all)
}

/// Removes all scheduled messages, so that due ones do not accumulate on a shared store.
async fn tidy_up(s: &Scene, user: UserId) -> Outcome {
    for scheduled in s.store().scheduled(user).await? {
        replace(s, &scheduled, None).await?;
    }
    assert_eq!(s.store().scheduled(user).await?, []);
    Ok(())
}
