//! The order of change, which `sync` reads.

use std::cmp::Reverse;

use godwit_domain::model::Cursor;
use godwit_domain::ports::{
    ActivityPosition, CHANGE_GRAIN_MS, ChangedRow, CursorMove, InboxRow, StoreError, change_time,
};
use godwit_protocol::conversations::Role;
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};

use super::Outcome;
use super::inbox::full_inbox;
use super::rows::{changed, clear, listed, open};
use crate::batch::Batch;
use crate::paging::all_pages;
use crate::scene::{Group, Scene};

/// Long enough that no earlier change is listed.
const AWAY_MS: i64 = 10 * CHANGE_GRAIN_MS;

pub(super) async fn changed_since_begins_at_the_floor(s: &Scene) -> Outcome {
    let (ada, mut rows) = full_inbox(s).await?;
    rows.sort_by_key(|row| Reverse(row.activity()));
    for row in &rows {
        for floor in [-1, 0, 1].map(|shift_ms| row.activity_at.plus_millis(shift_ms)) {
            let expected: Vec<InboxRow> = rows.iter().filter(|row| row.activity_at >= floor).cloned().collect();
            assert_eq!(changed(s, ada, floor).await?, expected, "since {floor}");
        }
    }
    Ok(())
}

pub(super) async fn pages_give_each_row_once_in_order(s: &Scene) -> Outcome {
    let (ada, mut rows) = full_inbox(s).await?;
    rows.sort_by_key(|row| Reverse(row.activity()));
    let floor = rows[rows.len() - 3].activity_at;
    let expected: Vec<ActivityPosition> =
        rows.iter().filter(|row| row.activity_at >= floor).map(InboxRow::activity).collect();
    for limit in 1..=expected.len() + 1 {
        assert_eq!(positions(s, ada, floor, limit).await?, expected, "in pages of {limit}");
    }
    Ok(())
}

pub(super) async fn each_conversation_is_listed_once_at_its_latest_change(s: &Scene) -> Outcome {
    let ada = s.user().await?;
    let mut expected = Vec::new();
    // Conversations with activity and a later change, with later activity, with a change within a minute of the activity,
    // and with no change.
    for number in 0..12 {
        let id = open(s, ada).await?;
        let said = s.send(id, ada, "m").await?;
        s.advance_ms([AWAY_MS, 3, 40_000][number % 3]);
        let mut latest = said.at();
        if number % 4 != 3 {
            edit(s, id, ada, said.seq).await?;
            latest = latest.max(change_time(s.now()));
        }
        if number % 4 == 1 {
            s.advance_ms(AWAY_MS);
            latest = s.send(id, ada, "n").await?.at();
        }
        s.advance_ms(7);
        expected.push(ActivityPosition { at: latest, conversation: id });
    }
    expected.sort_by_key(|position| Reverse(*position));
    for floor in expected.iter().map(|position| position.at).chain([Timestamp::default()]) {
        let expected: Vec<_> = expected.iter().filter(|position| position.at >= floor).copied().collect();
        for limit in [1, 2, 3, 5, 50] {
            assert_eq!(positions(s, ada, floor, limit).await?, expected, "since {floor} in pages of {limit}");
        }
    }
    Ok(())
}

pub(super) async fn every_change_is_listed_for_every_member(s: &Scene) -> Outcome {
    type Make = for<'a> fn(Batch<'a>, UserId, Seq, UserId) -> Batch<'a>;
    let changes: [(&str, Make); 11] = [
        ("edit", |batch, by, seq, _| batch.edit(by, seq, "new")),
        ("react", |batch, by, seq, _| batch.react(by, seq, None, Some("+"))),
        ("take back", |batch, by, seq, _| batch.react(by, seq, Some("+"), None)),
        ("pin", |batch, by, seq, _| batch.pin(by, seq)),
        ("unpin", |batch, by, seq, _| batch.unpin(by, seq)),
        ("role", |batch, by, _, other| batch.role(by, other, Role::Admin)),
        ("rename", |batch, by, _, _| batch.rename(by, "other")),
        ("transfer", |batch, by, _, other| batch.transfer(by, other)),
        ("filler", |batch, _, _, _| batch.filler()),
        ("delete", |batch, by, seq, _| batch.delete(by, seq)),
        ("expire", |batch, _, seq, _| batch.expired(&[seq])),
    ];
    for channel in [false, true] {
        let group = if channel { s.channel(3).await? } else { s.group(3).await? };
        let (owner, other) = (group.owner(), group.members[1]);
        let said = [s.send(group.id, owner, "a").await?.seq, s.send(group.id, owner, "b").await?.seq];
        for (name, make) in changes {
            s.advance_ms(AWAY_MS);
            let since = s.now();
            let seq = said[usize::from(name == "expire")];
            let batch = make(s.batch_on(group.id, &[seq]).await?, owner, seq, other);
            s.append(batch.build()).await?;
            is_listed_as_changed(s, &group, since, name).await?;
        }
        for (name, is_coming) in [("join", true), ("leave", false)] {
            s.advance_ms(AWAY_MS);
            let (since, batch) = (s.now(), s.batch(group.id).await?);
            let guest = s.people(1)[0];
            s.append(if is_coming { batch.join(guest, None) } else { batch.leave(other) }.build()).await?;
            let group = Group { id: group.id, members: vec![owner, group.members[2]] };
            is_listed_as_changed(s, &group, since, name).await?;
        }
    }
    Ok(())
}

