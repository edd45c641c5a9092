//! Adding users: permissions, daily limits, and leaving for good.

use godwit_domain::actions::Refusal;
use godwit_domain::inbox::InboxError;
use godwit_domain::ports::UserStore;
use godwit_protocol::accounts::{MayBeAddedBy, UpdateMe};
use godwit_protocol::conversations::{NewConversation, UpdateConversation, UpdatePermissions};
use godwit_protocol::limits::GROUPS_REFUSED_MAX;
use godwit_protocol::{ConversationId, ErrorCode, UserId};
use godwit_testkit::Moment;

use crate::stage::{ADDING, Stage};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

impl Stage {
    async fn let_add(&self, user: UserId, who: MayBeAddedBy) {
        let update = UpdateMe { may_be_added_by: Some(who), ..UpdateMe::default() };
        assert_eq!(self.app.accounts.update_me(user, update).await.unwrap().may_be_added_by, who);
    }

    /// The reasons why a user could not be added to an existing group and to a new one.
    async fn refusals(&self, by: UserId, group: ConversationId, user: UserId) -> [Option<ErrorCode>; 2] {
        let new =
            NewConversation { name: "Fish".into(), member_ids: vec![user], ..NewConversation::default() };
        let made = self.app.groups.create(by, false, new).await.unwrap();
        let added = self.app.groups.add_members(by, group, &[user]).await.unwrap();
        [added[0].error, made.members[0].error]
    }
}

#[tokio::test]
async fn only_users_allowed_by_the_setting_can_add_a_user() {
    let stage = Stage::new();
    let [ada, bob, eve, dan] = stage.users(["ada", "bob", "eve", "dan"]).await;
    let group = stage.group(&[ada, dan]).await;
    stage.let_add(bob, MayBeAddedBy::Nobody).await;
    assert_eq!(stage.refusals(ada, group, bob).await, [Some(ErrorCode::NeedsInvite); 2]);
    assert_eq!(stage.row(ada, group).await.member_count, 2);
    // Writing to a user does not make the writer a contact; being written to does.
    stage.let_add(eve, MayBeAddedBy::Contacts).await;
    let direct = stage.app.inbox.open_direct(ada, eve).await.unwrap().conversation.id;
    stage.say(ada, direct, "may I add you?").await;
    assert_eq!(stage.refusals(ada, group, eve).await, [Some(ErrorCode::NeedsInvite); 2]);
    stage.say(eve, direct, "who are you?").await;
    assert_eq!(stage.refusals(ada, group, eve).await, [None; 2]);
    assert!(!stage.second_node().groups.add_members(ada, group, &[bob]).await.unwrap()[0].added);
    // Users can still join on their own.
    let open = UpdatePermissions { anyone_may_join: Some(true), ..UpdatePermissions::default() };
    let open = UpdateConversation { permissions: Some(open), ..UpdateConversation::default() };
    stage.app.groups.update(ada, group, &open).await.unwrap();
    stage.app.groups.join(bob, group).await.unwrap();
}

/// What can happen between the check of a request and its write.
#[derive(Debug, Clone, Copy)]
enum Between {
    Lets(MayBeAddedBy),
    Blocks,
    IsBlocked,
    IsDisabled,
}

#[tokio::test]
async fn consent_is_decided_on_what_holds_when_the_users_are_added() {
    let needs_invite = Some(ErrorCode::NeedsInvite);
    let cases = [
        (Between::Lets(MayBeAddedBy::Everybody), None),
        (Between::Lets(MayBeAddedBy::Contacts), needs_invite),
        (Between::Lets(MayBeAddedBy::Nobody), needs_invite),
        (Between::Blocks, Some(ErrorCode::Blocked)),
        (Between::IsBlocked, Some(ErrorCode::Blocked)),
        (Between::IsDisabled, Some(ErrorCode::NotFound)),
    ];
    for (between, expected) in cases {
        for creates in [false, true] {
            let stage = Stage::new();
            let [ada, bob, eve, dan] = stage.users(["ada", "bob", "eve", "dan"]).await;
            // Dan lets contacts add him, and is one throughout.
            stage.let_add(dan, MayBeAddedBy::Contacts).await;
            let direct = stage.app.inbox.open_direct(dan, ada).await.unwrap().conversation.id;
            stage.say(dan, direct, "hello").await;
            let group = stage.group(&[ada]).await;
            let node = stage.second_node();
            stage.store.meanwhile(Moment::BeforeSpending, async move {
                match between {
                    Between::Lets(who) => {
                        let update = UpdateMe { may_be_added_by: Some(who), ..UpdateMe::default() };
                        node.accounts.update_me(bob, update).await.map(drop).unwrap();
                    }
                    Between::Blocks => node.people.block(bob, ada).await.unwrap(),
                    Between::IsBlocked => node.people.block(ada, bob).await.unwrap(),
                    Between::IsDisabled => node.accounts.set_disabled("bob", true).await.map(drop).unwrap(),
                }
            });
            let others = vec![bob, eve, dan];
            let (group, results) = if creates {
                let new =
                    NewConversation { name: "Fish".into(), member_ids: others, ..NewConversation::default() };
                let made = stage.app.groups.create(ada, false, new).await.unwrap();
                (made.opened.conversation.id, made.members)
            } else {
                (group, stage.app.groups.add_members(ada, group, &others).await.unwrap())
            };
            let errors: Vec<_> = results.iter().map(|result| result.error).collect();
            assert_eq!(errors, [expected, None, None], "{between:?}, creates: {creates}");
            let count = 3 + u32::from(expected.is_none());
            assert_eq!(stage.row(ada, group).await.member_count, count, "{between:?}, creates: {creates}");
            assert_eq!(stage.inbox(bob).await.contains(&group), expected.is_none());
            // Nobody pays for a user who was not added.
            let spent = stage.store.user(ada).await.unwrap().unwrap().spent.members.millis_since(stage.now());
            let each = DAY_MS / i64::from(ADDING.members_per_day_max);
            assert_eq!(spent, i64::from(count - 1) * each, "{between:?}, creates: {creates}");
        }
    }
}

