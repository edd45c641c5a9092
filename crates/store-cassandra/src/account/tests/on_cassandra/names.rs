//! Names that several users want, and attempts that are interrupted.

use godwit_domain::account::{Name, UpdateUser};
use godwit_domain::model::Subject;

use super::*;

fn name(handle: &Handle) -> Name {
    Name::Handle(handle.clone())
}

fn rename(handle: &Handle) -> AccountCommand {
    update(UserChange { handle: Some(handle.clone()), ..UserChange::default() })
}

/// The outcome of an attempt that began when the user's `naming` had this value.
async fn finish(node: &Node, user: UserId, command: AccountCommand, naming: u64) -> Option<AccountOutcome> {
    let (command, outside) = (Arc::new(command), Arc::new(Outside::default()));
    let changed = node.accounts.decide_names(user, command, outside, naming).await.unwrap();
    changed.map(|changed| changed.outcome)
}

async fn reserve(node: &Node, handle: &Handle, by: UserId) {
    assert!(node.accounts.claim(&name(handle), by, None).await.unwrap());
}

async fn naming(node: &Node, user: UserId) -> u64 {
    let (command, outside) = (Arc::new(update(UserChange::default())), Arc::new(Outside::default()));
    node.accounts.foresee(user, command, outside).await.unwrap().1
}

async fn owner(node: &Node, handle: &Handle) -> Option<UserId> {
    node.accounts.user_by_name(&name(handle)).await.unwrap().map(|user| user.id)
}

async fn change_handle(node: &Node, user: &User, handle: &Handle) -> UpdateUser {
    node.change(user.id, rename(handle)).await.into()
}

#[tokio::test]
async fn a_name_that_a_crash_left_reserved_is_taken_over() {
    let node = Node::new().await;
    let crashed = new_user();
    let naming = naming(&node, crashed.id).await;
    reserve(&node, &crashed.handle, crashed.id).await;
    let next = User { id: new_id(), ..crashed.clone() };
    assert_eq!(node.create(&next).await, CreateUser::Created);
    // An attempt that was only slow, and not dead, now comes too late.
    assert_eq!(finish(&node, crashed.id, create(&crashed), naming).await, None);
    assert_eq!(owner(&node, &crashed.handle).await, Some(next.id));
    assert_eq!(node.accounts.user(crashed.id).await.unwrap(), None);
    assert_eq!(node.create(&crashed).await, CreateUser::HandleTaken);
}

#[tokio::test]
async fn a_reservation_in_progress_is_waited_for() {
    let (node, other) = (Node::new().await, Node::new().await);
    let first = new_user();
    let naming = naming(&node, first.id).await;
    reserve(&node, &first.handle, first.id).await;
    let second = User { id: new_id(), ..first.clone() };
    let waiting = tokio::spawn(async move { other.create(&second).await });
    tokio::time::sleep(std::time::Duration::from_millis(30)).await;
    let made = finish(&node, first.id, create(&first), naming).await;
    assert_eq!(made, Some(CreateUser::Created.into()));
    assert_eq!(waiting.await.unwrap(), CreateUser::HandleTaken);
    assert_eq!(owner(&node, &first.handle).await, Some(first.id));
}

#[tokio::test]
async fn a_name_that_was_reserved_again_is_not_taken_over() {
    let node = Node::new().await;
    let (user, other) = (new_user(), new_id());
    let name = name(&user.handle);
    reserve(&node, &user.handle, user.id).await;
    let seen = node.accounts.names.holder(&name).await.unwrap();
    reserve(&node, &user.handle, user.id).await;
    assert!(!node.accounts.names.take(&name, seen, other).await.unwrap(), "it has another claim");
    let seen = node.accounts.names.holder(&name).await.unwrap();
    assert!(node.accounts.names.take(&name, seen, other).await.unwrap());
}

#[tokio::test]
async fn an_unfinished_reservation_does_not_hold_a_name() {
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
async fn an_earlier_attempt_does_not_restore_a_released_name() {
    let node = Node::new().await;
    let user = node.user().await;
    let (wanted, third) = (Handle::from_stored(word()), Handle::from_stored(word()));
    let naming = naming(&node, user.id).await;
    reserve(&node, &wanted, user.id).await;
    // Meanwhile another attempt of the same user takes the name and gives it up again.
    assert!(matches!(change_handle(&node, &user, &wanted).await, UpdateUser::Updated(..)));
    assert!(matches!(change_handle(&node, &user, &user.handle).await, UpdateUser::Updated(..)));
    assert_eq!(node.accounts.names.holder(&name(&wanted)).await.unwrap(), None, "it was given back");
    assert_eq!(finish(&node, user.id, rename(&wanted), naming).await, None);
    // Later changes succeed.
    assert!(matches!(change_handle(&node, &user, &third).await, UpdateUser::Updated(..)));
    assert_eq!(node.create(&User { handle: wanted, ..new_user() }).await, CreateUser::Created);
}

#[tokio::test]
async fn a_name_is_not_released_if_its_holder_reserves_it_again() {
    let node = Node::new().await;
    let user = node.user().await;
    let name = name(&user.handle);
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
async fn concurrent_processes_create_a_user_once() {
    let nodes = [Node::new().await, Node::new().await, Node::new().await];
    let user = User { subject: Some(Subject::from_stored(word())), ..new_user() };
    let make = |accounts: Arc<Accounts>, user: User| async move {
        (user.id, accounts.change(user.id, create(&user), Outside::default()).await.unwrap().into())
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
