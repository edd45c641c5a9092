//! Settings of a member for a conversation.

use std::collections::BTreeSet;

use godwit_domain::model::{AccountChange, PinChange, SavedDraft, Settings, SettingsChange};
use godwit_domain::ports::ChangeSettings;
use godwit_protocol::limits::PINNED_CONVERSATIONS_MAX;
use godwit_protocol::{ConversationId, MessageId};

use super::Outcome;
use super::rows::{archived, listed, pin, pinned, rows, set, unchanged};
use crate::paging::account_log_after;
use crate::scene::Scene;

pub(super) async fn settings_are_the_defaults_until_they_are_set(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    for user in [chat.ada, chat.bob] {
        assert_eq!(s.store().settings(user, chat.id).await?, Settings::default());
    }
    assert_eq!(rows(s, chat.ada).await?[0].settings, Settings::default());
    Ok(())
}

pub(super) async fn a_change_keeps_other_settings(s: &Scene) -> Outcome {
    let (chat, other) = (s.chat().await?, s.chat().await?);
    let mut expected = Settings::default();
    for change in [
        SettingsChange { muted_until: Some(Some(s.now())), ..unchanged() },
        SettingsChange { archived: Some(true), ..unchanged() },
        SettingsChange { marked_unread: Some(true), ..unchanged() },
        unchanged(),
        SettingsChange { draft: Some(Some(draft(s, "not yet"))), ..unchanged() },
        SettingsChange { muted_until: Some(None), marked_unread: Some(false), ..unchanged() },
        SettingsChange { draft: Some(Some(draft(s, "another\n👩‍💻"))), ..unchanged() },
        SettingsChange { archived: Some(false), draft: Some(None), ..unchanged() },
    ] {
        expected = expected.changed_by(change.clone());
        assert_eq!(set(s, chat.ada, chat.id, change).await?.0, expected);
        assert_eq!(s.store().settings(chat.ada, chat.id).await?, expected);
        let inbox = s.store().inbox(chat.ada, expected.archived, None, 50).await?;
        assert_eq!(inbox.into_iter().map(|row| row.settings).collect::<Vec<_>>(), [expected.clone()]);
        assert_eq!(s.store().inbox(chat.ada, !expected.archived, None, 50).await?, []);
    }
    let pin = SettingsChange { pin: Some(PinChange::Put(i64::MAX)), ..unchanged() };
    assert_eq!(set(s, chat.ada, chat.id, pin).await?.0.pin, Some(i64::MAX));
    assert_eq!(s.store().pinned(chat.ada).await?[0].settings.pin, Some(i64::MAX));
    assert_eq!(s.store().settings(chat.bob, chat.id).await?, Settings::default());
    assert_eq!(s.store().settings(other.ada, other.id).await?, Settings::default());
    Ok(())
}

pub(super) async fn a_change_is_noted_each_time(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let mut log = account_log_after(s.store(), chat.ada, 0, 50).await?.unwrap_or_default();
    let mut last = None;
    for _ in 0..2 {
        s.advance_ms(10);
        let archive = SettingsChange { archived: Some(true), ..unchanged() };
        let (_, entry) = set(s, chat.ada, chat.id, archive).await?;
        assert_eq!((entry.at, entry.change), (s.now(), AccountChange::SettingsChanged(chat.id)));
        last = Some(entry);
    }
    log.extend(last);
    assert_eq!(account_log_after(s.store(), chat.ada, 0, 50).await?, Some(log));
    assert_eq!(s.store().account_head(chat.bob).await?, 0);
    Ok(())
}

pub(super) async fn concurrent_changes_of_different_settings_are_all_kept(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let changes = [
        SettingsChange { pin: Some(PinChange::Put(7)), ..unchanged() },
        SettingsChange { archived: Some(true), ..unchanged() },
        SettingsChange { muted_until: Some(Some(s.now())), ..unchanged() },
        SettingsChange { marked_unread: Some(true), ..unchanged() },
        SettingsChange { draft: Some(Some(draft(s, "later"))), ..unchanged() },
    ];
    let note = s.note(chat.ada, AccountChange::SettingsChanged(chat.id));
    s.at_once(changes.len(), |i, store| {
        let change = changes[i].clone();
        async move { store.change_settings(chat.ada, chat.id, change, note).await }
    })
    .await?;
    let expected = Settings {
        pin: Some(7),
        archived: true,
        muted_until: Some(s.now()),
        marked_unread: true,
        draft: Some(draft(s, "later")),
        ..Settings::default()
    };
    assert_eq!(s.store().settings(chat.ada, chat.id).await?, expected);
    assert_eq!((listed(s, chat.ada).await?, archived(s, chat.ada).await?), (vec![], vec![]));
    assert_eq!(pinned(s, chat.ada).await?.into_iter().map(|row| row.settings).collect::<Vec<_>>(), [expected]);
    Ok(())
}

