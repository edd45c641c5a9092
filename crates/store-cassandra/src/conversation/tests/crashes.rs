//! A node crashes between an append and its projection, after each of the steps. The next node that loads the
//! conversation completes the projection.

use godwit_domain::model::{Kind, Mentions};
use godwit_domain::ports::InboxStore;
use godwit_protocol::conversations::Role;
use godwit_protocol::{InviteId, Seq, UserId};

use super::*;

const fn seq(seq: u64) -> Seq {
    Seq::new(seq)
}

fn calls(users: &[UserId]) -> Mentions {
    Mentions { users: users.to_vec(), all: users.is_empty() }
}

/// Appends every kind of entry, alone and together with others. Each projection ends at another step, and
/// `first` selects the first one. No watermark is written, so everything is projected again on top of what was
/// written.
async fn append_every_kind_of_entry(stage: &mut Stage, first: usize) -> ConversationId {
    let mut steps = Reached::ALL.into_iter().cycle().skip(first);
    let people = stage.people(6);
    let [ada, bob, cyd, dan, eve, fay] = people[..] else { panic!("there are six") };
    let id = stage.create(stage.scene.new_group(Kind::Group, &[ada, bob, cyd])).await;
    let scene = stage.scene.clone();
    let (first, second) = (scene.token(), scene.token());
    stage.known.tokens.extend([first.clone(), second.clone()]);
    let mut step = || steps.next().expect("it goes round");
    macro_rules! append {
        ($messages:expr, $users:expr, |$batch:ident| $built:expr) => {{
            scene.advance_ms(10);
            let $batch = scene.batch_with(id, &$messages, &$users).await.unwrap();
            let append = $built.build();
            stage.append(append, step()).await;
            stage.load(id).await;
            stage.conversations().watermarks.forget();
        }};
    }
    append!([], [], |batch| batch.calling(ada, "m2", calls(&[bob, cyd])));
    append!([seq(2)], [], |batch| batch.reply(bob, "m3", seq(2)));
    append!([seq(2)], [], |batch| batch.edit_calling(ada, seq(2), "hi Bob", calls(&[bob])));
    append!([seq(2)], [], |batch| batch.react_all(seq(2), &[(bob, None, Some("+")), (cyd, None, Some("!"))]));
    append!([seq(2)], [], |batch| batch.react(bob, seq(2), Some("+"), None));
    append!([], [], |batch| batch.calling(cyd, "m7", calls(&[])));
    append!([seq(7)], [], |batch| batch.pin(ada, seq(7)));
    append!([], [], |batch| batch.add(ada, &[dan, eve]));
    append!([], [], |batch| batch.role(ada, dan, Role::Admin));
    append!([], [], |batch| batch.invite(ada, &first).invite(ada, &second));
    let invite = stage.load(id).await.details.invites[0].id;
    append!([], [], |batch| batch.join(fay, Some(invite)));
    append!([], [], |batch| batch.revoke(dan, invite));
    append!([], [], |batch| batch.rename(ada, "Birds"));
    append!([], [], |batch| batch.remove(ada, eve));
    append!([], [], |batch| batch.join(eve, None).text(eve, "m18"));
    append!([seq(3)], [], |batch| batch.delete(bob, seq(3)));
    append!([seq(7)], [], |batch| batch.delete(cyd, seq(7)));
    let over = scene.now().plus_millis(5);
    append!([], [], |batch| batch.expiring(ada, "m21", over).expiring(ada, "m22", over));
    append!([seq(21), seq(22)], [], |batch| batch.expired(&[seq(21), seq(22)]));
    append!([seq(2), seq(7)], [], |batch| batch.unpin(ada, seq(7)).edit(ada, seq(2), "hi").pin(ada, seq(2)));
    append!([], [], |batch| batch.transfer(ada, bob).leave(cyd));
    id
}

async fn everything_is_found(first: usize) {
    let mut stage = Stage::new().await;
    let id = append_every_kind_of_entry(&mut stage, first).await;
    let owner = stage.load(id).await.details.owners().next().expect("it has one");
    let append = stage.scene.batch(id).await.unwrap().delete_conversation(owner).build();
    stage.append(append, Reached::ALL[first]).await;
    stage.load(id).await;
    stage.compare().await;
    project_all_again_in_reverse(&stage).await;
    stage.compare().await;
}

