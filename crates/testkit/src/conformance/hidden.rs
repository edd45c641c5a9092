//! Messages that a user has hidden.

use godwit_domain::model::{AccountChange, AccountEntry, Concealed};
use godwit_domain::ports::{Listed, SeqRange, StoreError};
use godwit_protocol::sync::GoneReason;
use godwit_protocol::{ConversationId, MessageId, Seq, UserId};

use super::{CALLERS, Outcome};
use crate::paging::account_log_after;
use crate::scene::Scene;

/// More than a case hides, unless it tests the limit.
const MAX: usize = 100;

pub(super) async fn hidden_seqs_of_a_range_are_in_order(s: &Scene) -> Outcome {
    let (user, id) = (s.user().await?, ConversationId::new(s.id()));
    for seq in [7, 2, 4_200, 5, 4_095, 4_096] {
        added(hide(s, user, id, seq, MAX).await?);
    }
    for (after, before, expected) in [
        (0, u64::MAX, &[2, 5, 7, 4_095, 4_096, 4_200][..]),
        (2, 7, &[5]),
        (1, 8, &[2, 5, 7]),
        (4_094, 4_097, &[4_095, 4_096]),
        (7, 4_095, &[]),
        (5, 5, &[]),
        (9, 3, &[]),
    ] {
        assert_eq!(hidden(s, user, id, after, before).await?, expected, "between {after} and {before}");
    }
    Ok(())
}

pub(super) async fn a_message_is_hidden_from_one_user_in_one_conversation(s: &Scene) -> Outcome {
    let (ada, bob) = (s.user().await?, s.user().await?);
    let (a, b) = (ConversationId::new(s.id()), ConversationId::new(s.id()));
    added(hide(s, ada, a, 2, MAX).await?);
    assert_eq!(hidden(s, ada, a, 0, 9).await?, [2]);
    assert!(hidden(s, ada, b, 0, 9).await?.is_empty());
    assert!(hidden(s, bob, a, 0, 9).await?.is_empty());
    Ok(())
}

pub(super) async fn hiding_is_noted_each_time(s: &Scene) -> Outcome {
    let (user, id) = (s.user().await?, ConversationId::new(s.id()));
    let note = s.note(user, AccountChange::MessageHidden(MessageId::new(s.id())));
    let mut last = 0;
    for _ in 0..2 {
        let entry = added(s.store().hide(user, id, Seq::new(2), 1, note).await?);
        assert_eq!((entry.at, entry.change), (note.at, note.change));
        assert!(entry.seq > last, "the note is written each time, also when there is no room for more");
        last = entry.seq;
        assert_eq!(account_log_after(s.store(), user, 0, 50).await?, Some(vec![entry]));
    }
    assert_eq!(hidden(s, user, id, 0, 9).await?, [2]);
    Ok(())
}

pub(super) async fn hidden_messages_are_bounded_in_each_conversation(s: &Scene) -> Outcome {
    let user = s.user().await?;
    let (full, other) = (ConversationId::new(s.id()), ConversationId::new(s.id()));
    for seq in [2, 3] {
        added(hide(s, user, full, seq, 2).await?);
    }
    let head = s.store().account_head(user).await?;
    assert_eq!(hide(s, user, full, 4, 2).await?, Listed::Full);
    assert_eq!(hidden(s, user, full, 0, 9).await?, [2, 3]);
    assert_eq!(s.store().account_head(user).await?, head, "what is refused writes no note");
    added(hide(s, user, other, 4, 2).await?);
    Ok(())
}

