//! Large conversations, which are fanned out on read.

use godwit_domain::model::{
    AccountChange, AccountNote, Created, Cursor, FanOut, Kind, Member, Mentions, PinChange, Settings, SettingsChange,
};
use godwit_domain::ports::{CursorMove, ReceiptTimes, StoreError};
use godwit_protocol::UserId;
use godwit_protocol::conversations::Role;
use godwit_protocol::sync::GoneReason;

use super::Outcome;
use super::rows::{archive, changed, clear, large, last_listing, listed, open, pin, pinned, rows, set, unchanged};
use crate::paging::all_pages;
use crate::scene::{Group, Scene};

pub(super) async fn crossing_moves_every_row_once_with_its_settings(s: &Scene) -> Outcome {
    let group = s.group(6).await?;
    let other = open(s, group.members[0]).await?;
    s.send(group.id, group.owner(), "m").await?;
    pin(s, group.members[1], group.id, 5).await?;
    archive(s, group.members[2], group.id, true).await?;
    let muted = SettingsChange { muted_until: Some(Some(s.now())), marked_unread: Some(true), ..unchanged() };
    set(s, group.members[3], group.id, muted).await?;
    clear(s, group.members[4], group.id).await?;
    let mut expected = Vec::new();
    for user in &group.members {
        expected.push(s.store().settings(*user, group.id).await?);
    }
    let last = s.people(1)[0];
    s.advance_ms(10);
    let notes = s.append(s.batch(group.id).await?.add_crossing(group.owner(), &[last]).build()).await?;
    let told: Vec<_> = notes.into_iter().map(|(user, entry)| (user, entry.change)).collect();
    assert_eq!(told, [(last, AccountChange::ConversationListed(group.id))], "for the others nothing came or went");
    expected.push(Settings::default());
    for (user, settings) in group.members.iter().chain([&last]).zip(expected) {
        assert_eq!(large(s, *user).await?, [(group.id, settings)]);
        is_in_no_list(s, *user, &group).await?;
    }
    assert_eq!(listed(s, group.members[0]).await?, [other], "other conversations stay where they are");
    assert_eq!(s.load(group.id).await?.details.fan_out, FanOut::OnRead);
    Ok(())
}

pub(super) async fn settings_that_change_at_the_crossing_are_not_lost(s: &Scene) -> Outcome {
    const MEMBERS: usize = 16;
    let group = s.group(MEMBERS).await?;
    let last = s.people(1)[0];
    let crossing = s.batch(group.id).await?.add_crossing(group.owner(), &[last]).build();
    let until = s.now();
    s.at_once(MEMBERS + 1, |i, store| {
        let (crossing, group) = (crossing.clone(), group.clone());
        async move {
            if i == MEMBERS {
                return store.append(&crossing).await.map(drop);
            }
            let (user, id) = (group.members[i], group.id);
            let muted = SettingsChange { muted_until: Some(Some(until)), ..unchanged() };
            let change = AccountChange::SettingsChanged(id);
            let note = AccountNote { user_id: user, at: until, change };
            store.change_settings(user, id, muted, note).await.map(drop)
        }
    })
    .await?;
    let settings = Settings { muted_until: Some(until), ..Settings::default() };
    for user in &group.members {
        assert_eq!(large(s, *user).await?, [(group.id, settings.clone())]);
        is_in_no_list(s, *user, &group).await?;
    }
    Ok(())
}

pub(super) async fn members_are_loaded_one_by_one(s: &Scene) -> Outcome {
    let group = s.large_group(9).await?;
    let state = s.load(group.id).await?;
    assert_eq!((state.members.len(), state.details.member_count), (0, 9));
    assert_eq!(state.details.staff, [(group.owner(), Role::Owner)]);
    for limit in [1, 2, 4, 9, 50] {
        let page = |after| s.store().members(group.id, after, limit);
        let members = all_pages(limit, |member: &Member| member.user_id, page).await?;
        assert_eq!(members.iter().map(|member| member.user_id).collect::<Vec<_>>(), group.members);
        for member in members {
            assert_eq!(s.member(group.id, member.user_id).await?, member);
        }
    }
    Ok(())
}

