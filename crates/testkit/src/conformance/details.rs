//! Details of conversations: name, pins, invites, deletion for all.

use std::slice;

use godwit_domain::model::{Ban, Change, ClientId, DetailsChange, Invite};
use godwit_domain::ports::StoreError;
use godwit_protocol::conversations::{EditsVisibleTo, HistoryVisibility, Permissions};
use godwit_protocol::{ConversationId, InviteId, Seq};

use super::Outcome;
use super::expected::{log_of, write};
use crate::scene::Scene;

pub(super) async fn every_detail_reads_back(s: &Scene) -> Outcome {
    let group = s.group(2).await?;
    let mut log = log_of(s, group.id).await?;
    let nothing = DetailsChange::default;
    let permissions = Permissions {
        anyone_may_join: true,
        members_may_send: true,
        members_may_add_members: false,
        members_may_edit: true,
    };
    for change in [
        DetailsChange { name: Some("Zugvögel 🐦".into()), ..nothing() },
        DetailsChange { description: Some(Some("two\nlines".into())), ..nothing() },
        DetailsChange { image: Some(Some("https://example.org/a.png".into())), ..nothing() },
        DetailsChange { permissions: Some(permissions), ..nothing() },
        DetailsChange { history: Some(HistoryVisibility::FromJoining), ..nothing() },
        DetailsChange { edits_visible_to: Some(EditsVisibleTo::Admins), ..nothing() },
        DetailsChange { message_ttl_secs: Some(Some(86_400)), ..nothing() },
        DetailsChange { description: Some(None), image: Some(None), message_ttl_secs: Some(None), ..nothing() },
    ] {
        s.advance_ms(10);
        let append = s.batch(group.id).await?.details(group.owner(), change).build();
        let expected = append.effects.details.clone().expect("they change");
        write(&mut log, &append);
        s.append(append).await?;
        let details = s.load(group.id).await?.details;
        assert_eq!((&details, details.updated_at), (&expected, s.now()));
        assert_eq!(log_of(s, group.id).await?, log);
    }
    // Other changes leave the details as they are.
    let before = s.load(group.id).await?.details;
    s.send(group.id, group.owner(), "m").await?;
    assert_eq!(s.load(group.id).await?.details, before);
    Ok(())
}

pub(super) async fn pins_are_sorted_latest_first_and_end_with_the_message(s: &Scene) -> Outcome {
    let group = s.group(2).await?;
    let owner = group.owner();
    let mut seqs = Vec::new();
    for text in ["a", "b", "c"] {
        seqs.push(s.send(group.id, owner, text).await?.seq);
    }
    let [a, b, c] = [seqs[0], seqs[1], seqs[2]];
    let pins = async || {
        let details = s.load(group.id).await?.details;
        Ok::<_, StoreError>(details.pins.iter().map(|pin| pin.seq).collect::<Vec<_>>())
    };
    for seq in [b, a, c] {
        s.advance_ms(10);
        s.append(s.batch_on(group.id, &[seq]).await?.pin(group.members[1], seq).build()).await?;
    }
    assert_eq!(pins().await?, [c, a, b]);
    let details = s.load(group.id).await?.details;
    assert_eq!((details.pins[0].by, details.pins[0].at), (group.members[1], s.now()));
    s.append(s.batch_on(group.id, &[a]).await?.unpin(owner, a).build()).await?;
    assert_eq!(pins().await?, [c, b]);
    s.append(s.batch_on(group.id, &[c]).await?.delete(owner, c).build()).await?;
    assert_eq!(pins().await?, [b]);
    s.append(s.batch_on(group.id, &[a]).await?.pin(owner, a).build()).await?;
    assert_eq!(pins().await?, [a, b]);
    Ok(())
}

pub(super) async fn an_invite_leads_to_its_conversation_until_it_is_revoked(s: &Scene) -> Outcome {
    let (group, other) = (s.group(2).await?, s.group(1).await?);
    let tokens = [s.token(), s.token(), s.token()];
    for token in &tokens {
        assert_eq!(s.store().invited_to(token).await?, None);
    }
    let batch = s.batch(group.id).await?.invite(group.owner(), &tokens[0]).invite(group.members[1], &tokens[1]);
    s.append(batch.build()).await?;
    s.append(s.batch(other.id).await?.invite(other.owner(), &tokens[2]).build()).await?;
    let leads = async || {
        let mut places: Vec<Option<ConversationId>> = Vec::new();
        for token in &tokens {
            places.push(s.store().invited_to(token).await?);
        }
        Ok::<_, StoreError>(places)
    };
    assert_eq!(leads().await?, [Some(group.id), Some(group.id), Some(other.id)]);
    let details = s.load(group.id).await?.details;
    assert_eq!(details.invites.iter().map(|invite| &invite.token).collect::<Vec<_>>(), [&tokens[0], &tokens[1]]);

    s.append(s.batch(group.id).await?.revoke(group.owner(), details.invites[0].id).build()).await?;
    assert_eq!(leads().await?, [None, Some(group.id), Some(other.id)]);
    assert_eq!(s.load(group.id).await?.details.invites, details.invites[1..]);
    Ok(())
}

