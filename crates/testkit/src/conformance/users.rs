//! Creation and lookup of users.

use godwit_domain::model::{Avatar, Handle, Phone, Spent, Subject, User};
use godwit_domain::ports::CreateUser;
use godwit_protocol::accounts::MayBeAddedBy;
use godwit_protocol::{ConversationId, UserId};

use super::{CALLERS, Outcome};
use crate::scene::Scene;

pub(super) async fn a_created_user_reads_back(s: &Scene) -> Outcome {
    let plain = s.new_user();
    let full = User {
        avatar: Some(Avatar::from_stored("https://example.org/ada.png")),
        phone: Some(Phone::from_stored("+34600111222")),
        subject: Some(Subject::from_stored(s.word())),
        password_hash: Some("$argon2id$…".to_owned()),
        presence_visible: false,
        read_receipts: false,
        may_be_added_by: MayBeAddedBy::Contacts,
        refused_groups: vec![ConversationId::new(7)],
        spent: Spent { groups: s.now(), ..Spent::default() },
        last_seen_at: Some(s.now()),
        disabled_at: Some(s.now().plus_millis(1)),
        ..s.new_user_named("Ada 👩‍💻 Lovelace")
    };
    for user in [plain, full] {
        s.create(user.clone()).await?;
        assert_eq!(s.store().user(user.id).await?.as_ref(), Some(&user));
        assert_eq!(s.store().user_by_handle(&user.handle).await?.as_ref(), Some(&user));
        if let Some(subject) = &user.subject {
            assert_eq!(s.store().user_by_subject(subject).await?.as_ref(), Some(&user));
        }
    }
    Ok(())
}

pub(super) async fn unknown_users_are_not_found(s: &Scene) -> Outcome {
    let unknown = s.new_user();
    assert_eq!(s.store().user(unknown.id).await?, None);
    assert_eq!(s.store().user_by_handle(&unknown.handle).await?, None);
    assert_eq!(s.store().user_by_subject(&Subject::from_stored(s.word())).await?, None);
    Ok(())
}

pub(super) async fn a_taken_handle_is_refused(s: &Scene) -> Outcome {
    let first = s.new_user();
    s.create(first.clone()).await?;
    let second = User { handle: first.handle.clone(), ..with_subject(s) };
    assert_eq!(s.store().create_user(second.clone()).await?, CreateUser::HandleTaken);
    assert_eq!(s.store().user_by_handle(&first.handle).await?, Some(first));
    is_nowhere(s, &second).await
}

pub(super) async fn a_taken_subject_returns_its_user(s: &Scene) -> Outcome {
    let first = with_subject(s);
    s.create(first.clone()).await?;
    let second = User { subject: first.subject.clone(), ..s.new_user() };
    assert_eq!(s.store().create_user(second.clone()).await?, CreateUser::SubjectTaken(first.clone()));
    assert_eq!(s.store().user(second.id).await?, None);
    assert_eq!(s.store().user_by_handle(&second.handle).await?, None, "a refused user keeps no handle");
    Ok(())
}

pub(super) async fn a_taken_subject_takes_precedence_over_a_taken_handle(s: &Scene) -> Outcome {
    let first = with_subject(s);
    s.create(first.clone()).await?;
    let again = User { id: s.new_user().id, ..first.clone() };
    assert_eq!(s.store().create_user(again).await?, CreateUser::SubjectTaken(first));
    Ok(())
}

pub(super) async fn one_of_many_concurrent_users_gets_the_handle(s: &Scene) -> Outcome {
    let handle = Handle::from_stored(s.word());
    let users: Vec<User> = (0..CALLERS).map(|_| User { handle: handle.clone(), ..with_subject(s) }).collect();
    let outcomes = s.at_once(CALLERS, |i, store| {
        let user = users[i].clone();
        async move { store.create_user(user).await }
    });
    let outcomes = outcomes.await?;
    let winners: Vec<&User> =
        users.iter().zip(&outcomes).filter(|(_, o)| **o == CreateUser::Created).map(|(user, _)| user).collect();
    assert_eq!(winners.len(), 1, "{outcomes:?}");
    assert_eq!(s.store().user_by_handle(&handle).await?.as_ref(), Some(winners[0]));
    for (user, outcome) in users.iter().zip(outcomes) {
        if user != winners[0] {
            assert_eq!(outcome, CreateUser::HandleTaken);
            is_nowhere(s, user).await?;
        }
    }
    Ok(())
}

pub(super) async fn one_of_many_concurrent_users_gets_the_subject(s: &Scene) -> Outcome {
    let subject = Subject::from_stored(s.word());
    let users: Vec<User> =
        (0..CALLERS).map(|_| User { subject: Some(subject.clone()), ..s.new_user() }).collect();
    let outcomes = s.at_once(CALLERS, |i, store| {
        let user = users[i].clone();
        async move { store.create_user(user).await }
    });
    let outcomes = outcomes.await?;
    assert_eq!(outcomes.iter().filter(|o| **o == CreateUser::Created).count(), 1, "{outcomes:?}");
    let winner = s.store().user_by_subject(&subject).await?.expect("one was created");
    for (user, outcome) in users.iter().zip(outcomes) {
        if *user != winner {
            assert_eq!(outcome, CreateUser::SubjectTaken(winner.clone()));
            assert_eq!(s.store().user(user.id).await?, None);
            assert_eq!(s.store().user_by_handle(&user.handle).await?, None);
        }
    }
    Ok(())
}

pub(super) async fn users_returns_only_existing_users(s: &Scene) -> Outcome {
    let (a, b, unknown) = (s.user().await?, s.user().await?, s.new_user().id);
    let mut found: Vec<UserId> = s.store().users(&[b, unknown, a]).await?.iter().map(|user| user.id).collect();
    found.sort_unstable();
    assert_eq!(found, [a, b]);
    assert!(s.store().users(&[]).await?.is_empty());
    Ok(())
}

pub(super) async fn list_users_returns_all_users_sorted_by_id(s: &Scene) -> Outcome {
    let before = UserId::new(s.id());
    let mut mine = Vec::new();
    for _ in 0..7 {
        mine.push(s.user().await?);
    }
    for limit in [1, 2, 3, 7, 50] {
        let mut listed = vec![before];
        // Other cases may have users among these, and certainly have some after them.
        while listed.last() < mine.last() {
            let page = s.store().list_users(listed.last().copied(), limit).await?;
            assert!((1..=limit).contains(&page.len()), "a page of {limit} has {} users", page.len());
            listed.extend(page.iter().map(|user| user.id));
        }
        assert!(listed.is_sorted_by(|a, b| a < b), "{listed:?}");
        listed.retain(|id| mine.contains(id));
        assert_eq!(listed, mine, "in pages of {limit}");
    }
    Ok(())
}

fn with_subject(s: &Scene) -> User {
    User { subject: Some(Subject::from_stored(s.word())), ..s.new_user() }
}

/// Asserts that neither the user nor the subject is stored.
async fn is_nowhere(s: &Scene, user: &User) -> Outcome {
    assert_eq!(s.store().user(user.id).await?, None);
    if let Some(subject) = &user.subject {
        assert_eq!(s.store().user_by_subject(subject).await?, None, "a refused user keeps no subject");
    }
    Ok(())
}
