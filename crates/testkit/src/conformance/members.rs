//! Members of conversations.

use godwit_domain::model::{Concealed, Cursor, DetailsChange, Kind, Member, Mentions};
use godwit_domain::ports::{CursorMove, StoreError};
use godwit_protocol::conversations::{HistoryVisibility, Role};
use godwit_protocol::{ConversationId, Seq, UserId};

use super::Outcome;
use crate::paging::all_pages;
use crate::scene::Scene;

pub(super) async fn users_are_members_from_joining_to_leaving(s: &Scene) -> Outcome {
    let group = s.group(2).await?;
    let (owner, people) = (group.owner(), s.people(4));
    s.advance_ms(10);
    let batch = s.batch(group.id).await?.add(owner, &people[..3]).join(people[3], None);
    s.append(batch.build()).await?;
    let mut expected: Vec<UserId> = group.members.iter().chain(&people).copied().collect();
    assert_eq!(member_ids(s, group.id).await?, expected);
    let state = s.load(group.id).await?;
    assert_eq!(state.member_ids(), expected);
    assert_eq!(state.details.member_count, 6);
    let last = s.member(group.id, people[3]).await?;
    assert_eq!((last.role, last.joined_at, last.visible_from), (Role::Member, s.now(), Seq::ZERO));

    let batch = s.batch(group.id).await?.leave(people[1]).remove(owner, group.members[1]);
    s.append(batch.build()).await?;
    expected.retain(|user| *user != people[1] && *user != group.members[1]);
    assert_eq!(member_ids(s, group.id).await?, expected);
    assert_eq!(s.load(group.id).await?.member_ids(), expected);
    assert_eq!(s.store().member(group.id, people[1]).await?, None);
    Ok(())
}

pub(super) async fn members_are_sorted_by_id_in_pages_of_any_size(s: &Scene) -> Outcome {
    let people = s.people(9);
    // The ids are not sorted.
    let new = s.new_group(Kind::Group, &[people[4], people[8], people[2]]);
    let id = s.store().create(new, None).await?.id;
    for chunk in [[people[7], people[0], people[5]], [people[3], people[6], people[1]]] {
        s.append(s.batch(id).await?.add(people[4], &chunk).build()).await?;
    }
    for limit in 1..=people.len() + 1 {
        let page = |after| s.store().members(id, after, limit);
        let members = all_pages(limit, |member: &Member| member.user_id, page).await?;
        assert_eq!(members, s.load(id).await?.members, "in pages of {limit}");
    }
    // A page may start after a user who is not a member any more.
    s.append(s.batch(id).await?.leave(people[5]).build()).await?;
    let after_one_who_left = s.store().members(id, Some(people[5]), 2).await?;
    assert_eq!(after_one_who_left.iter().map(|m| m.user_id).collect::<Vec<_>>(), people[6..8]);
    assert_eq!(s.store().members(id, Some(people[8]), 50).await?, []);
    assert_eq!(s.store().members(id, None, 0).await?, []);
    Ok(())
}

pub(super) async fn one_member_is_found_by_their_id(s: &Scene) -> Outcome {
    let (group, other) = (s.group(3).await?, s.group(1).await?);
    for member in s.load(group.id).await?.members {
        assert_eq!(s.store().member(group.id, member.user_id).await?.as_ref(), Some(&member));
        assert_eq!(s.store().member(other.id, member.user_id).await?, None);
    }
    assert_eq!(s.store().member(group.id, other.owner()).await?, None);
    assert_eq!(s.store().member(ConversationId::new(s.id()), group.owner()).await?, None);
    Ok(())
}

pub(super) async fn roles_change_in_members_and_staff(s: &Scene) -> Outcome {
    let group = s.group(3).await?;
    let [owner, bob, eve] = [0, 1, 2].map(|i| group.members[i]);
    let batch = s.batch(group.id).await?.role(owner, bob, Role::Admin).role(owner, eve, Role::Owner);
    s.append(batch.build()).await?;
    roles_are(s, group.id, &[Role::Owner, Role::Admin, Role::Owner]).await?;
    s.append(s.batch(group.id).await?.transfer(owner, bob).role(bob, eve, Role::Member).build()).await?;
    roles_are(s, group.id, &[Role::Admin, Role::Owner, Role::Member]).await?;
    s.append(s.batch(group.id).await?.remove(bob, owner).build()).await?;
    roles_are(s, group.id, &[Role::Owner, Role::Member]).await
}

