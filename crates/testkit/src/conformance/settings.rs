//! What a member has set for themselves.

use godwit_domain::model::{AccountChange, AccountEntry, Settings, SettingsChange};
use godwit_domain::ports::StoreError;
use godwit_protocol::{ConversationId, UserId};

use super::Outcome;
use crate::paging::account_log_after;
use crate::scene::Scene;

pub(super) async fn settings_are_the_defaults_until_they_are_set(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    for user in [chat.ada, chat.bob] {
        assert_eq!(s.store().settings(user, chat.id).await?, Settings::default());
    }
    assert_eq!(s.store().inbox(chat.ada, false, None, 50).await?[0].settings, Settings::default());
    Ok(())
}

pub(super) async fn a_change_changes_what_it_names(s: &Scene) -> Outcome {
    let (chat, other) = (s.chat().await?, s.chat().await?);
    let mut expected = Settings::default();
    for change in [
        SettingsChange { pinned: Some(true), ..unchanged() },
        SettingsChange { muted_until: Some(Some(s.now())), ..unchanged() },
        SettingsChange { archived: Some(true), ..unchanged() },
        unchanged(),
        SettingsChange { pinned: Some(false), muted_until: Some(None), ..unchanged() },
        SettingsChange { archived: Some(false), ..unchanged() },
    ] {
        expected = expected.changed_by(change);
        assert_eq!(set(s, chat.ada, chat.id, change).await?.0, expected);
        assert_eq!(s.store().settings(chat.ada, chat.id).await?, expected);
        let inbox = s.store().inbox(chat.ada, expected.archived, None, 50).await?;
        assert_eq!(inbox.iter().map(|row| row.settings).collect::<Vec<_>>(), [expected]);
        assert_eq!(s.store().inbox(chat.ada, !expected.archived, None, 50).await?, []);
    }
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
        let (_, entry) = set(s, chat.ada, chat.id, SettingsChange { pinned: Some(true), ..unchanged() }).await?;
        assert_eq!((entry.at, entry.change), (s.now(), AccountChange::SettingsChanged(chat.id)));
        last = Some(entry);
    }
    log.extend(last);
    assert_eq!(account_log_after(s.store(), chat.ada, 0, 50).await?, Some(log));
    assert_eq!(s.store().account_head(chat.bob).await?, 0);
    Ok(())
}

pub(super) async fn concurrent_changes_of_different_settings_all_stay(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let changes = [
        SettingsChange { pinned: Some(true), ..unchanged() },
        SettingsChange { archived: Some(true), ..unchanged() },
        SettingsChange { muted_until: Some(Some(s.now())), ..unchanged() },
    ];
    let note = s.note(chat.ada, AccountChange::SettingsChanged(chat.id));
    s.at_once(changes.len(), |i, store| {
        let change = changes[i];
        async move { store.change_settings(chat.ada, chat.id, change, note).await }
    })
    .await?;
    let expected = Settings { pinned: true, archived: true, muted_until: Some(s.now()) };
    assert_eq!(s.store().settings(chat.ada, chat.id).await?, expected);
    assert_eq!(s.store().inbox(chat.ada, false, None, 50).await?, []);
    assert_eq!(s.store().inbox(chat.ada, true, None, 50).await?[0].settings, expected);
    Ok(())
}

pub(super) async fn settings_wait_for_the_listing(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let (settings, _) = set(s, chat.bob, chat.id, SettingsChange { pinned: Some(true), ..unchanged() }).await?;
    assert_eq!(s.store().inbox(chat.bob, false, None, 50).await?, []);
    s.send(chat.id, chat.ada, "m").await?;
    let inbox = s.store().inbox(chat.bob, false, None, 50).await?;
    assert_eq!(inbox.iter().map(|row| row.settings).collect::<Vec<_>>(), [settings]);
    Ok(())
}

pub(super) async fn settings_outlive_new_activity(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let all = SettingsChange { pinned: Some(true), archived: Some(true), muted_until: Some(Some(s.now())) };
    let (settings, _) = set(s, chat.ada, chat.id, all).await?;
    for number in 0..3 {
        s.advance_ms(10);
        s.send(chat.id, chat.bob, &format!("m{number}")).await?;
        assert_eq!(s.store().settings(chat.ada, chat.id).await?, settings);
        let archived = s.store().inbox(chat.ada, true, None, 50).await?;
        assert_eq!(archived.iter().map(|row| (row.settings, row.activity_at)).collect::<Vec<_>>(), [(settings, s.now())]);
        assert_eq!(s.store().inbox(chat.ada, false, None, 50).await?, []);
    }
    Ok(())
}

fn unchanged() -> SettingsChange {
    SettingsChange::default()
}

async fn set(
    s: &Scene,
    user: UserId,
    id: ConversationId,
    change: SettingsChange,
) -> Result<(Settings, AccountEntry), StoreError> {
    s.store().change_settings(user, id, change, s.note(user, AccountChange::SettingsChanged(id))).await
}
