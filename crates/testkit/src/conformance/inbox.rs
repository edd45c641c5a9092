//! The list of conversations: order and pages.

use std::cmp::Reverse;

use godwit_domain::model::{AccountChange, Settings, SettingsChange};
use godwit_domain::ports::{InboxPosition, InboxRow, StoreError};
use godwit_protocol::{ConversationId, UserId};

use super::Outcome;
use crate::paging::all_pages;
use crate::scene::Scene;

pub(super) async fn pinned_first_then_the_latest_then_the_higher_id(s: &Scene) -> Outcome {
    let ada = s.user().await?;
    let (a, b, c, d) = (open(s, ada).await?, open(s, ada).await?, open(s, ada).await?, open(s, ada).await?);
    assert_eq!(listed(s, ada, false).await?, [d, c, b, a], "made at the same time: the higher id first");
    s.advance_ms(10);
    s.send(b, ada, "m").await?;
    s.send(a, ada, "m").await?;
    assert_eq!(listed(s, ada, false).await?, [b, a, d, c], "two have messages of the same time");
    pin(s, ada, c).await?;
    assert_eq!(listed(s, ada, false).await?, [c, b, a, d]);
    pin(s, ada, d).await?;
    assert_eq!(listed(s, ada, false).await?, [d, c, b, a], "pinned ones have the same order among themselves");
    s.advance_ms(10);
    s.send(c, ada, "m").await?;
    s.send(a, ada, "n").await?;
    assert_eq!(listed(s, ada, false).await?, [c, d, a, b]);
    change(s, ada, d, SettingsChange { pinned: Some(false), ..unchanged() }).await?;
    assert_eq!(listed(s, ada, false).await?, [c, a, b, d]);
    Ok(())
}

pub(super) async fn archived_conversations_are_a_list_of_their_own(s: &Scene) -> Outcome {
    let ada = s.user().await?;
    let (a, b, c) = (open(s, ada).await?, open(s, ada).await?, open(s, ada).await?);
    archive(s, ada, a).await?;
    archive(s, ada, b).await?;
    assert_eq!(listed(s, ada, false).await?, [c]);
    assert_eq!(listed(s, ada, true).await?, [b, a]);
    pin(s, ada, a).await?;
    assert_eq!(listed(s, ada, true).await?, [a, b], "with pinned ones of its own");
    s.advance_ms(10);
    s.send(b, ada, "m").await?;
    assert_eq!(listed(s, ada, false).await?, [c], "a message does not bring it back");
    change(s, ada, a, SettingsChange { archived: Some(false), ..unchanged() }).await?;
    assert_eq!(listed(s, ada, false).await?, [a, c]);
    assert_eq!(listed(s, ada, true).await?, [b]);
    Ok(())
}

pub(super) async fn pages_of_any_size_give_each_row_once_in_order(s: &Scene) -> Outcome {
    let (ada, rows) = full_inbox(s).await?;
    for archived in [false, true] {
        let mut expected: Vec<InboxRow> =
            rows.iter().filter(|row| row.settings.archived == archived).copied().collect();
        expected.sort_by_key(|row| (Reverse(row.settings.pinned), Reverse(row.activity())));
        for limit in 1..=expected.len() + 1 {
            assert_eq!(pages(s, ada, archived, limit).await?, expected, "in pages of {limit}");
        }
    }
    Ok(())
}