pub(super) async fn members_come_and_go_after_the_crossing(s: &Scene) -> Outcome {
    let group = s.large_group(4).await?;
    let people = s.people(2);
    s.advance_ms(10);
    let batch = s.batch(group.id).await?.add(group.owner(), &people[..1]).join(people[1], None);
    let notes = s.append(batch.leave(group.members[2]).build()).await?;
    assert_eq!(notes.len(), 3, "{notes:?}");
    for user in &people {
        assert_eq!(large(s, *user).await?, [(group.id, Settings::default())]);
        is_in_no_list(s, *user, &group).await?;
        assert_eq!(last_listing(s, *user, group.id).await?, Some(AccountChange::ConversationListed(group.id)));
        assert_eq!(s.member(group.id, *user).await?.joined_at, s.now());
    }
    let gone = group.members[2];
    assert_eq!(large(s, gone).await?, []);
    assert_eq!(s.store().member(group.id, gone).await?, None);
    let removed = AccountChange::ConversationGone(group.id, GoneReason::Removed);
    assert_eq!(last_listing(s, gone, group.id).await?, Some(removed));
    assert_eq!(s.load(group.id).await?.details.member_count, 5);

    // The member returns, as a new member.
    pin(s, people[0], group.id, 1).await?;
    s.append(s.batch(group.id).await?.leave(people[0]).build()).await?;
    s.append(s.batch(group.id).await?.join(people[0], None).join(gone, None).build()).await?;
    for user in [people[0], gone] {
        assert_eq!(large(s, user).await?, [(group.id, Settings::default())]);
    }
    Ok(())
}

pub(super) async fn settings_change_after_the_crossing_too(s: &Scene) -> Outcome {
    let group = s.large_group(3).await?;
    let mut expected = Settings::default();
    for (change, pin) in [
        (SettingsChange { pin: Some(PinChange::Put(2)), ..unchanged() }, Some(2)),
        (SettingsChange { archived: Some(true), ..unchanged() }, Some(2)),
        (SettingsChange { pin: Some(PinChange::Remove), marked_unread: Some(true), ..unchanged() }, None),
        (SettingsChange { archived: Some(false), ..unchanged() }, None),
    ] {
        expected = Settings { pin, ..expected.changed_by(change.clone()) };
        assert_eq!(set(s, group.owner(), group.id, change).await?.0, expected);
        assert_eq!(large(s, group.owner()).await?, [(group.id, expected.clone())]);
        is_in_no_list(s, group.owner(), &group).await?;
    }
    assert_eq!(large(s, group.members[1]).await?, [(group.id, Settings::default())]);
    Ok(())
}

pub(super) async fn messages_write_no_rows(s: &Scene) -> Outcome {
    let group = s.large_group(4).await?;
    let floor = s.now();
    for number in 0..3 {
        s.advance_ms(60_000);
        let append = s.batch(group.id).await?.text(group.members[number], &format!("m{number}")).build();
        let head = append.effects.head.clone();
        assert_eq!(s.append(append).await?, []);
        assert_eq!(s.load(group.id).await?.head, head);
    }
    for user in &group.members {
        is_in_no_list(s, *user, &group).await?;
        assert_eq!(changed(s, *user, floor).await?, []);
        assert_eq!(large(s, *user).await?, [(group.id, Settings::default())]);
    }
    Ok(())
}