/// A delayed node projects everything again, the last append first.
async fn project_all_again_in_reverse(stage: &Stage) {
    for projection in stage.appended.iter().rev() {
        let notes = stage.conversations().project(projection).await.unwrap();
        assert_eq!(notes, [], "of entry {}", projection.entries[0].seq);
    }
}

#[tokio::test]
async fn a_crash_before_the_projection_is_repaired() {
    everything_is_found(0).await;
}

#[tokio::test]
async fn a_crash_after_the_independent_writes_is_repaired() {
    everything_is_found(1).await;
}

#[tokio::test]
async fn a_crash_before_the_details_is_repaired() {
    everything_is_found(2).await;
}

#[tokio::test]
async fn a_crash_before_the_message_states_is_repaired() {
    everything_is_found(3).await;
}

#[tokio::test]
async fn a_crash_before_the_erasure_is_repaired() {
    everything_is_found(4).await;
}

#[tokio::test]
async fn a_long_log_without_projections_is_projected_in_parts() {
    let mut stage = Stage::new().await;
    let people = stage.people(3);
    let id = stage.create(stage.scene.new_group(Kind::Channel, &people[..2])).await;
    let mut state = stage.load(id).await;
    // As if a node had crashed after each append, and nobody had loaded the conversation since.
    for number in 0..300 {
        let batch = godwit_testkit::batch::Batch::after(stage.scene.ids(), &state);
        let append = match number {
            10 => batch.remove(people[0], people[1]).build(),
            290 => batch.add(people[0], &people[1..]).build(),
            _ => batch.text(people[0], &format!("m{number}")).build(),
        };
        append.effects.apply_to(&mut state);
        stage.append(append, Reached::Nothing).await;
    }
    assert_eq!(stage.load(id).await, state);
    stage.known.messages.truncate(1);
    stage.known.client_ids.truncate(1);
    for user in people {
        let (found, expected) = (stage.store.member(id, user).await, stage.model.member(id, user).await);
        assert_eq!(found.unwrap(), expected.unwrap());
        let (found, expected) =
            (stage.store.inbox(user, false, None, 10).await, stage.model.inbox(user, false, None, 10).await);
        assert_eq!(found.unwrap(), expected.unwrap());
    }
}

#[tokio::test]
async fn becoming_large_loses_no_row() {
    for reached in Reached::ALL {
        let mut stage = Stage::new().await;
        let people = stage.people(6);
        let (owner, new) = (people[0], people[5]);
        let id = stage.create(stage.scene.new_group(Kind::Group, &people[..5])).await;
        let scene = stage.scene.clone();
        stage.append(scene.batch(id).await.unwrap().text(owner, "a").build(), Reached::States).await;
        scene.advance_ms(10);
        stage.append(scene.batch(id).await.unwrap().add_crossing(owner, &[new]).build(), reached).await;
        stage.load(id).await;
        scene.advance_ms(10);
        let batch = scene.batch_with(id, &[seq(2)], &people).await.unwrap();
        let append = batch.calling(new, "b", calls(&people[..2])).edit(owner, seq(2), "c").build();
        stage.append(append, reached).await;
        stage.load(id).await;
        scene.advance_ms(10);
        let batch = scene.batch_with(id, &[], &people).await.unwrap();
        stage.append(batch.role(owner, people[1], Role::Admin).leave(people[2]).build(), reached).await;
        stage.load(id).await;
        stage.compare().await;
        project_all_again_in_reverse(&stage).await;
        stage.compare().await;
    }
}

#[tokio::test]
async fn a_revoked_invite_stays_revoked() {
    let mut stage = Stage::new().await;
    let people = stage.people(1);
    let id = stage.create(stage.scene.new_group(Kind::Group, &people)).await;
    let token = stage.scene.token();
    let scene = stage.scene.clone();
    stage.append(scene.batch(id).await.unwrap().invite(people[0], &token).build(), Reached::States).await;
    let invite: InviteId = stage.load(id).await.details.invites[0].id;
    assert_eq!(stage.store.invited_to(&token).await.unwrap(), Some(id));
    stage.append(scene.batch(id).await.unwrap().revoke(people[0], invite).build(), Reached::States).await;
    // Another node projects both again, together with later entries. The details no longer contain the invite.
    stage.append(scene.batch(id).await.unwrap().text(people[0], "a").build(), Reached::Nothing).await;
    stage.conversations().load(id).await.unwrap();
    assert_eq!(stage.store.invited_to(&token).await.unwrap(), None);
}