pub(super) async fn many_busy_conversations_keep_their_order(s: &Scene) -> Outcome {
    const CONVERSATIONS: usize = 150;
    let ada = s.user().await?;
    let mut rows = Vec::new();
    for _ in 0..CONVERSATIONS {
        let conversation = open(s, ada).await?;
        rows.push(InboxRow { conversation, settings: Settings::default(), activity_at: s.now() });
    }
    // Bursts in all of them, at every pace: within a millisecond, seconds apart, and an hour later.
    for (round, pause_ms) in [1, 0, 2_000, 3_600_000].into_iter().enumerate() {
        for number in (0..CONVERSATIONS).filter(|number| number % (round + 1) == 0) {
            s.advance_ms(pause_ms);
            let sent = s.send(rows[number].conversation, ada, &format!("m{round}")).await?;
            rows[number].activity_at = sent.at();
        }
        rows.sort_by_key(|row| Reverse(row.activity()));
        assert!(pages(s, ada, false, 50).await? == rows, "after round {round}");
        assert!(s.store().inbox(ada, false, None, CONVERSATIONS * 2).await? == rows, "after round {round}");
        let floor = rows[CONVERSATIONS / 2].activity_at;
        let active: Vec<InboxRow> = rows.iter().filter(|row| row.activity_at >= floor).copied().collect();
        assert!(s.store().active_since(ada, floor, None, 200).await? == active, "after round {round}");
    }
    Ok(())
}

pub(super) async fn a_position_need_not_be_a_row(s: &Scene) -> Outcome {
    let (ada, _) = full_inbox(s).await?;
    let rows = s.store().inbox(ada, false, None, 50).await?;
    let after = async |position| s.store().inbox(ada, false, Some(position), 50).await;
    for (number, row) in rows.iter().enumerate() {
        let here = row.position();
        assert_eq!(after(here).await?, rows[number + 1..]);
        let mut just_before = here;
        just_before.activity.conversation = ConversationId::new(row.conversation.get() + 1);
        assert_eq!(after(just_before).await?, rows[number..]);
        let mut just_after = here;
        just_after.activity.conversation = ConversationId::new(row.conversation.get() - 1);
        assert_eq!(after(just_after).await?, rows[number + 1..]);
    }
    let unpinned = rows.iter().position(|row| !row.settings.pinned).unwrap_or_default();
    let mut end_of_pinned = rows[unpinned].position();
    end_of_pinned.pinned = true;
    end_of_pinned.activity.at = end_of_pinned.activity.at.plus_millis(-1_000_000);
    assert_eq!(after(end_of_pinned).await?, rows[unpinned..], "past all pinned ones come the others");
    Ok(())
}

pub(super) async fn unchanged_rows_are_on_one_page_while_others_move(s: &Scene) -> Outcome {
    let ada = s.user().await?;
    let mut oldest_first = Vec::new();
    for _ in 0..12 {
        s.advance_ms(10);
        oldest_first.push(open(s, ada).await?);
    }
    let mut read: Vec<InboxRow> = Vec::new();
    let mut moved: Vec<ConversationId> = Vec::new();
    loop {
        let page = s.store().inbox(ada, false, read.last().map(InboxRow::position), 3).await?;
        let is_last = page.len() < 3;
        read.extend(page);
        if is_last {
            break;
        }
        // One that was read already goes to the top again, and one that was not leaves the rest of the list.
        for id in [read[read.len() - 2].conversation, oldest_first[moved.len()]] {
            s.advance_ms(10);
            s.send(id, ada, &format!("m{}", moved.len())).await?;
            moved.push(id);
        }
        if let Some(id) = oldest_first.iter().find(|id| !moved.contains(id)) {
            pin(s, ada, *id).await?;
            moved.push(*id);
        }
    }
    let order = |p: InboxPosition| (Reverse(p.pinned), Reverse(p.activity));
    assert!(read.is_sorted_by(|a, b| order(a.position()) < order(b.position())), "{read:?}");
    let seen = |id: &ConversationId| read.iter().filter(|row| row.conversation == *id).count();
    for id in &oldest_first {
        assert!(seen(id) == 1 || (moved.contains(id) && seen(id) == 0), "{id} was seen {} times", seen(id));
    }
    let mut everything = listed(s, ada, false).await?;
    everything.sort_unstable();
    assert_eq!(everything, oldest_first, "nothing was lost");
    Ok(())
}

pub(super) async fn active_since_begins_at_the_floor(s: &Scene) -> Outcome {
    let (ada, mut rows) = full_inbox(s).await?;
    rows.sort_by_key(|row| Reverse(row.activity()));
    for row in &rows {
        for floor in [-1, 0, 1].map(|shift_ms| row.activity_at.plus_millis(shift_ms)) {
            let expected: Vec<InboxRow> = rows.iter().filter(|row| row.activity_at >= floor).copied().collect();
            assert_eq!(s.store().active_since(ada, floor, None, 50).await?, expected, "since {floor}");
        }
    }
    Ok(())
}

