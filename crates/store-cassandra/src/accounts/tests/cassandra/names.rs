//! Names that several want, and attempts that break off.

use godwit_domain::model::Subject;
use godwit_domain::ports::{UpdateUser, UserChange};

use super::super::super::names::{Claim, Name};
use super::super::super::users::{Created, Renamed};
use super::*;

async fn reserve(node: &Node, handle: &Handle, by: UserId) {
    let claim = node.accounts.claim(&handle.into(), by, None).await.unwrap();
    assert!(matches!(claim, Claim::Reserved), "{claim:?}");
}

async fn naming(node: &Node, user: UserId) -> u64 {
    node.accounts.naming(user).await.unwrap().1
}

async fn owner(node: &Node, handle: &Handle) -> Option<UserId> {
    node.accounts.user_by_name(&handle.into()).await.unwrap().map(|user| user.id)
}

async fn change_handle(node: &Node, user: &User, handle: &Handle) -> UpdateUser {
    let change = UserChange { handle: Some(handle.clone()), ..UserChange::default() };
    node.accounts.update_handle(user.id, handle.clone(), change, None).await.unwrap()
}

#[tokio::test]
async fn a_name_that_a_crash_left_reserved_is_taken_over() {
    let node = Node::new().await;
    let crashed = new_user();
    let naming = naming(&node, crashed.id).await;
    reserve(&node, &crashed.handle, crashed.id).await;
    let next = User { id: new_id(), ..crashed.clone() };
    assert_eq!(node.create(&next).await, CreateUser::Created);
    // If it was no crash, the other comes too late.
    let late = node.accounts.create_profile(crashed.clone(), naming).await.unwrap();
    assert!(matches!(late, Created::Void));
    assert_eq!(owner(&node, &crashed.handle).await, Some(next.id));
    assert_eq!(node.accounts.user(crashed.id).await.unwrap(), None);
    assert_eq!(node.create(&crashed).await, CreateUser::HandleTaken);
}

#[tokio::test]
async fn who_is_about_to_finish_is_waited_for() {
    let (node, other) = (Node::new().await, Node::new().await);
    let first = new_user();
    let naming = naming(&node, first.id).await;
    reserve(&node, &first.handle, first.id).await;
    let second = User { id: new_id(), ..first.clone() };
    let waiting = tokio::spawn(async move { other.create(&second).await });
    tokio::time::sleep(std::time::Duration::from_millis(30)).await;
    let made = node.accounts.create_profile(first.clone(), naming).await.unwrap();
    assert!(matches!(made, Created::Yes));
    assert_eq!(waiting.await.unwrap(), CreateUser::HandleTaken);
    assert_eq!(owner(&node, &first.handle).await, Some(first.id));
}

#[tokio::test]
async fn a_name_that_was_reserved_anew_is_not_taken_over() {
    let node = Node::new().await;
    let (user, other) = (new_user(), new_id());
    let name = Name::from(&user.handle);
    reserve(&node, &user.handle, user.id).await;
    let seen = node.accounts.names.holder(&name).await.unwrap();
    reserve(&node, &user.handle, user.id).await;
    assert!(!node.accounts.names.take(&name, seen, other).await.unwrap(), "it has another claim");
    let seen = node.accounts.names.holder(&name).await.unwrap();
    assert!(node.accounts.names.take(&name, seen, other).await.unwrap());
}

#[tokio::test]
async fn a_reserved_name_that_another_user_left_is_free() {
    let node = Node::new().await;
    let user = node.user().await;
    let wanted = Handle::from_stored(word());
    reserve(&node, &wanted, user.id).await;
    let next = User { handle: wanted.clone(), ..new_user() };
    assert_eq!(node.create(&next).await, CreateUser::Created);
    assert_eq!(change_handle(&node, &user, &wanted).await, UpdateUser::HandleTaken);
    assert_eq!(owner(&node, &user.handle).await, Some(user.id), "they keep the one that they have");
}

#[tokio::test]
async fn an_own_attempt_of_before_does_not_bring_a_name_back_that_was_given_back() {
    let node = Node::new().await;
    let user = node.user().await;
    let (wanted, third) = (Handle::from_stored(word()), Handle::from_stored(word()));
    let naming = naming(&node, user.id).await;
    reserve(&node, &wanted, user.id).await;
    // Meanwhile another one of theirs has the name, and does not want it any more.
    assert!(matches!(change_handle(&node, &user, &wanted).await, UpdateUser::Updated(..)));
    assert!(matches!(change_handle(&node, &user, &user.handle).await, UpdateUser::Updated(..)));
    assert_eq!(node.accounts.names.holder(&Name::from(&wanted)).await.unwrap(), None, "it was given back");
    let change = UserChange { handle: Some(wanted.clone()), ..UserChange::default() };
    let late = node.accounts.rename(user.clone(), naming, wanted.clone(), change, None).await.unwrap();
    assert!(matches!(late, Renamed::Void));
    // Everything goes on.
    assert!(matches!(change_handle(&node, &user, &third).await, UpdateUser::Updated(..)));
    assert_eq!(node.create(&User { handle: wanted, ..new_user() }).await, CreateUser::Created);
}

#[tokio::test]
async fn a_name_is_not_given_back_once_its_holder_wants_it_again() {
    let node = Node::new().await;
    let user = node.user().await;
    let name = Name::from(&user.handle);
    let held = node.accounts.names.holder(&name).await.unwrap().unwrap();
    assert!(matches!(
        change_handle(&node, &user, &Handle::from_stored(word())).await,
        UpdateUser::Updated(..)
    ));
    assert!(matches!(change_handle(&node, &user, &user.handle).await, UpdateUser::Updated(..)));
    node.accounts.names.give_back(&name, held).await;
    assert_eq!(owner(&node, &user.handle).await, Some(user.id));
    let again = User { id: new_id(), ..user };
    assert_eq!(node.create(&again).await, CreateUser::HandleTaken);
}

#[tokio::test]
async fn many_processes_make_the_same_user_once() {
    let nodes = [Node::new().await, Node::new().await, Node::new().await];
    let user = User { subject: Some(Subject::from_stored(word())), ..new_user() };
    let make = |accounts: Arc<Accounts>, user: User| async move {
        (user.id, accounts.create_user(user).await.unwrap())
    };
    let users = (0..12).map(|number| (&nodes[number % 3].accounts, User { id: new_id(), ..user.clone() }));
    let making: Vec<_> = users.map(|(accounts, user)| tokio::spawn(make(accounts.clone(), user))).collect();
    let (mut made, mut told) = (Vec::new(), Vec::new());
    for making in making {
        match making.await.unwrap() {
            (id, CreateUser::Created) => made.push(id),
            (_, CreateUser::SubjectTaken(first)) => told.push(first.id),
            (_, CreateUser::HandleTaken) => panic!("the subject is taken too, which is said first"),
        }
    }
    assert_eq!((made.len(), told.len()), (1, 11));
    assert!(told.iter().all(|id| *id == made[0]));
    assert_eq!(owner(&nodes[0], &user.handle).await, Some(made[0]));
}