pub(super) async fn a_returning_member_starts_afresh(s: &Scene) -> Outcome {
    let group = s.group(2).await?;
    let (owner, bob) = (group.owner(), group.members[1]);
    s.append(s.batch(group.id).await?.role(owner, bob, Role::Admin).text(bob, "a").build()).await?;
    let mention = Mentions { users: vec![bob], all: false };
    s.append(s.batch(group.id).await?.calling(owner, "b", mention).build()).await?;
    s.append(s.batch(group.id).await?.leave(bob).build()).await?;
    s.send(group.id, owner, "c").await?;
    s.advance_ms(10);
    let back = s.batch(group.id).await?.join(bob, None).build();
    let (seq, ordinal) = (back.entries[0].seq, back.entries[0].ordinal);
    s.append(back).await?;
    let expected = Member {
        user_id: bob,
        role: Role::Member,
        joined_at: s.now(),
        added_by: None,
        visible_from: Seq::ZERO,
        unlisted: false,
        cursor: Cursor::at(seq, ordinal),
        concealed: Concealed::default(),
        moved_at: s.now(),
        mentions: Vec::new(),
    };
    assert_eq!(s.member(group.id, bob).await?, expected);
    assert_eq!(s.load(group.id).await?.details.staff, [(owner, Role::Owner)]);
    Ok(())
}

pub(super) async fn the_first_entry_that_a_member_sees_is_kept(s: &Scene) -> Outcome {
    let group = s.group(1).await?;
    let (owner, people) = (group.owner(), s.people(2));
    s.send(group.id, owner, "a").await?;
    let from_joining =
        DetailsChange { history: Some(HistoryVisibility::FromJoining), ..DetailsChange::default() };
    let batch = s.batch(group.id).await?.add(owner, &people[..1]).details(owner, from_joining);
    s.append(batch.join(people[1], None).text(owner, "b").build()).await?;
    let from = async |user| Ok::<_, StoreError>(s.member(group.id, user).await?.visible_from);
    assert_eq!((from(people[0]).await?, from(people[1]).await?), (Seq::ZERO, Seq::new(5)));
    Ok(())
}

pub(super) async fn a_change_of_a_member_leaves_their_cursor(s: &Scene) -> Outcome {
    let group = s.group(3).await?;
    let [owner, bob, eve] = [0, 1, 2].map(|i| group.members[i]);
    let last = s.send(group.id, owner, "a").await?;
    // Effects that were computed before Bob read.
    let mention = Mentions { users: vec![bob, eve], all: false };
    let late = s.batch(group.id).await?.role(owner, bob, Role::Admin).calling(owner, "b", mention).build();
    let read = Cursor::at(last.seq, last.ordinal);
    let moved = CursorMove { conversation: group.id, user_id: bob, cursor: read, at: s.now() };
    s.store().move_cursors(&[moved]).await?;
    s.append(late).await?;
    let of_bob = s.member(group.id, bob).await?;
    assert_eq!((of_bob.cursor, of_bob.role), (read, Role::Admin));
    assert_eq!(s.member(group.id, eve).await?.cursor, Cursor::default());
    assert_eq!(s.load(group.id).await?.member(bob), Some(&of_bob));
    Ok(())
}

pub(super) async fn mentions_wait_until_they_are_read(s: &Scene) -> Outcome {
    let group = s.group(3).await?;
    let [owner, bob, eve] = [0, 1, 2].map(|i| group.members[i]);
    let call = |users: &[UserId], all| Mentions { users: users.to_vec(), all };
    let batch = s.batch(group.id).await?.calling(owner, "a", call(&[bob, owner], false));
    let batch = batch.calling(owner, "b", call(&[], true)).calling(owner, "c", call(&[bob, eve], true));
    s.append(batch.build()).await?;
    let state = s.load(group.id).await?;
    let unread = |user| state.member(user).map(|member| state.unread_mentions(member).len());
    assert_eq!([owner, bob, eve].map(unread), [Some(0), Some(3), Some(2)], "nobody calls themselves");
    assert_eq!(s.member(group.id, bob).await?.mentions, [2, 4].map(Seq::new));
    assert_eq!(state.details.mentions_of_all.len(), 2);

    // An edit mentions other members, and a deleted message mentions nobody.
    let (first, last) = (Seq::new(2), Seq::new(4));
    let batch = s.batch_on(group.id, &[first, last]).await?;
    let batch = batch.edit_calling(owner, first, "a, too", call(&[eve], false)).delete(owner, last);
    s.append(batch.build()).await?;
    assert_eq!(s.member(group.id, bob).await?.mentions, []);
    assert_eq!(s.member(group.id, eve).await?.mentions, [first]);
    assert_eq!(s.load(group.id).await?.details.mentions_of_all.len(), 1);
    Ok(())
}

async fn roles_are(s: &Scene, id: ConversationId, expected: &[Role]) -> Outcome {
    let state = s.load(id).await?;
    let members = s.store().members(id, None, 50).await?;
    assert_eq!(members, state.members);
    assert_eq!(members.iter().map(|member| member.role).collect::<Vec<_>>(), expected);
    let staff = members.iter().filter(|member| member.role != Role::Member);
    assert_eq!(state.details.staff, staff.map(|m| (m.user_id, m.role)).collect::<Vec<_>>());
    Ok(())
}

async fn member_ids(s: &Scene, id: ConversationId) -> Result<Vec<UserId>, StoreError> {
    Ok(s.store().members(id, None, 500).await?.into_iter().map(|member| member.user_id).collect())
}