pub(super) async fn everything_about_an_invite_reads_back_and_its_uses_are_counted(s: &Scene) -> Outcome {
    let group = s.group(1).await?;
    let invite = Invite {
        id: InviteId::new(s.id()),
        token: s.token(),
        client_id: Some(ClientId::from_stored("link-1")),
        created_by: group.owner(),
        created_at: s.now(),
        expires_at: Some(s.now().plus_millis(3_600_000)),
        uses_max: Some(2),
        uses: 0,
    };
    let mut log = log_of(s, group.id).await?;
    let change = Change::InviteCreated { invite: Box::new(invite.clone()) };
    let append = s.batch(group.id).await?.change(change).build();
    write(&mut log, &append);
    s.append(append).await?;
    assert_eq!(s.load(group.id).await?.details.invites, slice::from_ref(&invite));
    for (number, user) in s.people(2).into_iter().enumerate() {
        let append = s.batch(group.id).await?.join(user, Some(invite.id)).build();
        write(&mut log, &append);
        s.append(append).await?;
        let uses = s.load(group.id).await?.details.invites[0].uses;
        assert_eq!(uses, number as u32 + 1);
        assert_eq!(s.store().invited_to(&invite.token).await?, Some(group.id), "used up, but not revoked");
    }
    assert_eq!(log_of(s, group.id).await?, log);
    Ok(())
}

pub(super) async fn invites_of_a_departed_member_are_revoked(s: &Scene) -> Outcome {
    let group = s.group(4).await?;
    let tokens = [s.token(), s.token(), s.token(), s.token()];
    let mut batch = s.batch(group.id).await?;
    for (user, token) in group.members.iter().zip(&tokens) {
        batch = batch.invite(*user, token);
    }
    s.append(batch.build()).await?;
    let [ada, bob, eve, dan] = [0, 1, 2, 3].map(|i| group.members[i]);
    s.append(s.batch(group.id).await?.leave(bob).build()).await?;
    s.append(s.batch(group.id).await?.remove(ada, eve).build()).await?;
    s.append(s.batch(group.id).await?.ban(ada, dan).build()).await?;
    let mut leads = Vec::new();
    for token in &tokens {
        leads.push(s.store().invited_to(token).await?);
    }
    assert_eq!(leads, [Some(group.id), None, None, None]);
    let details = s.load(group.id).await?.details;
    assert_eq!(details.invites.iter().map(|invite| &invite.token).collect::<Vec<_>>(), [&tokens[0]]);
    Ok(())
}

pub(super) async fn bans_read_back_and_are_lifted(s: &Scene) -> Outcome {
    let group = s.group(3).await?;
    let [ada, bob, _] = [0, 1, 2].map(|i| group.members[i]);
    let stranger = s.people(1)[0];
    let mut log = log_of(s, group.id).await?;
    let bans = async || Ok::<_, StoreError>(s.load(group.id).await?.details.bans.clone());
    for user in [stranger, bob] {
        s.advance_ms(10);
        let append = s.batch(group.id).await?.ban(ada, user).build();
        write(&mut log, &append);
        s.append(append).await?;
    }
    let mut expected = vec![
        Ban { user_id: bob, by: ada, at: s.now() },
        Ban { user_id: stranger, by: ada, at: s.now().plus_millis(-10) },
    ];
    expected.sort_by_key(|ban| ban.user_id);
    assert_eq!(bans().await?, expected);
    let state = s.load(group.id).await?;
    assert_eq!((state.details.member_count, state.member(bob)), (2, None));
    assert_eq!(s.store().member(group.id, bob).await?, None, "they are removed with it");
    let append = s.batch(group.id).await?.unban(ada, stranger).build();
    write(&mut log, &append);
    s.append(append).await?;
    assert_eq!(bans().await?.iter().map(|ban| ban.user_id).collect::<Vec<_>>(), [bob]);
    assert_eq!(log_of(s, group.id).await?, log);
    Ok(())
}

pub(super) async fn a_deleted_conversation_is_marked_and_has_no_invites(s: &Scene) -> Outcome {
    let group = s.group(3).await?;
    let token = s.token();
    s.append(s.batch(group.id).await?.invite(group.owner(), &token).text(group.owner(), "m").build()).await?;
    let mut log = log_of(s, group.id).await?;
    s.advance_ms(10);
    let append = s.batch(group.id).await?.delete_conversation(group.owner()).build();
    write(&mut log, &append);
    s.append(append).await?;
    let state = s.load(group.id).await?;
    assert_eq!(state.details.deleted_at, Some(s.now()));
    assert_eq!(state.details.invites, []);
    assert_eq!(state.head.seq, Seq::new(4));
    assert_eq!(s.store().invited_to(&token).await?, None);
    assert_eq!(log_of(s, group.id).await?, log, "what was said is not erased by it");
    Ok(())
}
