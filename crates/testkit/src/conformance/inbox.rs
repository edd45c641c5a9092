//! The inbox: order and pages.

use std::cmp::Reverse;

use godwit_domain::model::{PinChange, Settings, SettingsChange};
use godwit_domain::ports::{InboxRow, StoreError};
use godwit_protocol::{ConversationId, UserId};

use super::Outcome;
use super::rows::{archive, archived, changed, listed, open, pages, pin, pinned, rows, set, unpin};
use crate::scene::Scene;

pub(super) async fn rows_are_sorted_by_activity_and_then_by_id(s: &Scene) -> Outcome {
    let ada = s.user().await?;
    let (a, b, c, d) = (open(s, ada).await?, open(s, ada).await?, open(s, ada).await?, open(s, ada).await?);
    assert_eq!(listed(s, ada).await?, [d, c, b, a], "made at the same time: the higher id first");
    s.advance_ms(10);
    s.send(b, ada, "m").await?;
    s.send(a, ada, "m").await?;
    assert_eq!(listed(s, ada).await?, [b, a, d, c], "two have messages of the same time");
    s.advance_ms(10);
    s.send(c, ada, "m").await?;
    s.send(a, ada, "n").await?;
    assert_eq!(listed(s, ada).await?, [c, a, b, d]);
    Ok(())
}

pub(super) async fn pinned_conversations_are_a_list_of_their_own(s: &Scene) -> Outcome {
    let ada = s.user().await?;
    let (a, b, c) = (open(s, ada).await?, open(s, ada).await?, open(s, ada).await?);
    let places = async || {
        let rows = pinned(s, ada).await?;
        Ok::<_, StoreError>(rows.into_iter().map(|row| (row.conversation, row.settings.pin)).collect::<Vec<_>>())
    };
    assert_eq!(places().await?, []);
    pin(s, ada, b, 7).await?;
    pin(s, ada, a, -3).await?;
    assert_eq!(listed(s, ada).await?, [c]);
    assert_eq!(places().await?, [(a, Some(-3)), (b, Some(7))]);
    s.advance_ms(10);
    let sent = s.send(b, ada, "m").await?;
    assert_eq!(listed(s, ada).await?, [c], "a message does not bring it back");
    assert_eq!(pinned(s, ada).await?[1].activity_at, sent.at(), "and it is activity here too");
    pin(s, ada, b, i64::MIN).await?;
    assert_eq!(places().await?, [(a, Some(-3)), (b, Some(i64::MIN))], "it got another place");
    archive(s, ada, a, true).await?;
    assert_eq!(archived(s, ada).await?, []);
    assert_eq!(places().await?.len(), 2, "it is archived and pinned");
    unpin(s, ada, b).await?;
    assert_eq!(listed(s, ada).await?, [b, c], "in its place among the others");
    unpin(s, ada, a).await?;
    assert_eq!(archived(s, ada).await?, [a]);
    assert_eq!(places().await?, []);
    Ok(())
}

pub(super) async fn archived_conversations_are_a_list_of_their_own(s: &Scene) -> Outcome {
    let ada = s.user().await?;
    let (a, b, c) = (open(s, ada).await?, open(s, ada).await?, open(s, ada).await?);
    archive(s, ada, a, true).await?;
    archive(s, ada, b, true).await?;
    assert_eq!(listed(s, ada).await?, [c]);
    assert_eq!(archived(s, ada).await?, [b, a]);
    s.advance_ms(10);
    s.send(a, ada, "m").await?;
    assert_eq!(listed(s, ada).await?, [c], "a message does not bring it back");
    assert_eq!(archived(s, ada).await?, [a, b]);
    archive(s, ada, a, false).await?;
    assert_eq!(listed(s, ada).await?, [a, c]);
    assert_eq!(archived(s, ada).await?, [b]);
    Ok(())
}

pub(super) async fn pages_of_any_size_give_each_row_once_in_order(s: &Scene) -> Outcome {
    let (ada, rows) = full_inbox(s).await?;
    for archived in [false, true] {
        let is_there = |row: &&InboxRow| row.settings.pin.is_none() && row.settings.archived == archived;
        let mut expected: Vec<InboxRow> = rows.iter().filter(is_there).cloned().collect();
        expected.sort_by_key(|row| Reverse(row.activity()));
        for limit in 1..=expected.len() + 1 {
            assert_eq!(pages(s, ada, archived, limit).await?, expected, "in pages of {limit}");
        }
    }
    let expected: Vec<InboxRow> = rows.into_iter().filter(|row| row.settings.pin.is_some()).collect();
    assert_eq!(pinned(s, ada).await?, expected);
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
    // Bursts of activity in all conversations at every pace: within a millisecond, seconds apart, and an hour later.
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
        let active: Vec<InboxRow> = rows.iter().filter(|row| row.activity_at >= floor).cloned().collect();
        assert!(changed(s, ada, floor).await? == active, "after round {round}");
    }
    Ok(())
}

