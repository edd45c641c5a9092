//! Listing: which inboxes contain a group, and at which position.

use godwit_domain::model::{AccountChange, AccountEntry, Settings, SettingsChange};
use godwit_domain::ports::{InboxRow, StoreError};
use godwit_protocol::sync::GoneReason;
use godwit_protocol::{ConversationId, Timestamp, UserId};

use super::Outcome;
use super::rows::{archive, changed, last_listing, listed, open, pin, pinned, rows, set, unchanged};
use crate::paging::account_log_after;
use crate::scene::Scene;

pub(super) async fn a_message_moves_a_group_up_in_every_inbox(s: &Scene) -> Outcome {
    let group = s.group(5).await?;
    let mut others = Vec::new();
    for user in &group.members {
        s.advance_ms(10);
        others.push(open(s, *user).await?);
    }
    for (user, other) in group.members.iter().zip(&others) {
        assert_eq!(listed(s, *user).await?, [*other, group.id]);
    }
    s.advance_ms(10);
    let sent = s.send(group.id, group.members[3], "m").await?;
    for (user, other) in group.members.iter().zip(&others) {
        assert_eq!(listed(s, *user).await?, [group.id, *other]);
        assert_eq!(rows(s, *user).await?[0], row(group.id, sent.at()));
        let active = changed(s, *user, sent.at()).await?;
        assert_eq!(active, [row(group.id, sent.at())]);
    }
    Ok(())
}

pub(super) async fn a_new_member_has_the_group_in_the_inbox(s: &Scene) -> Outcome {
    let group = s.group(2).await?;
    let people = s.people(3);
    s.send(group.id, group.owner(), "m").await?;
    s.advance_ms(10);
    let batch = s.batch(group.id).await?.add(group.owner(), &people[..2]).join(people[2], None);
    let mut notes = s.append(batch.build()).await?;
    notes.sort_by_key(|(user, _)| *user);
    assert_eq!(notes.iter().map(|(user, _)| *user).collect::<Vec<_>>(), people);
    for (user, entry) in notes {
        assert_eq!((entry.at, entry.change), (s.now(), AccountChange::ConversationListed(group.id)));
        assert_eq!(account_log_after(s.store(), user, 0, 50).await?, Some(vec![entry]));
    }
    for user in group.members.iter().chain(&people) {
        assert_eq!(rows(s, *user).await?, [row(group.id, s.now())], "the entry about the new member is shown");
    }
    Ok(())
}

pub(super) async fn a_member_added_without_a_notice_has_the_same_row_as_the_others(s: &Scene) -> Outcome {
    let channel = s.channel(2).await?;
    s.advance_ms(10);
    let sent = s.send(channel.id, channel.owner(), "m").await?;
    s.advance_ms(10);
    let people = s.people(2);
    let batch = s.batch(channel.id).await?.add(channel.owner(), &people[..1]).join(people[1], None);
    s.append(batch.build()).await?;
    for user in channel.members.iter().chain(&people) {
        assert_eq!(rows(s, *user).await?, [row(channel.id, sent.at())]);
    }
    s.advance_ms(10);
    let sent = s.send(channel.id, channel.owner(), "n").await?;
    for user in channel.members.iter().chain(&people) {
        assert_eq!(rows(s, *user).await?, [row(channel.id, sent.at())]);
    }
    Ok(())
}

pub(super) async fn a_departed_member_loses_the_conversation_and_its_settings(s: &Scene) -> Outcome {
    let group = s.group(5).await?;
    let [owner, bob, eve, dan, kim] = [0, 1, 2, 3, 4].map(|i| group.members[i]);
    pin(s, eve, group.id, 1).await?;
    archive(s, dan, group.id, true).await?;
    set(s, bob, group.id, SettingsChange { muted_until: Some(Some(s.now())), ..unchanged() }).await?;
    s.advance_ms(10);
    let batch = s.batch(group.id).await?.leave(bob).remove(owner, eve).leave(dan);
    let mut notes = s.append(batch.build()).await?;
    notes.sort_by_key(|(user, _)| *user);
    let gone = AccountChange::ConversationGone(group.id, GoneReason::Removed);
    assert_eq!(told(notes), [bob, eve, dan].map(|user| (user, s.now(), gone)));
    for user in [bob, eve, dan] {
        is_gone(s, user, group.id, gone).await?;
    }
    for user in [owner, kim] {
        assert_eq!(rows(s, user).await?, [row(group.id, s.now())]);
    }
    s.advance_ms(10);
    s.send(group.id, owner, "m").await?;
    is_gone(s, bob, group.id, gone).await
}