pub(super) async fn cursors_move_and_leave_receipts(s: &Scene) -> Outcome {
    let group = s.large_group(4).await?;
    let (owner, bob) = (group.owner(), group.members[1]);
    let sent = s.send(group.id, owner, "m").await?;
    let read = Cursor::at(sent.seq, sent.ordinal);
    assert_eq!(s.member(group.id, owner).await?.cursor, read);
    assert_eq!(s.member(group.id, bob).await?.cursor, Cursor::default());
    s.advance_ms(10);
    let moved = CursorMove { conversation: group.id, user_id: bob, cursor: read, at: s.now() };
    let notes = s.store().move_cursors(&[moved]).await?;
    assert_eq!(notes.iter().map(|(user, entry)| (*user, entry.change)).collect::<Vec<_>>(), [(bob, AccountChange::ReadMoved(group.id))]);
    assert_eq!(s.member(group.id, bob).await?.cursor, read);
    let at = |user_id, at| ReceiptTimes { user_id, delivered_at: at, read_at: at };
    let receipts = s.store().receipts(group.id, sent.seq, &[group.members[2], bob, owner]).await?;
    assert_eq!(receipts, [at(group.members[2], None), at(bob, Some(s.now())), at(owner, Some(sent.at()))]);
    Ok(())
}

pub(super) async fn mentions_are_kept_with_the_member(s: &Scene) -> Outcome {
    let group = s.large_group(4).await?;
    let (owner, bob) = (group.owner(), group.members[1]);
    let mention = Mentions { users: vec![bob], all: false };
    let append = s.batch_with(group.id, &[], &[bob]).await?.calling(owner, "m", mention).build();
    let seq = append.entries[0].seq;
    s.append(append).await?;
    assert_eq!(s.member(group.id, bob).await?.mentions, [seq]);
    assert_eq!(s.member(group.id, group.members[2]).await?.mentions, []);
    s.append(s.batch_on(group.id, &[seq]).await?.delete(owner, seq).build()).await?;
    assert_eq!(s.member(group.id, bob).await?.mentions, []);
    let promoted = s.batch_with(group.id, &[], &[bob]).await?.role(owner, bob, Role::Admin).build();
    s.append(promoted).await?;
    assert_eq!(s.member(group.id, bob).await?.role, Role::Admin);
    assert_eq!(s.load(group.id).await?.details.staff.len(), 2);
    Ok(())
}

pub(super) async fn a_conversation_can_begin_large(s: &Scene) -> Outcome {
    let people = s.people(700);
    let new = s.new_group_with(Kind::Channel, &people, |created: &mut Created| created.fan_out = FanOut::OnRead);
    let made = s.store().create(new, None).await?;
    assert_eq!(made.made.map(|notes| notes.len()), Some(people.len()));
    let group = Group { id: made.id, members: people };
    assert_eq!(s.load(group.id).await?.members, []);
    let page = |after| s.store().members(group.id, after, 300);
    let members = all_pages(300, |member: &Member| member.user_id, page).await?;
    assert!(members.iter().map(|member| member.user_id).eq(group.members.iter().copied()));
    for place in [0, 1, 350, 699] {
        assert_eq!(large(s, group.members[place]).await?, [(group.id, Settings::default())]);
        is_in_no_list(s, group.members[place], &group).await?;
    }
    Ok(())
}

pub(super) async fn a_group_of_hundreds_crosses_without_losing_anybody(s: &Scene) -> Outcome {
    let group = s.group(500).await?;
    let floor = s.now();
    s.send(group.id, group.members[250], "m").await?;
    s.advance_ms(10);
    let last = s.people(1)[0];
    s.append(s.batch(group.id).await?.join_crossing(last, None).build()).await?;
    for user in group.members.iter().chain([&last]) {
        assert_eq!(large(s, *user).await?, [(group.id, Settings::default())]);
        assert_eq!(changed(s, *user, floor).await?, []);
    }
    Ok(())
}

/// Checks the lists of conversations that are fanned out on write.
async fn is_in_no_list(s: &Scene, user: UserId, group: &Group) -> Result<(), StoreError> {
    let mut all = rows(s, user).await?;
    all.extend(s.store().inbox(user, true, None, 50).await?);
    all.extend(pinned(s, user).await?);
    all.extend(changed(s, user, s.now().plus_millis(-1_000_000)).await?);
    assert!(all.iter().all(|row| row.conversation != group.id), "{all:?}");
    Ok(())
}
