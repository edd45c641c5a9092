//! Conversations that a member deletes for themselves: the next shown entry brings them back.

use godwit_domain::model::{AccountChange, Kind, Mentions, SettingsChange};
use godwit_domain::ports::{AppendOutcome, StoreError};
use godwit_protocol::sync::GoneReason;
use godwit_protocol::{ConversationId, Seq, UserId};

use super::Outcome;
use super::rows::{changed, clear, large, last_listing, listed, pin, pinned, rows, set, unchanged};
use crate::paging::account_log_after;
use crate::scene::Scene;

pub(super) async fn a_cleared_conversation_is_unlisted_until_an_entry_is_shown(s: &Scene) -> Outcome {
    let group = s.group(3).await?;
    let bob = group.members[1];
    let sent = s.send(group.id, group.owner(), "m").await?;
    s.advance_ms(10);
    assert_eq!(clear(s, bob, group.id).await?, sent.seq);
    is_out(s, bob, group.id).await?;
    for user in [group.owner(), group.members[2]] {
        assert_eq!(listed(s, user).await?, [group.id], "others keep it");
        assert!(!s.member(group.id, user).await?.unlisted);
    }
    s.advance_ms(10);
    let notes = s.append(s.batch(group.id).await?.text(group.owner(), "n").build()).await?;
    let told: Vec<_> = notes.into_iter().map(|(user, entry)| (user, entry.at, entry.change)).collect();
    assert_eq!(told, [(bob, s.now(), AccountChange::ConversationListed(group.id))]);
    is_back(s, bob, group.id, sent.seq).await?;
    assert_eq!(rows(s, bob).await?[0].activity_at, s.now());
    Ok(())
}

pub(super) async fn an_entry_that_is_not_shown_does_not_bring_it_back(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let seq = s.send(chat.id, chat.ada, "m").await?.seq;
    clear(s, chat.bob, chat.id).await?;
    s.advance_ms(10);
    let batch = s.batch_on(chat.id, &[seq]).await?.filler().edit(chat.ada, seq, "M");
    s.append(batch.react(chat.ada, seq, None, Some("+")).delete(chat.ada, seq).build()).await?;
    is_out(s, chat.bob, chat.id).await?;
    s.append(s.batch(chat.id).await?.rename(chat.ada, "notice").build()).await?;
    is_back(s, chat.bob, chat.id, seq).await
}

pub(super) async fn a_cleared_conversation_returns_with_its_settings(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    s.send(chat.id, chat.ada, "m").await?;
    let muted = SettingsChange { muted_until: Some(Some(s.now())), marked_unread: Some(true), ..unchanged() };
    let (mut settings, _) = set(s, chat.bob, chat.id, muted).await?;
    settings.cleared = clear(s, chat.bob, chat.id).await?;
    assert_eq!(s.store().settings(chat.bob, chat.id).await?, settings);
    // A change of settings does not bring it back.
    pin(s, chat.bob, chat.id, 3).await?;
    settings.pin = Some(3);
    is_out(s, chat.bob, chat.id).await?;
    s.send(chat.id, chat.ada, "n").await?;
    let back = pinned(s, chat.bob).await?;
    assert_eq!(back.into_iter().map(|row| (row.conversation, row.settings)).collect::<Vec<_>>(), [(chat.id, settings)]);
    Ok(())
}

pub(super) async fn a_later_message_keeps_it_in_the_inbox(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let first = s.send(chat.id, chat.ada, "m").await?;
    s.send(chat.id, chat.ada, "n").await?;
    let note = s.note(chat.bob, AccountChange::ConversationGone(chat.id, GoneReason::Deleted));
    s.store().clear(chat.bob, chat.id, first.seq, 1, note).await?;
    assert_eq!(listed(s, chat.bob).await?, [chat.id]);
    assert!(!s.member(chat.id, chat.bob).await?.unlisted);
    assert_eq!(s.store().settings(chat.bob, chat.id).await?.cleared, first.seq);
    Ok(())
}

pub(super) async fn clearing_again_moves_forward_only(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let first = s.send(chat.id, chat.ada, "m").await?;
    let last = s.send(chat.id, chat.ada, "n").await?;
    let log = account_log_after(s.store(), chat.bob, 0, 50).await?.unwrap_or_default();
    let note = s.note(chat.bob, AccountChange::ConversationGone(chat.id, GoneReason::Deleted));
    for cleared in [last.seq, last.seq, first.seq] {
        let entry = s.store().clear(chat.bob, chat.id, cleared, cleared.get(), note).await?;
        assert_eq!(s.store().settings(chat.bob, chat.id).await?.cleared, last.seq);
        is_out(s, chat.bob, chat.id).await?;
        let now = account_log_after(s.store(), chat.bob, 0, 50).await?.unwrap_or_default();
        assert_eq!((now.len(), now.last()), (log.len(), Some(&entry)), "the last note takes the place of the others");
    }
    Ok(())
}

pub(super) async fn a_conversation_without_shown_entries_leaves_at_any_clearing(s: &Scene) -> Outcome {
    for cleared in [Seq::ZERO, Seq::new(1)] {
        let chat = s.chat().await?;
        let note = s.note(chat.ada, AccountChange::ConversationGone(chat.id, GoneReason::Deleted));
        s.store().clear(chat.ada, chat.id, cleared, 0, note).await?;
        is_out(s, chat.ada, chat.id).await?;
        s.send(chat.id, chat.bob, "m").await?;
        is_back(s, chat.ada, chat.id, cleared).await?;
    }
    Ok(())
}

