//! Invite links: permissions to create them, and their lifetime.

use godwit_domain::actions::Refusal;
use godwit_domain::model::InviteToken;
use godwit_protocol::conversations::{Role, UpdateConversation, UpdatePermissions};
use godwit_protocol::groups::{CreateInvite, Invite};
use godwit_protocol::{ConversationId, UserId};

use crate::stage::Stage;

async fn invite(stage: &Stage, by: UserId, group: ConversationId, terms: CreateInvite) -> Invite {
    let token = InviteToken::from_bits(rand_bits());
    stage.app.groups.create_invite(by, group, terms, token).await.unwrap().0
}

/// A different number each time.
fn rand_bits() -> u128 {
    use std::hash::{BuildHasher, RandomState};
    u128::from(RandomState::new().hash_one(0))
}

fn token(invite: &Invite) -> InviteToken {
    InviteToken::parse(&invite.token).unwrap()
}

#[tokio::test]
async fn an_invite_link_works_until_it_is_used_up_expired_or_revoked() {
    let stage = Stage::new();
    let [ada, bob, eve] = stage.users(["ada", "bob", "eve"]).await;
    let group = stage.group(&[ada]).await;
    let once =
        invite(&stage, ada, group, CreateInvite { uses_max: Some(1), ..CreateInvite::default() }).await;
    let preview = stage.app.groups.preview(bob, &token(&once)).await.unwrap();
    assert_eq!((&*preview.name, preview.member_count, preview.member), ("Birds", 1, false));
    let joined = stage.app.groups.join_by_invite(bob, token(&once)).await.unwrap();
    assert_eq!((joined.id, joined.member_count), (group, 2));
    stage.app.groups.join_by_invite(bob, token(&once)).await.unwrap();
    assert!(stage.app.groups.preview(bob, &token(&once)).await.unwrap().member);
    assert!(stage.app.groups.preview(eve, &token(&once)).await.is_err());
    let used_up = stage.app.groups.join_by_invite(eve, token(&once)).await;
    assert!(matches!(used_up, Err(Refusal::InviteInvalid)));

    let expires_at = Some(stage.now().plus_millis(1_000));
    let soon = invite(&stage, ada, group, CreateInvite { expires_at, ..CreateInvite::default() }).await;
    let revoked = invite(&stage, ada, group, CreateInvite::default()).await;
    assert_eq!(stage.app.groups.invites(ada, group).await.unwrap().len(), 2);
    stage.clock.advance_ms(1_000);
    stage.app.groups.revoke_invite(ada, group, revoked.id).await.unwrap();
    for invite in [soon, revoked] {
        assert!(stage.app.groups.preview(eve, &token(&invite)).await.is_err());
        let joined = stage.app.groups.join_by_invite(eve, token(&invite)).await;
        assert!(matches!(joined, Err(Refusal::InviteInvalid)));
    }
    assert!(stage.app.groups.invites(ada, group).await.unwrap().is_empty());
}

#[tokio::test]
async fn members_see_and_revoke_their_own_links_and_admins_all() {
    let stage = Stage::new();
    let [ada, bob, eve] = stage.users(["ada", "bob", "eve"]).await;
    let group = stage.group(&[ada, bob, eve]).await;
    let by_ada = invite(&stage, ada, group, CreateInvite::default()).await;
    let by_bob = invite(&stage, bob, group, CreateInvite::default()).await;
    let ids = async |user| {
        let invites = stage.app.groups.invites(user, group).await.unwrap();
        invites.into_iter().map(|invite| invite.id).collect::<Vec<_>>()
    };
    assert_eq!((ids(ada).await, ids(bob).await), (vec![by_ada.id, by_bob.id], vec![by_bob.id]));
    assert!(matches!(stage.app.groups.revoke_invite(eve, group, by_bob.id).await, Err(Refusal::Forbidden)));
    stage.app.groups.revoke_invite(bob, group, by_bob.id).await.unwrap();
    stage.app.groups.set_role(ada, group, eve, Role::Admin).await.unwrap();
    stage.app.groups.revoke_invite(eve, group, by_ada.id).await.unwrap();
    let no = UpdatePermissions { members_may_add_members: Some(false), ..UpdatePermissions::default() };
    let no = UpdateConversation { permissions: Some(no), ..UpdateConversation::default() };
    let kept = invite(&stage, bob, group, CreateInvite::default()).await;
    stage.app.groups.update(ada, group, &no).await.unwrap();
    // Members who may not invite any more can still revoke their invites, which could work again one day.
    let listed = stage.app.groups.invites(bob, group).await.unwrap();
    assert_eq!(listed.iter().map(|invite| (invite.id, invite.works)).collect::<Vec<_>>(), [(kept.id, false)]);
    stage.app.groups.revoke_invite(bob, group, kept.id).await.unwrap();
    assert!(ids(bob).await.is_empty());
}