pub(super) async fn active_since_pages_give_each_row_once_in_order(s: &Scene) -> Outcome {
    let (ada, mut rows) = full_inbox(s).await?;
    rows.sort_by_key(|row| Reverse(row.activity()));
    let floor = rows[rows.len() - 3].activity_at;
    let expected: Vec<InboxRow> = rows.iter().filter(|row| row.activity_at >= floor).copied().collect();
    for limit in 1..=expected.len() + 1 {
        let page = |after| s.store().active_since(ada, floor, after, limit);
        assert_eq!(all_pages(limit, InboxRow::activity, page).await?, expected, "in pages of {limit}");
    }
    Ok(())
}

pub(super) async fn inboxes_of_two_members_are_their_own(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    s.send(chat.id, chat.ada, "m").await?;
    let other = open(s, chat.bob).await?;
    pin(s, chat.ada, chat.id).await?;
    archive(s, chat.bob, chat.id).await?;
    assert_eq!(listed(s, chat.ada, false).await?, [chat.id]);
    assert_eq!(listed(s, chat.bob, false).await?, [other]);
    let row = s.store().inbox(chat.bob, true, None, 50).await?[0];
    assert_eq!(row.settings, Settings { archived: true, ..Settings::default() });
    Ok(())
}

/// An inbox with pinned, archived and muted conversations, some with the same time, in the order in which they were made.
async fn full_inbox(s: &Scene) -> Result<(UserId, Vec<InboxRow>), StoreError> {
    let ada = s.user().await?;
    let mut rows = Vec::new();
    for number in 0..14 {
        s.advance_ms(if number % 3 == 0 { 10 } else { 0 });
        let conversation = open(s, ada).await?;
        let muted_until = (number == 1).then(|| s.now());
        let settings = Settings { pinned: number % 4 == 1, archived: number % 5 == 2, muted_until };
        let set = SettingsChange {
            pinned: Some(settings.pinned),
            archived: Some(settings.archived),
            muted_until: Some(muted_until),
        };
        change(s, ada, conversation, set).await?;
        rows.push(InboxRow { conversation, settings, activity_at: s.now() });
    }
    // The order in which they were made is not the order of their activity.
    for number in [3, 8, 1, 2] {
        s.advance_ms(if number == 8 { 0 } else { 10 });
        rows[number].activity_at = s.send(rows[number].conversation, ada, "m").await?.at();
    }
    Ok((ada, rows))
}

/// A conversation with somebody new.
async fn open(s: &Scene, user: UserId) -> Result<ConversationId, StoreError> {
    s.open_direct(user, s.new_user().id).await
}

fn unchanged() -> SettingsChange {
    SettingsChange::default()
}

async fn pin(s: &Scene, user: UserId, id: ConversationId) -> Outcome {
    change(s, user, id, SettingsChange { pinned: Some(true), ..unchanged() }).await
}

async fn archive(s: &Scene, user: UserId, id: ConversationId) -> Outcome {
    change(s, user, id, SettingsChange { archived: Some(true), ..unchanged() }).await
}

async fn change(s: &Scene, user: UserId, id: ConversationId, change: SettingsChange) -> Outcome {
    let note = s.note(user, AccountChange::SettingsChanged(id));
    s.store().change_settings(user, id, change, note).await?;
    Ok(())
}

async fn listed(s: &Scene, user: UserId, archived: bool) -> Result<Vec<ConversationId>, StoreError> {
    let rows = s.store().inbox(user, archived, None, 50).await?;
    Ok(rows.into_iter().map(|row| row.conversation).collect())
}

async fn pages(s: &Scene, user: UserId, archived: bool, limit: usize) -> Result<Vec<InboxRow>, StoreError> {
    all_pages(limit, InboxRow::position, |after| s.store().inbox(user, archived, after, limit)).await
}