pub(super) async fn an_append_decided_before_the_clearing_brings_it_back(s: &Scene) -> Outcome {
    let group = s.group(2).await?;
    let (owner, bob) = (group.owner(), group.members[1]);
    let seq = s.send(group.id, owner, "m").await?.seq;
    let late = s.batch(group.id).await?.text(owner, "late").build();
    clear(s, bob, group.id).await?;
    s.append(late).await?;
    is_back(s, bob, group.id, seq).await?;
    // From here on nothing special happens.
    assert_eq!(s.append(s.batch(group.id).await?.text(owner, "n").build()).await?, []);
    is_back(s, bob, group.id, seq).await
}

pub(super) async fn a_change_decided_before_the_clearing_does_not_bring_it_back(s: &Scene) -> Outcome {
    let group = s.group(2).await?;
    let (owner, bob) = (group.owner(), group.members[1]);
    let seq = s.send(group.id, owner, "m").await?.seq;
    let mention = Mentions { users: vec![bob], all: false };
    // The edit writes Bob's member row and is not shown.
    let late = s.batch_on(group.id, &[seq]).await?.edit_calling(owner, seq, "M", mention).build();
    clear(s, bob, group.id).await?;
    s.append(late).await?;
    is_out(s, bob, group.id).await?;
    assert_eq!(s.member(group.id, bob).await?.mentions, [seq]);
    s.advance_ms(10);
    s.append(s.batch(group.id).await?.text(owner, "n").build()).await?;
    is_back(s, bob, group.id, seq).await
}

pub(super) async fn clearing_during_an_append_loses_no_message(s: &Scene) -> Outcome {
    const ROUNDS: usize = 16;
    let (ada, bob) = (s.user().await?, s.user().await?);
    for round in 0..ROUNDS {
        let new = s.new_group(Kind::Group, &[ada, bob]);
        let id = s.store().create(new, None).await?.id;
        let cleared = s.send(id, ada, "m").await?.seq;
        let append = s.batch(id).await?.text(ada, "n").build();
        let note = s.note(bob, AccountChange::ConversationGone(id, GoneReason::Deleted));
        s.at_once(2, |i, store| {
            let append = append.clone();
            async move {
                if (i == 0) == (round % 2 == 0) {
                    store.clear(bob, id, cleared, 1, note).await.map(drop)
                } else {
                    let outcome = store.append(&append).await?;
                    assert!(matches!(outcome, AppendOutcome::Appended(_)), "{outcome:?}");
                    Ok(())
                }
            }
        })
        .await?;
        let count = listed(s, bob).await?.into_iter().filter(|listed| *listed == id).count();
        assert_eq!(count, 1, "what was said after it was cleared is to be seen, in round {round}");
        assert_eq!(s.store().settings(bob, id).await?.cleared, cleared);
        s.send(id, ada, "o").await?;
        assert_eq!(listed(s, bob).await?[0], id);
        assert!(!s.member(id, bob).await?.unlisted);
    }
    assert_eq!(listed(s, bob).await?.len(), ROUNDS);
    Ok(())
}

pub(super) async fn the_row_of_a_large_conversation_stays(s: &Scene) -> Outcome {
    let group = s.large_group(4).await?;
    let bob = group.members[1];
    let sent = s.send(group.id, group.owner(), "m").await?;
    assert_eq!(clear(s, bob, group.id).await?, sent.seq);
    let rows = large(s, bob).await?;
    assert_eq!(rows.into_iter().map(|(id, settings)| (id, settings.cleared)).collect::<Vec<_>>(), [(group.id, sent.seq)]);
    assert_eq!(s.store().settings(bob, group.id).await?.cleared, sent.seq);
    assert_eq!(s.store().settings(group.owner(), group.id).await?.cleared, Seq::ZERO);
    Ok(())
}

async fn is_out(s: &Scene, user: UserId, id: ConversationId) -> Result<(), StoreError> {
    assert_eq!(listed(s, user).await?, []);
    assert_eq!(pinned(s, user).await?, []);
    assert_eq!(changed(s, user, s.now().plus_millis(-1_000_000)).await?, []);
    assert!(s.member(id, user).await?.unlisted);
    assert_eq!(s.load(id).await?.member(user).map(|member| member.unlisted), Some(true));
    let gone = AccountChange::ConversationGone(id, GoneReason::Deleted);
    assert_eq!(last_listing(s, user, id).await?, Some(gone));
    Ok(())
}

async fn is_back(s: &Scene, user: UserId, id: ConversationId, cleared: Seq) -> Result<(), StoreError> {
    assert_eq!(listed(s, user).await?, [id]);
    assert_eq!(changed(s, user, s.now().plus_millis(-1_000_000)).await?.len(), 1);
    assert!(!s.member(id, user).await?.unlisted);
    assert_eq!(s.store().settings(user, id).await?.cleared, cleared);
    assert_eq!(last_listing(s, user, id).await?, Some(AccountChange::ConversationListed(id)));
    Ok(())
}