#[tokio::test]
async fn adding_strangers_has_a_daily_limit_that_ignores_refusals() {
    let stage = Stage::new();
    let ada = stage.user("ada").await;
    let group = stage.group(&[ada]).await;
    let strangers_max = ADDING.strangers_per_day_max as usize;
    let mut people = Vec::new();
    for number in 0..strangers_max + 2 {
        people.push(stage.user(&format!("person{number}")).await);
    }
    let (last, first) = people.split_last().unwrap();
    let (spare, first) = first.split_last().unwrap();
    // The friend is no stranger, and members, unknown users and those who refuse are not added.
    let direct = stage.app.inbox.open_direct(*last, ada).await.unwrap().conversation.id;
    stage.say(*last, direct, "hello").await;
    stage.let_add(first[1], MayBeAddedBy::Nobody).await;
    let added = async |users: &[UserId]| stage.app.groups.add_members(ada, group, users).await;
    for users in [&[first[0]], &[first[0]], &[UserId::new(5)], &[first[1]]] {
        added(users).await.unwrap();
    }
    added(&first[2..]).await.unwrap();
    // The group is large now, so membership is checked only for users who are added again.
    assert_eq!(added(&first[2..40]).await.unwrap()[0].error, Some(ErrorCode::AlreadyMember));
    added(&[*spare]).await.unwrap();
    stage.let_add(first[1], MayBeAddedBy::Everybody).await;
    let Err(Refusal::TooOften { retry_after_secs, .. }) = added(&[first[1]]).await else {
        panic!("there was one more")
    };
    let each_secs = (DAY_MS / 1_000) as u32 / ADDING.strangers_per_day_max;
    assert!((1..=each_secs + 1).contains(&retry_after_secs), "{retry_after_secs} of {each_secs}");
    assert!(added(&[*last]).await.unwrap()[0].added);
    stage.clock.advance_ms(i64::from(retry_after_secs) * 1_000);
    assert!(added(&[first[1]]).await.unwrap()[0].added);
    assert_eq!(stage.row(ada, group).await.member_count as usize, people.len() + 1);
}

#[tokio::test]
async fn beginning_to_write_to_strangers_has_the_same_daily_limit() {
    let stage = Stage::new();
    let [ada, bob, eve] = stage.users(["ada", "bob", "eve"]).await;
    let strangers_max = ADDING.strangers_per_day_max as usize;
    for number in 0..strangers_max - 1 {
        let person = stage.user(&format!("person{number}")).await;
        stage.app.inbox.open_direct(ada, person).await.unwrap();
    }
    let first = stage.app.inbox.open_direct(ada, bob).await.unwrap();
    let refused = stage.app.inbox.open_direct(ada, eve).await.unwrap_err();
    let each_secs = 24 * 60 * 60 / ADDING.strangers_per_day_max;
    match refused {
        InboxError::TooOften { retry_after_secs, .. } => assert!(retry_after_secs <= each_secs + 1),
        other => panic!("{other}"),
    }
    // A conversation that exists costs nothing, and neither does one that another user began.
    let again = stage.app.inbox.open_direct(ada, bob).await.unwrap();
    assert!(!again.made && again.conversation.id == first.conversation.id);
    stage.app.inbox.open_direct(eve, ada).await.unwrap();
    stage.app.inbox.open_direct(ada, eve).await.unwrap();
}