/// Checks whether a user could join through a link, without joining.
async fn works(stage: &Stage, by: UserId, invite: &Invite) -> bool {
    let previewed = stage.app.groups.preview(by, &token(invite)).await.is_ok();
    let listed = stage.app.groups.invites(invite.created_by, invite.conversation_id).await;
    if let Ok(listed) = listed {
        let same = listed.iter().find(|other| other.id == invite.id);
        assert_eq!(same.is_some_and(|invite| invite.works), previewed, "the list says the same");
    }
    previewed
}

#[tokio::test]
async fn an_invite_link_works_only_while_its_creator_may_invite() {
    let stage = Stage::new();
    let [ada, bob, eve] = stage.users(["ada", "bob", "eve"]).await;
    let group = stage.group(&[ada, bob]).await;
    let by_bob = invite(&stage, bob, group, CreateInvite::default()).await;
    let members_may = async |may: bool| {
        let may = UpdatePermissions { members_may_add_members: Some(may), ..UpdatePermissions::default() };
        let update = UpdateConversation { permissions: Some(may), ..UpdateConversation::default() };
        stage.app.groups.update(ada, group, &update).await.unwrap();
    };
    let refused = async || {
        let joined = stage.app.groups.join_by_invite(eve, token(&by_bob)).await;
        assert!(matches!(joined, Err(Refusal::InviteInvalid)), "{joined:?}");
        assert!(!works(&stage, eve, &by_bob).await);
    };
    assert!(works(&stage, eve, &by_bob).await);
    members_may(false).await;
    refused().await;
    let listed = stage.app.groups.invites(ada, group).await.unwrap();
    assert_eq!(listed.iter().map(|invite| invite.works).collect::<Vec<_>>(), [false]);
    // Admins may invite even if members may not.
    stage.app.groups.set_role(ada, group, bob, Role::Admin).await.unwrap();
    assert!(works(&stage, eve, &by_bob).await);
    stage.app.groups.set_role(ada, group, bob, Role::Member).await.unwrap();
    refused().await;
    members_may(true).await;
    stage.app.accounts.set_disabled("bob", true).await.unwrap();
    refused().await;
    stage.app.accounts.set_disabled("bob", false).await.unwrap();
    assert!(works(&stage, eve, &by_bob).await);
    // A removed member cannot return through their own link, and the link does not return with them.
    stage.app.groups.remove_member(ada, group, bob).await.unwrap();
    let back = stage.app.groups.join_by_invite(bob, token(&by_bob)).await;
    assert!(matches!(back, Err(Refusal::InviteInvalid)));
    stage.app.groups.add_members(ada, group, &[bob]).await.unwrap();
    refused().await;
}

#[tokio::test]
async fn the_creators_of_invite_links_are_checked_in_large_conversations_too() {
    let stage = Stage::new();
    let [ada, bob, c, d, e, eve] = stage.users(["ada", "bob", "cat", "dan", "eli", "eve"]).await;
    let group = stage.group(&[ada, bob, c, d, e]).await;
    assert!(stage.row(ada, group).await.large);
    let by_bob = invite(&stage, bob, group, CreateInvite::default()).await;
    assert!(works(&stage, eve, &by_bob).await);
    stage.app.groups.join_by_invite(eve, token(&by_bob)).await.unwrap();
    stage.app.groups.leave(bob, group, false).await.unwrap();
    stage.app.groups.leave(eve, group, false).await.unwrap();
    let back = stage.app.groups.join_by_invite(eve, token(&by_bob)).await;
    assert!(matches!(back, Err(Refusal::InviteInvalid)));
}

#[tokio::test]
async fn a_repeated_client_id_returns_the_same_invite_link() {
    let stage = Stage::new();
    let [ada, bob] = stage.users(["ada", "bob"]).await;
    let group = stage.group(&[ada, bob]).await;
    let terms = CreateInvite { client_id: Some("link-1".into()), ..CreateInvite::default() };
    let first = invite(&stage, ada, group, terms.clone()).await;
    let again = invite(&stage, ada, group, terms.clone()).await;
    assert_eq!(again, first);
    assert_ne!(invite(&stage, bob, group, terms.clone()).await.id, first.id, "it is the maker's own");
    assert_eq!(stage.app.groups.invites(ada, group).await.unwrap().len(), 2);
    stage.app.groups.revoke_invite(ada, group, first.id).await.unwrap();
    stage.app.groups.revoke_invite(ada, group, first.id).await.unwrap();
    assert_ne!(invite(&stage, ada, group, terms).await.id, first.id);
}

#[tokio::test]
async fn the_token_of_an_invite_link_is_secret() {
    let stage = Stage::new();
    let [ada, bob] = stage.users(["ada", "bob"]).await;
    let group = stage.group(&[ada, bob]).await;
    let made = invite(&stage, ada, group, CreateInvite::default()).await;
    let page = stage.app.reading.log(bob, group, godwit_protocol::Seq::ZERO, 50).await.unwrap();
    assert!(!serde_json::to_string(&page).unwrap().contains(&made.token));
    assert!(!format!("{:?}", stage.delivery.take()).contains(&made.token));
}
