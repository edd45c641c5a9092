//! Changes of users.

use godwit_domain::model::{AccountChange, Avatar, DisplayName, Handle, Phone, User};
use godwit_domain::ports::{CreateUser, Spending, UpdateUser, UserChange};
use godwit_protocol::accounts::MayBeAddedBy;
use godwit_protocol::limits::{FORMER_HANDLE_DAYS, FORMER_HANDLES_MAX};
use godwit_protocol::{ConversationId, Timestamp, UserId};

use super::{CALLERS, Outcome};
use crate::paging::account_log_after;
use crate::scene::Scene;

pub(super) async fn an_update_changes_what_it_names_and_nothing_else(s: &Scene) -> Outcome {
    let mut expected = s.new_user_named("Ada Lovelace");
    s.create(expected.clone()).await?;
    let changes = [
        UserChange { handle: Some(Handle::from_stored(s.word())), ..nothing() },
        UserChange { display_name: Some(DisplayName::from_stored("Countess")), ..nothing() },
        UserChange { avatar: Some(Some(Avatar::from_stored("https://example.org/a"))), ..nothing() },
        UserChange { phone: Some(Some(Phone::from_stored("+34600111222"))), ..nothing() },
        UserChange { password_hash: Some("$argon2id$…".to_owned()), ..nothing() },
        UserChange { presence_visible: Some(false), ..nothing() },
        UserChange { read_receipts: Some(false), ..nothing() },
        UserChange { may_be_added_by: Some(MayBeAddedBy::Nobody), ..nothing() },
        UserChange { refused_group: Some((ConversationId::new(8), true)), ..nothing() },
        UserChange { refused_group: Some((ConversationId::new(9), true)), ..nothing() },
        UserChange { refused_group: Some((ConversationId::new(8), false)), ..nothing() },
        UserChange { spending: Some(spending(s, 5_000)), ..nothing() },
        UserChange { last_seen_at: Some(s.now().plus_millis(5)), ..nothing() },
        UserChange { disabled_at: Some(Some(s.now())), ..nothing() },
        UserChange { avatar: Some(None), phone: Some(None), disabled_at: Some(None), ..nothing() },
        nothing(),
    ];
    for change in changes {
        change.clone().apply(&mut expected);
        let updated = s.store().update_user(expected.id, change, None).await?;
        assert_eq!(updated, UpdateUser::Updated(expected.clone(), None));
        assert_eq!(s.store().user(expected.id).await?.as_ref(), Some(&expected));
        assert_eq!(s.store().user_by_handle(&expected.handle).await?.as_ref(), Some(&expected));
    }
    Ok(())
}

pub(super) async fn an_update_writes_its_note(s: &Scene) -> Outcome {
    let user = s.user().await?;
    let note = s.note(user, AccountChange::ProfileUpdated);
    let UpdateUser::Updated(_, Some(entry)) = s.store().update_user(user, nothing(), Some(note)).await? else {
        panic!("an update with a note gives back its entry");
    };
    assert_eq!((entry.at, entry.change), (note.at, note.change));
    assert_eq!(account_log_after(s.store(), user, 0, 50).await?, Some(vec![entry]));
    Ok(())
}

pub(super) async fn an_update_of_an_unknown_user_is_not_found(s: &Scene) -> Outcome {
    let nobody = s.new_user();
    let change = UserChange { handle: Some(nobody.handle.clone()), ..nothing() };
    let note = s.note(nobody.id, AccountChange::ProfileUpdated);
    assert_eq!(s.store().update_user(nobody.id, change, Some(note)).await?, UpdateUser::NotFound);
    assert_eq!(s.store().user(nobody.id).await?, None);
    assert_eq!(s.store().user_by_handle(&nobody.handle).await?, None);
    assert_eq!(s.store().account_head(nobody.id).await?, 0);
    // A user who does not exist does not hold the handle.
    let somebody = User { id: s.new_user().id, ..nobody.clone() };
    assert_eq!(s.store().create_user(somebody.clone()).await?, CreateUser::Created);
    let change = UserChange { handle: Some(somebody.handle), ..nothing() };
    assert_eq!(s.store().update_user(nobody.id, change, None).await?, UpdateUser::NotFound);
    Ok(())
}

pub(super) async fn a_new_handle_frees_the_old_one(s: &Scene) -> Outcome {
    let user = s.new_user();
    s.create(user.clone()).await?;
    let new = Handle::from_stored(s.word());
    change_handle(s, user.id, &new).await?;
    assert_eq!(s.store().user_by_handle(&user.handle).await?, None);
    let next = User { handle: user.handle.clone(), ..s.new_user() };
    s.create(next.clone()).await?;
    assert_eq!(s.store().user_by_handle(&user.handle).await?, Some(next));
    assert_eq!(s.store().user_by_handle(&new).await?.map(|found| found.id), Some(user.id));
    Ok(())
}

