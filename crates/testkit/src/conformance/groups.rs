//! Creation of groups and channels.

use std::slice;

use godwit_domain::model::{Concealed, AccountChange, ClientId, Cursor, Entry, Kind, Member, Settings};
use godwit_domain::ports::{InboxRow, NewConversation};
use godwit_protocol::conversations::{HistoryVisibility, Permissions, Role};
use godwit_protocol::{MessageId, Seq, Timestamp};

use super::expected::{log_of, unchanged};
use super::rows::{changed, listed, rows};
use super::{CALLERS, Outcome};
use crate::paging::account_log_after;
use crate::reading::{Known, read_everything};
use crate::scene::Scene;

pub(super) async fn a_created_group_reads_back(s: &Scene) -> Outcome {
    for kind in [Kind::Group, Kind::Channel] {
        let people = s.people(3);
        // The creator does not have the lowest id, so the creator does not come first among the members.
        let new = s.new_group(kind, &[people[1], people[0], people[2]]);
        let made = s.store().create(new.clone(), None).await?;
        assert_eq!(made.id, new.conversation.id);
        let state = s.load(made.id).await?;
        let member = |user_id| Member {
            user_id,
            role: if user_id == people[1] { Role::Owner } else { Role::Member },
            joined_at: new.conversation.created_at,
            added_by: (user_id != people[1]).then_some(people[1]),
            visible_from: Seq::ZERO,
            unlisted: false,
            cursor: Cursor::default(),
            concealed: Concealed::default(),
            moved_at: Timestamp::default(),
            mentions: Vec::new(),
        };
        assert_eq!(state.members, people.iter().copied().map(member).collect::<Vec<_>>());
        assert_eq!(state.conversation, new.conversation);
        assert_eq!(state.head, new.effects.head);
        assert_eq!(Some(state.details), new.effects.details);
        assert_eq!(log_of(s, made.id).await?, unchanged([new.created]));
    }
    Ok(())
}

pub(super) async fn the_properties_of_a_new_group_read_back(s: &Scene) -> Outcome {
    let new = s.new_group_with(Kind::Channel, &s.people(2), |created| {
        created.name = "Zugvögel 🐦".into();
        created.description = Some("two\nlines".into());
        created.image = Some("https://example.org/godwit.png".into());
        created.history = HistoryVisibility::FromJoining;
        created.permissions = Permissions {
            anyone_may_join: true,
            members_may_send: false,
            members_may_add_members: true,
            members_may_edit: false,
        };
    });
    let id = s.store().create(new.clone(), None).await?.id;
    let details = s.load(id).await?.details;
    assert_eq!(Some(&details), new.effects.details.as_ref());
    assert_eq!((&*details.name, details.member_count), ("Zugvögel 🐦", 2));
    assert_eq!(log_of(s, id).await?, unchanged([new.created]));
    Ok(())
}

pub(super) async fn a_group_is_listed_for_all_its_members(s: &Scene) -> Outcome {
    let people = s.people(3);
    let new = s.new_group(Kind::Group, &people);
    let at = new.conversation.created_at;
    let made = s.store().create(new, None).await?;
    let mut notes = made.made.expect("it was not there before");
    notes.sort_by_key(|(user, _)| *user);
    assert_eq!(notes.iter().map(|(user, _)| *user).collect::<Vec<_>>(), people);
    for (user, entry) in notes {
        assert_eq!((entry.at, entry.change), (at, AccountChange::ConversationListed(made.id)));
        assert_eq!(account_log_after(s.store(), user, 0, 50).await?, Some(vec![entry]));
        let row = InboxRow { conversation: made.id, settings: Settings::default(), activity_at: at };
        assert_eq!(rows(s, user).await?, slice::from_ref(&row));
        assert_eq!(changed(s, user, at).await?, [row]);
    }
    Ok(())
}