pub(super) async fn a_position_need_not_be_a_row(s: &Scene) -> Outcome {
    let (ada, _) = full_inbox(s).await?;
    let rows = rows(s, ada).await?;
    let after = async |position| s.store().inbox(ada, false, Some(position), 50).await;
    for (number, row) in rows.iter().enumerate() {
        let here = row.activity();
        assert_eq!(after(here).await?, rows[number + 1..]);
        let mut just_before = here;
        just_before.conversation = ConversationId::new(row.conversation.get() + 1);
        assert_eq!(after(just_before).await?, rows[number..]);
        let mut just_after = here;
        just_after.conversation = ConversationId::new(row.conversation.get() - 1);
        assert_eq!(after(just_after).await?, rows[number + 1..]);
    }
    // After the page was read, one conversation was pinned and one moved to the top.
    pin(s, ada, rows[1].conversation, 1).await?;
    s.advance_ms(10);
    s.send(rows[2].conversation, ada, "again").await?;
    assert_eq!(after(rows[1].activity()).await?, rows[3..]);
    assert_eq!(after(rows[2].activity()).await?, rows[3..]);
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
        let page = s.store().inbox(ada, false, read.last().map(InboxRow::activity), 3).await?;
        let is_last = page.len() < 3;
        read.extend(page);
        if is_last {
            break;
        }
        // New activity moves a conversation that was read to the top again, and one that was not read out of the remaining
        // pages.
        for id in [read[read.len() - 2].conversation, oldest_first[moved.len()]] {
            s.advance_ms(10);
            s.send(id, ada, &format!("m{}", moved.len())).await?;
            moved.push(id);
        }
        if let Some(id) = oldest_first.iter().find(|id| !moved.contains(id)) {
            pin(s, ada, *id, 1).await?;
            moved.push(*id);
        }
    }
    assert!(read.is_sorted_by(|a, b| a.activity() > b.activity()), "{read:?}");
    let seen = |id: &ConversationId| read.iter().filter(|row| row.conversation == *id).count();
    for id in &oldest_first {
        assert!(seen(id) == 1 || (moved.contains(id) && seen(id) == 0), "{id} was seen {} times", seen(id));
    }
    let mut everything = listed(s, ada).await?;
    everything.extend(pinned(s, ada).await?.into_iter().map(|row| row.conversation));
    everything.sort_unstable();
    assert_eq!(everything, oldest_first, "nothing was lost");
    Ok(())
}

pub(super) async fn inboxes_of_two_members_are_their_own(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    s.send(chat.id, chat.ada, "m").await?;
    let other = open(s, chat.bob).await?;
    pin(s, chat.ada, chat.id, 1).await?;
    archive(s, chat.bob, chat.id, true).await?;
    assert_eq!(listed(s, chat.ada).await?, []);
    assert_eq!(listed(s, chat.bob).await?, [other]);
    let row = &s.store().inbox(chat.bob, true, None, 50).await?[0];
    assert_eq!(row.settings, Settings { archived: true, ..Settings::default() });
    Ok(())
}

/// An inbox with pinned, archived and muted conversations, some with the same time, in the order of creation.
pub(super) async fn full_inbox(s: &Scene) -> Result<(UserId, Vec<InboxRow>), StoreError> {
    let ada = s.user().await?;
    let mut rows = Vec::new();
    for number in 0..14 {
        s.advance_ms(if number % 3 == 0 { 10 } else { 0 });
        let conversation = open(s, ada).await?;
        let change = SettingsChange {
            pin: Some(if number % 4 == 1 { PinChange::Put(number) } else { PinChange::Remove }),
            archived: Some(number % 5 == 2),
            muted_until: Some((number == 1).then(|| s.now())),
            ..SettingsChange::default()
        };
        let (settings, _) = set(s, ada, conversation, change).await?;
        rows.push(InboxRow { conversation, settings, activity_at: s.now() });
    }
    // The order of activity differs from the order of creation.
    for number in [3, 8, 1, 2] {
        s.advance_ms(if number == 8 { 0 } else { 10 });
        rows[number].activity_at = s.send(rows[number].conversation, ada, "m").await?.at();
    }
    Ok((ada, rows))
}