#[tokio::test]
async fn creating_groups_has_a_daily_limit_across_nodes() {
    let stage = Stage::new();
    let ada = stage.user("ada").await;
    let node = stage.second_node();
    let new = |key: &str| NewConversation {
        name: "Birds".into(),
        client_id: Some(key.into()),
        ..NewConversation::default()
    };
    for number in 0..ADDING.groups_per_day_max {
        let app = if number % 2 == 0 { &stage.app } else { &node };
        app.groups.create(ada, false, new(&number.to_string())).await.unwrap();
        if number == 0 {
            // A retry does not count as another group.
            node.groups.create(ada, false, new("0")).await.unwrap();
        }
    }
    let refused = node.groups.create(ada, true, new("more")).await;
    assert!(matches!(refused, Err(Refusal::TooOften { .. })), "{refused:?}");
    stage.clock.advance_ms(DAY_MS / i64::from(ADDING.groups_per_day_max) + 1);
    node.groups.create(ada, true, new("more")).await.unwrap();
}

#[tokio::test]
async fn leaving_for_good_prevents_adding_and_blocks_the_adder() {
    let stage = Stage::new();
    let [ada, bob, eve] = stage.users(["ada", "bob", "eve"]).await;
    let group = stage.group(&[ada, eve]).await;
    stage.app.groups.add_members(eve, group, &[bob]).await.unwrap();
    stage.app.groups.leave(bob, group, true).await.unwrap();
    assert!(stage.inbox(bob).await.is_empty());
    assert!(stage.app.people.user(bob, eve).await.unwrap().blocked);
    assert!(!stage.app.people.user(bob, ada).await.unwrap().blocked);
    let errors = async |by| stage.app.groups.add_members(by, group, &[bob]).await.unwrap()[0].error;
    assert_eq!(errors(ada).await, Some(ErrorCode::NeedsInvite));
    assert_eq!(errors(eve).await, Some(ErrorCode::Blocked));
    assert_eq!(stage.app.groups.refused(bob).await.unwrap(), [group]);
    // Other groups are not affected.
    assert!(stage.refusals(ada, group, bob).await[1].is_none());
    stage.app.groups.allow_again(bob, group).await.unwrap();
    assert_eq!(errors(ada).await, None);
}

#[tokio::test]
async fn joining_again_allows_adding_again() {
    let stage = Stage::new();
    let [ada, bob] = stage.users(["ada", "bob"]).await;
    let group = stage.group(&[ada, bob]).await;
    stage.app.groups.leave(bob, group, true).await.unwrap();
    stage.app.people.unblock(bob, ada).await.unwrap();
    let open = UpdatePermissions { anyone_may_join: Some(true), ..UpdatePermissions::default() };
    let open = UpdateConversation { permissions: Some(open), ..UpdateConversation::default() };
    stage.app.groups.update(ada, group, &open).await.unwrap();
    stage.app.groups.join(bob, group).await.unwrap();
    assert!(stage.app.groups.refused(bob).await.unwrap().is_empty());
    stage.app.groups.leave(bob, group, false).await.unwrap();
    assert!(stage.app.groups.add_members(ada, group, &[bob]).await.unwrap()[0].added);
}

#[tokio::test]
async fn a_refused_leave_of_the_last_owner_records_nothing() {
    let stage = Stage::new();
    let [ada, bob] = stage.users(["ada", "bob"]).await;
    let group = stage.group(&[ada, bob]).await;
    assert!(matches!(stage.app.groups.leave(ada, group, true).await, Err(Refusal::LastOwner)));
    assert!(stage.app.groups.refused(ada).await.unwrap().is_empty());
    let direct = stage.app.inbox.open_direct(ada, bob).await.unwrap().conversation.id;
    assert!(matches!(stage.app.groups.leave(ada, direct, true).await, Err(Refusal::WrongKind)));
    assert!(stage.app.groups.refused(ada).await.unwrap().is_empty());
    // Nor has an added user blocked anybody.
    stage.app.groups.transfer_ownership(ada, group, bob).await.unwrap();
    assert!(matches!(stage.app.groups.leave(bob, group, true).await, Err(Refusal::LastOwner)));
    assert!(!stage.app.people.user(bob, ada).await.unwrap().blocked);
}

#[tokio::test]
async fn the_list_of_refused_groups_is_bounded() {
    let stage = Stage::new();
    let [ada, bob, eve, dan] = stage.users(["ada", "bob", "eve", "dan"]).await;
    let mut left = Vec::new();
    for maker in [ada, eve, dan] {
        for _ in 0..=GROUPS_REFUSED_MAX / 3 {
            let group = stage.group(&[maker, bob]).await;
            stage.app.groups.leave(bob, group, true).await.unwrap();
            stage.app.people.unblock(bob, maker).await.unwrap();
            left.push(group);
            stage.clock.advance_ms(DAY_MS / 20);
        }
    }
    assert!(left.len() > GROUPS_REFUSED_MAX);
    assert_eq!(stage.app.groups.refused(bob).await.unwrap(), left[left.len() - GROUPS_REFUSED_MAX..]);
}