pub(super) async fn users_who_have_hidden_a_message_are_found(s: &Scene) -> Outcome {
    let users = s.people(3);
    let (id, other) = (ConversationId::new(s.id()), ConversationId::new(s.id()));
    for (user, id, seq) in [(users[0], id, 2), (users[1], id, 2), (users[0], id, 3), (users[2], other, 2)] {
        added(hide(s, user, id, seq, MAX).await?);
    }
    let found = async |seq, limit| s.store().hidden_from(id, Seq::new(seq), limit).await;
    assert_eq!(found(2, 9).await?, users[..2]);
    assert_eq!(found(2, 1).await?.len(), 1);
    assert_eq!(found(3, 9).await?, users[..1]);
    assert!(found(4, 9).await?.is_empty());
    Ok(())
}

pub(super) async fn concealed_entries_come_with_the_member_and_outlive_the_membership(
    s: &Scene,
) -> Outcome {
    let group = s.group(2).await?;
    let (id, owner, bob) = (group.id, group.owner(), group.members[1]);
    for text in ["a", "b", "c"] {
        s.send(id, owner, text).await?;
    }
    assert_eq!(s.store().concealed(id, &[owner, bob]).await?, [Concealed::default(); 2]);
    let note = s.note(bob, AccountChange::ConversationGone(id, GoneReason::Deleted));
    for (cleared, ordinal) in [(3, 2), (2, 1)] {
        s.store().clear(bob, id, Seq::new(cleared), ordinal, note).await?;
    }
    for seq in [4, 2] {
        added(hide(s, bob, id, seq, MAX).await?);
    }
    let expected = Concealed { cleared: Seq::new(3), cleared_ordinal: 2, hidden_to: Seq::new(4) };
    assert_eq!(s.store().concealed(id, &[bob, owner]).await?, [expected, Concealed::default()]);
    assert_eq!(s.member(id, bob).await?.concealed, expected);
    assert_eq!(s.store().members(id, None, 9).await?[1].concealed, expected);
    assert_eq!(s.load(id).await?.member(bob).map(|member| member.concealed), Some(expected));

    s.append(s.batch(id).await?.leave(bob).build()).await?;
    assert_eq!(s.store().concealed(id, &[bob]).await?, [expected]);
    s.append(s.batch(id).await?.join(bob, None).build()).await?;
    assert_eq!(s.member(id, bob).await?.concealed, expected, "they do not find it again");
    assert_eq!(s.load(id).await?.member(bob).map(|member| member.concealed), Some(expected));
    Ok(())
}

pub(super) async fn concurrent_hides_are_all_kept(s: &Scene) -> Outcome {
    let (user, id) = (s.user().await?, ConversationId::new(s.id()));
    let notes: Vec<_> = (0..CALLERS)
        .map(|_| s.note(user, AccountChange::MessageHidden(MessageId::new(s.id()))))
        .collect();
    s.at_once(CALLERS, |i, store| {
        let note = notes[i];
        async move { store.hide(user, id, Seq::new(i as u64 + 1), MAX, note).await }
    })
    .await?;
    let expected: Vec<u64> = (1..=CALLERS as u64).collect();
    assert_eq!(hidden(s, user, id, 0, u64::MAX).await?, expected);
    assert_eq!(s.store().account_log(user, 0, 500).await?.map(|log| log.len()), Some(CALLERS));
    Ok(())
}

async fn hide(
    s: &Scene,
    user: UserId,
    id: ConversationId,
    seq: u64,
    max: usize,
) -> Result<Listed, StoreError> {
    let note = s.note(user, AccountChange::MessageHidden(MessageId::new(s.id())));
    s.store().hide(user, id, Seq::new(seq), max, note).await
}

async fn hidden(
    s: &Scene,
    user: UserId,
    id: ConversationId,
    after: u64,
    before: u64,
) -> Result<Vec<u64>, StoreError> {
    let range = SeqRange { after: Seq::new(after), before: Seq::new(before) };
    Ok(s.store().hidden(user, id, range).await?.into_iter().map(Seq::get).collect())
}

fn added(listed: Listed) -> AccountEntry {
    match listed {
        Listed::Added(entry) => entry,
        other => panic!("it was not hidden: {other:?}"),
    }
}
