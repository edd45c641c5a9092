//! Disappearing messages: which of them are due.

use godwit_domain::ports::{AppendOutcome, DueExpiry, StoreError};
use godwit_protocol::{ConversationId, Seq, Timestamp};

use super::Outcome;
use crate::due::due_expiries_in;
use crate::scene::Scene;

pub(super) async fn expired_messages_are_sorted_longest_overdue_first(s: &Scene) -> Outcome {
    let (one, two) = (s.chat().await?, s.chat().await?);
    let begin = s.now();
    let mut all = Vec::new();
    for (place, ms) in [5_000, 1_000, 90_000_000, 2_000, 3_600_000, 4_000].into_iter().enumerate() {
        let (chat, at) = (if place % 2 == 0 { one } else { two }, begin.plus_millis(ms));
        all.push(send_expiring(s, chat.id, &format!("m{place}"), at).await?);
    }
    s.send(one.id, one.ada, "stays").await?;
    all.sort_by_key(|expiry| expiry.at);
    for ms in [999, 1_000, 1_001, 4_500, 4_000_000, 100_000_000] {
        let now = begin.plus_millis(ms);
        let expected: Vec<DueExpiry> = all.iter().filter(|expiry| expiry.at <= now).copied().collect();
        assert_eq!(due_expiries_in(s.store(), now, &[one.id, two.id]).await?, expected, "after {ms} ms");
        assert!(s.store().due_expiries(now, 2).await?.len() <= 2);
    }
    s.store().forget_expiries(all).await
}

pub(super) async fn a_forgotten_expiry_is_not_due_again(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let at = s.now().plus_millis(1_000);
    let mut all = Vec::new();
    for number in 0..3 {
        // Two messages expire at the same time.
        all.push(send_expiring(s, chat.id, &format!("m{number}"), at.plus_millis(number / 2)).await?);
    }
    let later = at.plus_millis(1_000_000);
    let due = async || due_expiries_in(s.store(), later, &[chat.id]).await;
    assert_eq!(due().await?, all);
    for _ in 0..2 {
        s.store().forget_expiries(vec![all[1]]).await?;
        assert_eq!(due().await?, [all[0], all[2]]);
    }
    s.store().forget_expiries(Vec::new()).await?;
    s.store().forget_expiries(all).await?;
    assert_eq!(due().await?, []);
    Ok(())
}

pub(super) async fn all_expired_messages_of_a_batch_are_due(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let at = s.now().plus_millis(1_000);
    let mut batch = s.batch(chat.id).await?;
    for number in 0..5 {
        batch = batch.expiring(chat.ada, &format!("m{number}"), at);
    }
    s.append(batch.build()).await?;
    let due = due_expiries_in(s.store(), at, &[chat.id]).await?;
    let expected = (2..7).map(|seq| DueExpiry { at, conversation: chat.id, seq: Seq::new(seq) });
    assert_eq!(due, expected.collect::<Vec<_>>());
    s.store().forget_expiries(due).await
}

pub(super) async fn a_refused_append_leaves_no_expiry(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let at = s.now().plus_millis(1_000);
    let refused = s.batch(chat.id).await?.expiring(chat.ada, "refused", at).build();
    s.send(chat.id, chat.bob, "first").await?;
    let outcome = s.store().append(&refused).await?;
    assert_eq!(outcome, AppendOutcome::HeadMoved);
    assert_eq!(due_expiries_in(s.store(), at, &[chat.id]).await?, []);
    Ok(())
}

async fn send_expiring(
    s: &Scene,
    id: ConversationId,
    client_id: &str,
    at: Timestamp,
) -> Result<DueExpiry, StoreError> {
    let state = s.load(id).await?;
    let sender = state.members[0].user_id;
    let append = s.batch(id).await?.expiring(sender, client_id, at).build();
    let seq = append.entries[0].seq;
    s.append(append).await?;
    Ok(DueExpiry { at, conversation: id, seq })
}