pub(super) async fn creating_a_group_again_changes_nothing(s: &Scene) -> Outcome {
    let people = s.people(3);
    let key = ClientId::from_stored(s.word());
    for key in [None, Some(&key)] {
        let new = s.new_group(Kind::Group, &people);
        let id = s.store().create(new.clone(), key).await?.id;
        s.send(id, people[1], "hello").await?;
        let known = Known { users: people.clone(), conversations: vec![id], ..Known::default() };
        let before = read_everything(s.store(), &known).await?;
        let again = s.store().create(new, key).await?;
        assert_eq!((again.id, again.made), (id, None));
        if key.is_some() {
            let other = s.new_group(Kind::Channel, &[people[0], people[2]]);
            let again = s.store().create(other.clone(), key).await?;
            assert_eq!((again.id, again.made), (id, None), "the key has made one already");
            leaves_nothing(s, &other).await?;
        }
        assert_eq!(read_everything(s.store(), &known).await?, before);
    }
    Ok(())
}

pub(super) async fn a_key_belongs_to_its_creator(s: &Scene) -> Outcome {
    let people = s.people(2);
    let keys = ["one", "two", "one!"].map(ClientId::from_stored);
    let mut ids = Vec::new();
    for maker in [[people[0], people[1]], [people[1], people[0]]] {
        for key in &keys {
            ids.push(s.store().create(s.new_group(Kind::Group, &maker), Some(key)).await?.id);
        }
        ids.push(s.store().create(s.new_group(Kind::Group, &maker), None).await?.id);
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 8, "no two of them are the same");
    ids.reverse();
    assert_eq!(listed(s, people[1]).await?, ids);
    Ok(())
}

pub(super) async fn concurrent_callers_with_a_key_create_one_group(s: &Scene) -> Outcome {
    let people = s.people(4);
    let key = ClientId::from_stored("the-same");
    let offers: Vec<NewConversation> = (0..CALLERS).map(|_| s.new_group(Kind::Group, &people)).collect();
    let made = s.at_once(CALLERS, |i, store| {
        let (offer, key) = (offers[i].clone(), key.clone());
        async move { store.create(offer, Some(&key)).await }
    });
    let made = made.await?;
    let id = made[0].id;
    assert!(made.iter().all(|made| made.id == id), "{made:?}");
    assert_eq!(made.iter().filter(|made| made.made.is_some()).count(), 1, "{made:?}");
    for (offer, made) in offers.iter().zip(&made) {
        if offer.conversation.id == id {
            assert!(made.made.is_some());
            assert_eq!(s.load(id).await?.conversation, offer.conversation);
        } else {
            leaves_nothing(s, offer).await?;
        }
    }
    for user in people {
        assert_eq!(listed(s, user).await?, [id]);
    }
    Ok(())
}

pub(super) async fn messages_of_all_members_are_one_log(s: &Scene) -> Outcome {
    let group = s.group(5).await?;
    let mut sent: Vec<Entry> = Vec::new();
    for (number, sender) in group.members.iter().chain(&group.members).enumerate() {
        sent.push(s.send(group.id, *sender, &format!("m{number}")).await?);
    }
    let log = log_of(s, group.id).await?;
    assert_eq!(log[1..], unchanged(sent));
    let state = s.load(group.id).await?;
    assert_eq!((state.head.seq, state.head.ordinal), (Seq::new(11), 10));
    for (place, member) in state.members.iter().enumerate() {
        assert_eq!(member.cursor, Cursor::at(Seq::new(7 + place as u64), 6 + place as u64));
        assert_eq!(state.unread(member), 4 - place as u64);
    }
    Ok(())
}

async fn leaves_nothing(s: &Scene, offer: &NewConversation) -> Outcome {
    let id = offer.conversation.id;
    assert_eq!(s.store().load(id).await?, None);
    assert_eq!(s.store().entries(id, Seq::ZERO, 50).await?, []);
    assert_eq!(s.store().members(id, None, 50).await?, []);
    assert_eq!(s.store().locate(MessageId::new(offer.created.id)).await?, None);
    Ok(())
}