pub(super) async fn a_deleted_group_leaves_all_inboxes(s: &Scene) -> Outcome {
    let group = s.group(3).await?;
    pin(s, group.members[1], group.id, 1).await?;
    s.send(group.id, group.owner(), "m").await?;
    s.advance_ms(10);
    let batch = s.batch(group.id).await?.text(group.owner(), "bye").delete_conversation(group.owner());
    let notes = s.append(batch.build()).await?;
    assert_eq!(notes.len(), 3, "{notes:?}");
    for user in group.members {
        is_gone(s, user, group.id, AccountChange::ConversationGone(group.id, GoneReason::Deleted)).await?;
    }
    Ok(())
}

pub(super) async fn a_returning_member_has_it_as_a_new_conversation(s: &Scene) -> Outcome {
    let group = s.group(2).await?;
    let bob = group.members[1];
    let other = open(s, bob).await?;
    set(s, bob, group.id, SettingsChange { muted_until: Some(Some(s.now())), ..unchanged() }).await?;
    s.append(s.batch(group.id).await?.leave(bob).build()).await?;
    s.advance_ms(10);
    let third = open(s, bob).await?;
    s.advance_ms(10);
    s.append(s.batch(group.id).await?.join(bob, None).build()).await?;
    assert_eq!(listed(s, bob).await?, [group.id, third, other]);
    assert_eq!(rows(s, bob).await?[0], row(group.id, s.now()));
    assert_eq!(s.store().settings(bob, group.id).await?, Settings::default());
    let listed_again = Some(AccountChange::ConversationListed(group.id));
    assert_eq!(last_listing(s, bob, group.id).await?, listed_again);
    Ok(())
}

pub(super) async fn joining_and_leaving_repeatedly_lists_it_once(s: &Scene) -> Outcome {
    let group = s.group(2).await?;
    let bob = group.members[1];
    for round in 0..6 {
        s.advance_ms(10);
        s.append(s.batch(group.id).await?.remove(group.owner(), bob).build()).await?;
        assert_eq!(rows(s, bob).await?, []);
        s.advance_ms(if round % 2 == 0 { 0 } else { 100_000 });
        s.append(s.batch(group.id).await?.add(group.owner(), &[bob]).build()).await?;
        assert_eq!(rows(s, bob).await?, [row(group.id, s.now())]);
        s.send(group.id, bob, &format!("m{round}")).await?;
        let active = changed(s, bob, s.now().plus_millis(-1_000_000)).await?;
        assert_eq!(active, [row(group.id, s.now())]);
    }
    Ok(())
}

/// A user who was told that they joined must be told that they left, even if both were written at once.
pub(super) async fn joining_and_leaving_in_one_append_is_noted(s: &Scene) -> Outcome {
    let group = s.group(3).await?;
    let [owner, bob, eve] = [0, 1, 2].map(|i| group.members[i]);
    s.append(s.batch(group.id).await?.leave(bob).leave(eve).build()).await?;
    s.advance_ms(10);
    let removed = AccountChange::ConversationGone(group.id, GoneReason::Removed);
    let notes = s.append(s.batch(group.id).await?.join(bob, None).remove(owner, bob).build()).await?;
    assert_eq!(told(notes), [(bob, s.now(), removed)]);
    is_gone(s, bob, group.id, removed).await?;
    s.advance_ms(10);
    let deleted = AccountChange::ConversationGone(group.id, GoneReason::Deleted);
    let notes = s.append(s.batch(group.id).await?.join(eve, None).delete_conversation(owner).build()).await?;
    assert!(notes.iter().any(|(user, entry)| *user == eve && entry.change == deleted), "{notes:?}");
    is_gone(s, eve, group.id, deleted).await
}

/// The recipients, times and changes of notes.
fn told(notes: Vec<(UserId, AccountEntry)>) -> Vec<(UserId, Timestamp, AccountChange)> {
    notes.into_iter().map(|(user, entry)| (user, entry.at, entry.change)).collect()
}

fn row(conversation: ConversationId, activity_at: Timestamp) -> InboxRow {
    InboxRow { conversation, settings: Settings::default(), activity_at }
}

/// Asserts that the user has only the note about the departure.
async fn is_gone(
    s: &Scene,
    user: UserId,
    id: ConversationId,
    change: AccountChange,
) -> Result<(), StoreError> {
    assert_eq!(last_listing(s, user, id).await?, Some(change));
    for archived in [false, true] {
        assert_eq!(s.store().inbox(user, archived, None, 50).await?, []);
    }
    assert_eq!(pinned(s, user).await?, []);
    assert_eq!(s.store().fanned_out_on_read(user).await?, []);
    let since = s.now().plus_millis(-1_000_000);
    assert_eq!(changed(s, user, since).await?, []);
    assert_eq!(s.store().settings(user, id).await?, Settings::default());
    Ok(())
}
