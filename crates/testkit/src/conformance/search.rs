//! Search for users by word prefixes.

use godwit_domain::model::{DisplayName, Handle, SearchPrefix, User};
use godwit_domain::ports::{CreateUser, StoreError, UserChange};
use godwit_protocol::UserId;

use super::Outcome;
use crate::paging::all_pages;
use crate::scene::Scene;

pub(super) async fn users_are_found_by_the_beginnings_of_their_words(s: &Scene) -> Outcome {
    let (first, last) = (s.word(), s.word());
    // The last character is the highest code point: a range whose end is too low would miss it.
    let name = format!("{} Ñ{first}ñ {last}\u{10ffff}", first.to_uppercase());
    let user = s.new_user_named(&name);
    s.create(user.clone()).await?;
    let handle = user.handle.to_string();
    for found in [
        &handle[..8],
        &handle,
        &first[..8],
        &first,
        &format!("ñ{first}"),
        &format!("ñ{first}ñ"),
        &last,
        &format!("{last}\u{10ffff}"),
        &format!("{first} ñ{first}ñ {last}"),
    ] {
        assert_eq!(search(s, found).await?, [user.id], "{found:?}");
    }
    for not_found in [
        &format!("{first}x"),
        &first[1..],
        &format!("ñ{last}"),
        &format!("{handle}a"),
        &format!("{first} ñ{first}ñ ñ"),
    ] {
        assert_eq!(search(s, not_found).await?, [], "{not_found:?}");
    }
    Ok(())
}

pub(super) async fn a_user_with_several_matching_words_is_found_once(s: &Scene) -> Outcome {
    let word = s.word();
    let handle = Handle::from_stored(format!("{word}.h"));
    let user = User { handle, ..s.new_user_named(&format!("{word} {word}a {word}b")) };
    s.create(user.clone()).await?;
    for limit in [1, 2, 10] {
        assert_eq!(search_by(s, &word, limit).await?, [user.id], "in pages of {limit}");
    }
    Ok(())
}

pub(super) async fn users_are_sorted_by_id_in_pages_of_any_size(s: &Scene) -> Outcome {
    let word = s.word();
    let mut found = Vec::new();
    for number in 0..9 {
        // The order of the words differs from the order of the ids, and some users match with two words.
        let name = format!("{word}{} {word}{}", 9 - number, number % 2);
        let disabled_at = (number % 4 == 3).then(|| s.now());
        let id = s.create(User { disabled_at, ..s.new_user_named(&name) }).await?;
        if disabled_at.is_none() {
            found.push(id);
        }
    }
    for limit in 1..=10 {
        assert_eq!(search_by(s, &word, limit).await?, found, "in pages of {limit}");
    }
    Ok(())
}

pub(super) async fn disabled_users_are_not_found(s: &Scene) -> Outcome {
    let word = s.word();
    let id = s.create(s.new_user_named(&word)).await?;
    for (disabled_at, found) in [(Some(s.now()), vec![]), (None, vec![id])] {
        let change = UserChange { disabled_at: Some(disabled_at), ..UserChange::default() };
        s.store().update_user(id, change, None).await?;
        assert_eq!(search(s, &word).await?, found);
    }
    Ok(())
}

pub(super) async fn a_changed_name_is_found_and_the_old_one_is_not(s: &Scene) -> Outcome {
    let (old, kept, new) = (s.word(), s.word(), s.word());
    let user = s.new_user_named(&format!("{old} {kept}"));
    s.create(user.clone()).await?;
    let handle = Handle::from_stored(s.word());
    let display_name = DisplayName::from_stored(format!("{kept} {new}"));
    let change = UserChange {
        handle: Some(handle.clone()),
        display_name: Some(display_name),
        ..UserChange::default()
    };
    s.store().update_user(user.id, change, None).await?;
    for found in [&*handle, &kept, &new, &format!("{kept} {new}")] {
        assert_eq!(search(s, found).await?, [user.id], "{found:?}");
    }
    for not_found in [&*user.handle, &old, &format!("{old} {kept}")] {
        assert_eq!(search(s, not_found).await?, [], "{not_found:?}");
    }
    Ok(())
}

pub(super) async fn a_refused_user_is_not_found(s: &Scene) -> Outcome {
    let first = s.new_user();
    s.create(first.clone()).await?;
    let word = s.word();
    let second = User { handle: first.handle, ..s.new_user_named(&word) };
    assert_eq!(s.store().create_user(second).await?, CreateUser::HandleTaken);
    assert_eq!(search(s, &word).await?, []);
    Ok(())
}

async fn search(s: &Scene, prefix: &str) -> Result<Vec<UserId>, StoreError> {
    search_by(s, prefix, 50).await
}

async fn search_by(s: &Scene, prefix: &str, limit: usize) -> Result<Vec<UserId>, StoreError> {
    let prefix = SearchPrefix::from_stored(prefix);
    let found = all_pages(limit, |user: &User| user.id, |after| s.store().search_users(&prefix, after, limit));
    Ok(found.await?.into_iter().map(|user| user.id).collect())
}