pub(super) async fn a_released_handle_stays_reserved_for_a_while(s: &Scene) -> Outcome {
    let (user, other) = (s.new_user(), s.new_user());
    s.create(user.clone()).await?;
    s.create(other.clone()).await?;
    let new = Handle::from_stored(s.word());
    let rename = async |id: UserId, handle: &Handle, at: Timestamp| {
        let change = UserChange { handle: Some(handle.clone()), asked_at: Some(at), ..nothing() };
        s.store().update_user(id, change, None).await
    };
    assert!(matches!(rename(user.id, &new, s.now()).await?, UpdateUser::Updated(..)));
    // No user has this handle, and no other user can take it.
    assert_eq!(s.store().user_by_handle(&user.handle).await?, None);
    assert_eq!(rename(other.id, &user.handle, s.now()).await?, UpdateUser::HandleTaken);
    let newcomer = User { handle: user.handle.clone(), created_at: s.now(), ..s.new_user() };
    assert_eq!(s.store().create_user(newcomer.clone()).await?, CreateUser::HandleTaken);
    assert_eq!(s.store().user(newcomer.id).await?, None);
    // The same user takes it back, and the handle they had in between is reserved instead.
    assert!(matches!(rename(user.id, &user.handle, s.now()).await?, UpdateUser::Updated(..)));
    assert_eq!(s.store().user_by_handle(&user.handle).await?.map(|found| found.id), Some(user.id));
    assert_eq!(rename(other.id, &new, s.now()).await?, UpdateUser::HandleTaken);
    // After the reservation ends, another user takes it, and it no longer finds the first one.
    let later = s.now().plus_millis(i64::from(FORMER_HANDLE_DAYS) * 24 * 60 * 60 * 1_000);
    assert!(matches!(rename(other.id, &new, later).await?, UpdateUser::Updated(..)));
    assert_eq!(s.store().user_by_handle(&new).await?.map(|found| found.id), Some(other.id));
    assert_eq!(rename(user.id, &new, later).await?, UpdateUser::HandleTaken);
    let elsewhere = Handle::from_stored(s.word());
    assert!(matches!(rename(user.id, &elsewhere, later).await?, UpdateUser::Updated(..)));
    assert_eq!(s.store().user_by_handle(&new).await?.map(|found| found.id), Some(other.id));
    Ok(())
}

pub(super) async fn concurrent_renames_give_up_no_reserved_handle(s: &Scene) -> Outcome {
    let (user, other) = (s.new_user(), s.new_user());
    s.create(user.clone()).await?;
    s.create(other.clone()).await?;
    let rename = |handle: &Handle| UserChange { handle: Some(handle.clone()), asked_at: Some(s.now()), ..nothing() };
    let wanted: Vec<Handle> = (0..FORMER_HANDLES_MAX + 3).map(|_| Handle::from_stored(s.word())).collect();
    let outcomes = s.at_once(wanted.len(), |i, store| {
        let change = rename(&wanted[i]);
        async move { store.update_user(user.id, change, None).await }
    });
    let outcomes = outcomes.await?;
    let is_updated = |outcome: &UpdateUser| matches!(outcome, UpdateUser::Updated(..));
    let taken = wanted.iter().zip(&outcomes).filter(|(_, outcome)| is_updated(outcome)).map(|(handle, _)| handle);
    for handle in taken.chain([&user.handle]) {
        assert_eq!(s.store().update_user(other.id, rename(handle), None).await?, UpdateUser::HandleTaken);
    }
    assert_eq!(outcomes.iter().filter(|outcome| is_updated(outcome)).count(), FORMER_HANDLES_MAX);
    Ok(())
}

pub(super) async fn a_refused_spending_changes_nothing(s: &Scene) -> Outcome {
    let user = s.user().await?;
    let spend = |hours: i64| UserChange { spending: Some(spending(s, hours * 60 * 60 * 1_000)), ..nothing() };
    let UpdateUser::Updated(before, None) = s.store().update_user(user, spend(23), None).await? else {
        panic!("the allowance is large enough");
    };
    let note = s.note(user, AccountChange::ProfileUpdated);
    let refused = s.store().update_user(user, spend(2), Some(note)).await?;
    assert!(!matches!(refused, UpdateUser::Updated(..)), "{refused:?}");
    assert_eq!(s.store().user(user).await?, Some(before));
    assert_eq!(s.store().account_head(user).await?, 0);
    Ok(())
}