pub(super) async fn a_moved_cursor_is_listed_for_every_member(s: &Scene) -> Outcome {
    let group = s.group(3).await?;
    let sent = s.send(group.id, group.owner(), "m").await?;
    for (name, cursor) in [
        ("delivered", Cursor { delivered: sent.seq, ..Cursor::default() }),
        ("read", Cursor::at(sent.seq, sent.ordinal)),
    ] {
        s.advance_ms(AWAY_MS);
        let since = s.now();
        s.store().move_cursors(&[moved(&group, 1, cursor, since)]).await?;
        is_listed_as_changed(s, &group, since, name).await?;
        s.advance_ms(AWAY_MS);
        s.store().move_cursors(&[moved(&group, 1, cursor, s.now())]).await?;
        assert_eq!(changed(s, group.owner(), s.now()).await?, [], "it was there already");
    }
    Ok(())
}

pub(super) async fn a_change_after_a_message_of_the_same_append_is_listed(s: &Scene) -> Outcome {
    let group = s.group(3).await?;
    let first = s.send(group.id, group.owner(), "m").await?;
    s.advance_ms(AWAY_MS);
    let batch = s.batch_on(group.id, &[first.seq]).await?.text(group.owner(), "n");
    s.advance_ms(AWAY_MS);
    let since = s.now();
    s.append(batch.edit(group.owner(), first.seq, "new").build()).await?;
    is_listed_as_changed(s, &group, since, "edit").await
}

pub(super) async fn a_change_in_the_same_minute_is_listed_for_a_new_member(s: &Scene) -> Outcome {
    let group = s.group(2).await?;
    let sent = s.send(group.id, group.owner(), "m").await?;
    // The start of a minute, so that all changes fall into one.
    s.advance_ms(AWAY_MS + change_time(s.now()).millis_since(s.now()) + 1);
    edit(s, group.id, group.owner(), sent.seq).await?;
    let guest = s.people(1)[0];
    s.append(s.batch(group.id).await?.join(guest, None).build()).await?;
    s.advance_ms(20_000);
    let since = s.now();
    edit(s, group.id, group.owner(), sent.seq).await?;
    let everybody = Group { id: group.id, members: [&*group.members, &[guest]].concat() };
    is_listed_as_changed(s, &everybody, since, "edit").await?;
    s.advance_ms(AWAY_MS);
    let since = s.now();
    edit(s, group.id, group.owner(), sent.seq).await?;
    is_listed_as_changed(s, &everybody, since, "a later edit").await
}

pub(super) async fn changes_are_not_listed_for_a_departed_member(s: &Scene) -> Outcome {
    let group = s.group(3).await?;
    let (owner, bob) = (group.owner(), group.members[1]);
    let sent = s.send(group.id, owner, "m").await?;
    edit(s, group.id, owner, sent.seq).await?;
    s.append(s.batch(group.id).await?.remove(owner, bob).build()).await?;
    edit(s, group.id, owner, sent.seq).await?;
    s.advance_ms(AWAY_MS);
    edit(s, group.id, owner, sent.seq).await?;
    assert_eq!(changed(s, bob, Timestamp::default()).await?, []);
    s.append(s.batch(group.id).await?.add(owner, &[bob]).build()).await?;
    s.advance_ms(AWAY_MS);
    let since = s.now();
    edit(s, group.id, owner, sent.seq).await?;
    is_listed_as_changed(s, &group, since, "an edit after they came back").await
}

