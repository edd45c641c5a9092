//! Bans: who can ban whom, and what a ban prevents.

use godwit_domain::actions::Refusal;
use godwit_domain::model::InviteToken;
use godwit_protocol::conversations::{Role, UpdateConversation, UpdatePermissions};
use godwit_protocol::groups::CreateInvite;
use godwit_protocol::limits::BANS_PER_CONVERSATION_MAX;
use godwit_protocol::{ConversationId, ErrorCode, UserId};

use crate::stage::Stage;

async fn banned(stage: &Stage, by: UserId, group: ConversationId) -> Vec<UserId> {
    let (bans, _) = stage.app.groups.bans(by, group, None, 200).await.unwrap();
    bans.into_iter().map(|ban| ban.user.id).collect()
}

#[tokio::test]
async fn a_banned_user_is_removed_and_cannot_return_until_the_ban_is_lifted() {
    let stage = Stage::new();
    let [ada, bob] = stage.users(["ada", "bob"]).await;
    let group = stage.group(&[ada, bob]).await;
    let anyone = UpdatePermissions { anyone_may_join: Some(true), ..UpdatePermissions::default() };
    let update = UpdateConversation { permissions: Some(anyone), ..UpdateConversation::default() };
    stage.app.groups.update(ada, group, &update).await.unwrap();
    let token = InviteToken::from_bits(7);
    let made = stage.app.groups.create_invite(ada, group, CreateInvite::default(), token.clone()).await;
    assert!(made.unwrap().0.works);

    stage.app.groups.ban(ada, group, bob).await.unwrap();
    stage.app.groups.ban(ada, group, bob).await.unwrap();
    assert_eq!(stage.history(ada, group).await.last().unwrap(), "[member.banned]");
    assert_eq!(stage.log(ada, group).await.iter().filter(|name| *name == "member_banned").count(), 1);
    assert_eq!((stage.row(ada, group).await.member_count, stage.inbox(bob).await), (1, vec![]));
    assert_eq!(banned(&stage, ada, group).await, [bob]);

    for app in [stage.app.clone(), stage.second_node()] {
        assert!(matches!(app.groups.preview(bob, &token).await, Err(Refusal::InviteInvalid)));
        let by_link = app.groups.join_by_invite(bob, token.clone()).await;
        assert!(matches!(by_link, Err(Refusal::InviteInvalid)));
        assert!(matches!(app.groups.join(bob, group).await, Err(Refusal::NotFound)));
        let added = app.groups.add_members(ada, group, &[bob]).await.unwrap();
        assert_eq!((added[0].added, added[0].error), (false, Some(ErrorCode::Banned)));
    }
    stage.app.groups.unban(ada, group, bob).await.unwrap();
    stage.app.groups.unban(ada, group, bob).await.unwrap();
    assert!(banned(&stage, ada, group).await.is_empty());
    stage.app.groups.join_by_invite(bob, token).await.unwrap();
    assert_eq!(
        stage.history(ada, group).await[2..],
        ["[member.banned]", "[member.unbanned]", "[member.joined]"]
    );
}

#[tokio::test]
async fn owners_ban_anybody_admins_ban_members_and_strangers_members_ban_nobody() {
    let stage = Stage::new();
    let [ada, bob, dan, eve] = stage.users(["ada", "bob", "dan", "eve"]).await;
    let group = stage.group(&[ada, bob, dan]).await;
    let bans = async |by, user| stage.app.groups.ban(by, group, user).await;
    assert!(matches!(bans(bob, eve).await, Err(Refusal::Forbidden)));
    assert!(matches!(bans(eve, bob).await, Err(Refusal::NotFound)));
    assert!(matches!(bans(ada, ada).await, Err(Refusal::NotWithSelf)));
    assert!(matches!(bans(ada, UserId::new(1)).await, Err(Refusal::NotFound)));
    stage.app.groups.set_role(ada, group, bob, Role::Admin).await.unwrap();
    assert!(matches!(bans(bob, ada).await, Err(Refusal::Forbidden)));
    bans(bob, eve).await.unwrap();
    assert_eq!(stage.row(ada, group).await.member_count, 3, "a stranger does not count");
    bans(bob, dan).await.unwrap();
    bans(ada, bob).await.unwrap();
    let mut expected = vec![bob, dan, eve];
    expected.sort_unstable();
    assert_eq!(banned(&stage, ada, group).await, expected);
    for (limit, after, page) in [(2, None, &expected[..2]), (2, Some(expected[1]), &expected[2..])] {
        let (bans, _) = stage.app.groups.bans(ada, group, after, limit).await.unwrap();
        assert_eq!(bans.iter().map(|ban| ban.user.id).collect::<Vec<_>>(), page);
    }
    assert!(matches!(stage.app.groups.bans(eve, group, None, 50).await, Err(Refusal::NotFound)));
    let (direct, _) = (stage.app.inbox.open_direct(ada, bob).await.unwrap().conversation.id, ());
    assert!(matches!(stage.app.groups.ban(ada, direct, bob).await, Err(Refusal::WrongKind)));
}

#[tokio::test]
async fn bans_are_bounded() {
    let stage = Stage::new();
    let ada = stage.user("ada").await;
    let group = stage.group(&[ada]).await;
    for number in 0..BANS_PER_CONVERSATION_MAX {
        let user = stage.user(&format!("user{number}")).await;
        stage.app.groups.ban(ada, group, user).await.unwrap();
    }
    let last = stage.user("last").await;
    assert!(matches!(stage.app.groups.ban(ada, group, last).await, Err(Refusal::TooManyBans)));
}