pub(super) async fn concurrent_spending_adds_up(s: &Scene) -> Outcome {
    let user = s.user().await?;
    let (at, each_ms) = (s.now(), 7_000);
    s.at_once(CALLERS, |_, store| {
        let change = UserChange { spending: Some(spending(s, each_ms)), ..nothing() };
        async move { store.update_user(user, change, None).await }
    })
    .await?;
    let spent = s.store().user(user).await?.map(|user| user.spent.strangers);
    assert_eq!(spent, Some(at.plus_millis(each_ms * CALLERS as i64)));
    Ok(())
}

pub(super) async fn a_users_own_handle_is_not_taken(s: &Scene) -> Outcome {
    let user = s.new_user();
    s.create(user.clone()).await?;
    for _ in 0..2 {
        change_handle(s, user.id, &user.handle).await?;
    }
    assert_eq!(s.store().user_by_handle(&user.handle).await?, Some(user));
    Ok(())
}

pub(super) async fn a_taken_handle_changes_nothing(s: &Scene) -> Outcome {
    let (taken, user) = (s.new_user(), s.new_user());
    s.create(taken.clone()).await?;
    s.create(user.clone()).await?;
    let change =
        UserChange { handle: Some(taken.handle.clone()), presence_visible: Some(false), ..nothing() };
    let note = s.note(user.id, AccountChange::ProfileUpdated);
    assert_eq!(s.store().update_user(user.id, change, Some(note)).await?, UpdateUser::HandleTaken);
    assert_eq!(s.store().user_by_handle(&taken.handle).await?, Some(taken));
    assert_eq!(s.store().user_by_handle(&user.handle).await?.as_ref(), Some(&user));
    assert_eq!(s.store().account_head(user.id).await?, 0);
    Ok(())
}

pub(super) async fn one_of_many_concurrent_updates_gets_the_handle(s: &Scene) -> Outcome {
    let handle = Handle::from_stored(s.word());
    let users: Vec<User> = (0..CALLERS).map(|_| s.new_user()).collect();
    for user in &users {
        s.create(user.clone()).await?;
    }
    let outcomes = s.at_once(CALLERS, |i, store| {
        let (id, change) = (users[i].id, UserChange { handle: Some(handle.clone()), ..nothing() });
        async move { store.update_user(id, change, None).await }
    });
    let outcomes = outcomes.await?;
    let winner = s.store().user_by_handle(&handle).await?.expect("one of them has it");
    for (user, outcome) in users.into_iter().zip(outcomes) {
        if user.id == winner.id {
            assert_eq!(outcome, UpdateUser::Updated(winner.clone(), None));
            assert_eq!(s.store().user_by_handle(&user.handle).await?, None);
        } else {
            assert_eq!(outcome, UpdateUser::HandleTaken);
            assert_eq!(s.store().user_by_handle(&user.handle).await?, Some(user));
        }
    }
    Ok(())
}

pub(super) async fn concurrent_updates_of_different_fields_are_all_kept(s: &Scene) -> Outcome {
    let mut expected = s.new_user();
    let id = s.create(expected.clone()).await?;
    let changes = [
        UserChange { handle: Some(Handle::from_stored(s.word())), ..nothing() },
        UserChange { display_name: Some(DisplayName::from_stored("Countess")), ..nothing() },
        UserChange { avatar: Some(Some(Avatar::from_stored("https://example.org/a"))), ..nothing() },
        UserChange { phone: Some(Some(Phone::from_stored("+34600111222"))), ..nothing() },
        UserChange { password_hash: Some("$argon2id$…".to_owned()), ..nothing() },
        UserChange { presence_visible: Some(false), ..nothing() },
        UserChange { read_receipts: Some(false), ..nothing() },
        UserChange { last_seen_at: Some(s.now()), ..nothing() },
    ];
    s.at_once(changes.len(), |i, store| {
        let change = changes[i].clone();
        async move { store.update_user(id, change, None).await }
    })
    .await?;
    for change in changes {
        change.apply(&mut expected);
    }
    assert_eq!(s.store().user(id).await?, Some(expected));
    Ok(())
}

fn spending(s: &Scene, ms: i64) -> Spending {
    Spending { at: s.now(), members_ms: -ms, strangers_ms: ms, groups_ms: ms }
}

fn nothing() -> UserChange {
    UserChange::default()
}

async fn change_handle(s: &Scene, user: UserId, handle: &Handle) -> Outcome {
    let change = UserChange { handle: Some(handle.clone()), ..nothing() };
    let outcome = s.store().update_user(user, change, None).await?;
    assert!(matches!(outcome, UpdateUser::Updated(..)), "{outcome:?}");
    Ok(())
}