pub(super) async fn pins_are_bounded_among_concurrent_callers(s: &Scene) -> Outcome {
    let user = s.user().await?;
    let pin = |conversation: ConversationId| {
        let change = SettingsChange { pin: Some(PinChange::First), ..unchanged() };
        (change, s.note(user, AccountChange::SettingsChanged(conversation)))
    };
    let ids: Vec<ConversationId> = (0..PINNED_CONVERSATIONS_MAX + 8).map(|_| ConversationId::new(s.id())).collect();
    let outcomes = s.at_once(ids.len(), |i, store| {
        let (id, (change, note)) = (ids[i], pin(ids[i]));
        async move { store.change_settings(user, id, change, note).await }
    });
    let outcomes = outcomes.await?;
    let is_pinned = |outcome: &ChangeSettings| matches!(outcome, ChangeSettings::Changed(..));
    assert_eq!(outcomes.iter().filter(|outcome| is_pinned(outcome)).count(), PINNED_CONVERSATIONS_MAX);
    let mut positions = BTreeSet::new();
    for (id, outcome) in ids.iter().zip(&outcomes) {
        let pin = s.store().settings(user, *id).await?.pin;
        assert_eq!(pin.is_some(), is_pinned(outcome), "a refused pin changes nothing");
        positions.extend(pin);
    }
    assert_eq!(positions.len(), PINNED_CONVERSATIONS_MAX, "each comes before all others");
    Ok(())
}

pub(super) async fn a_conversation_that_is_gone_is_not_pinned_any_more(s: &Scene) -> Outcome {
    let group = s.group(2).await?;
    let bob = group.members[1];
    let others: Vec<ConversationId> = (1..PINNED_CONVERSATIONS_MAX).map(|_| ConversationId::new(s.id())).collect();
    for other in others.iter().chain([&group.id]) {
        pin(s, bob, *other, 1).await?;
    }
    let first = SettingsChange { pin: Some(PinChange::First), ..unchanged() };
    let note = s.note(bob, AccountChange::SettingsChanged(group.id));
    let one_more = ConversationId::new(s.id());
    let refused = s.store().change_settings(bob, one_more, first.clone(), note).await?;
    assert_eq!(refused, ChangeSettings::TooManyPinned);
    s.append(s.batch(group.id).await?.leave(bob).build()).await?;
    assert_eq!(set(s, bob, one_more, first).await?.0.pin, Some(0));
    Ok(())
}

pub(super) async fn settings_are_kept_until_the_conversation_is_listed(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let mute = SettingsChange { muted_until: Some(Some(s.now())), ..unchanged() };
    let (settings, _) = set(s, chat.bob, chat.id, mute).await?;
    assert_eq!(listed(s, chat.bob).await?, []);
    s.send(chat.id, chat.ada, "m").await?;
    let inbox = rows(s, chat.bob).await?;
    assert_eq!(inbox.into_iter().map(|row| row.settings).collect::<Vec<_>>(), [settings]);
    Ok(())
}

pub(super) async fn settings_outlive_new_activity(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let all = SettingsChange {
        pin: None,
        archived: Some(true),
        muted_until: Some(Some(s.now())),
        marked_unread: Some(true),
        draft: Some(Some(draft(s, "later"))),
    };
    let (settings, _) = set(s, chat.ada, chat.id, all).await?;
    for number in 0..3 {
        s.advance_ms(10);
        s.send(chat.id, chat.bob, &format!("m{number}")).await?;
        assert_eq!(s.store().settings(chat.ada, chat.id).await?, settings);
        let archived = s.store().inbox(chat.ada, true, None, 50).await?;
        let shown: Vec<_> = archived.into_iter().map(|row| (row.settings, row.activity_at)).collect();
        assert_eq!(shown, [(settings.clone(), s.now())]);
        assert_eq!(listed(s, chat.ada).await?, []);
    }
    Ok(())
}

fn draft(s: &Scene, text: &str) -> Box<SavedDraft> {
    let reply_to = Some(MessageId::new(u64::MAX >> 1));
    Box::new(SavedDraft { text: text.into(), reply_to, updated_at: s.now() })
}