pub(super) async fn a_change_does_not_list_a_cleared_conversation(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let sent = s.send(chat.id, chat.ada, "m").await?;
    edit(s, chat.id, chat.ada, sent.seq).await?;
    clear(s, chat.bob, chat.id).await?;
    for _ in 0..2 {
        assert_eq!(changed(s, chat.bob, Timestamp::default()).await?, []);
        assert_eq!(changed(s, chat.ada, Timestamp::default()).await?.len(), 1);
        s.advance_ms(AWAY_MS);
        edit(s, chat.id, chat.ada, sent.seq).await?;
    }
    s.send(chat.id, chat.ada, "n").await?;
    assert_eq!(listed(s, chat.bob).await?, [chat.id]);
    s.advance_ms(AWAY_MS);
    let since = s.now();
    edit(s, chat.id, chat.ada, sent.seq).await?;
    assert_eq!(changed(s, chat.bob, since).await?.len(), 1);
    Ok(())
}

pub(super) async fn concurrent_changes_are_all_listed(s: &Scene) -> Outcome {
    let group = s.group(12).await?;
    for round in 0..4 {
        s.advance_ms(if round % 2 == 0 { AWAY_MS } else { 1 });
        let since = s.now();
        let sent = s.send(group.id, group.owner(), &format!("m{round}")).await?;
        let cursor = Cursor::at(sent.seq, sent.ordinal);
        s.at_once(group.members.len(), |number, store| {
            let by = moved(&group, number, cursor, since);
            async move { store.move_cursors(&[by]).await }
        })
        .await?;
        is_listed_as_changed(s, &group, since, "many moves").await?;
    }
    Ok(())
}

pub(super) async fn cursors_have_the_time_of_their_last_move(s: &Scene) -> Outcome {
    let group = s.group(3).await?;
    let (owner, bob) = (group.owner(), group.members[1]);
    s.advance_ms(AWAY_MS);
    let sent = s.send(group.id, owner, "m").await?;
    s.advance_ms(1_000);
    let read_at = s.now();
    s.store().move_cursors(&[moved(&group, 1, Cursor::at(sent.seq, sent.ordinal), read_at)]).await?;
    s.advance_ms(1_000);
    s.store().move_cursors(&[moved(&group, 1, Cursor::at(sent.seq, sent.ordinal), s.now())]).await?;
    s.append(s.batch(group.id).await?.role(owner, bob, Role::Admin).build()).await?;
    let state = s.load(group.id).await?;
    let expected = [sent.at(), read_at, Timestamp::default()];
    for (user, expected) in group.members.iter().zip(expected) {
        assert_eq!(state.member(*user).map(|member| member.moved_at), Some(expected));
        assert_eq!(s.member(group.id, *user).await?.moved_at, expected);
    }
    let members = s.store().members(group.id, None, 50).await?;
    assert_eq!(members.iter().map(|member| member.moved_at).collect::<Vec<_>>(), expected);
    Ok(())
}

async fn is_listed_as_changed(s: &Scene, group: &Group, since: Timestamp, what: &str) -> Result<(), StoreError> {
    for user in &group.members {
        let rows = changed(s, *user, since).await?;
        let ids: Vec<ConversationId> = rows.iter().map(|row| row.conversation).collect();
        assert_eq!(ids, [group.id], "{what}");
        assert!(rows[0].activity_at <= change_time(s.now()), "{what}");
    }
    Ok(())
}

async fn edit(s: &Scene, id: ConversationId, by: UserId, message: Seq) -> Result<(), StoreError> {
    let text = s.word();
    s.append(s.batch_on(id, &[message]).await?.edit(by, message, &text).build()).await?;
    Ok(())
}

fn moved(group: &Group, number: usize, cursor: Cursor, at: Timestamp) -> CursorMove {
    CursorMove { conversation: group.id, user_id: group.members[number], cursor, at }
}

async fn positions(
    s: &Scene,
    user: UserId,
    floor: Timestamp,
    limit: usize,
) -> Result<Vec<ActivityPosition>, StoreError> {
    let page = |after| s.store().changed_since(user, floor, after, limit);
    let rows = all_pages(limit, ChangedRow::position, page).await?;
    Ok(rows.iter().map(ChangedRow::position).collect())
}
