//! The search index, and the rows that a crash leaves in it.

use std::collections::BTreeSet;

use godwit_domain::model::SearchPrefix;

use super::super::super::people::Reindexed;
use super::*;

fn reindexed(revision: i64, added: &[&str], removed: &[&str]) -> Reindexed {
    let set = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<BTreeSet<_>>();
    Reindexed { revision, added: set(added), removed: set(removed) }
}

async fn found(node: &Node, prefix: &str, limit: usize) -> Vec<UserId> {
    let found = node.accounts.search_users(&SearchPrefix::from_stored(prefix), None, limit).await.unwrap();
    found.into_iter().map(|user| user.id).collect()
}

#[tokio::test]
async fn a_late_removal_does_not_undo_a_newer_addition() {
    let node = Node::new().await;
    let (user, word) = (new_id(), word());
    let (prefix, people) = (&word[..8], &node.accounts.people);
    people.add(user, &reindexed(6, &[prefix], &[])).await.unwrap();
    people.remove(user, &reindexed(5, &[], &[prefix])).await;
    assert_eq!(people.page(prefix, None, 10).await.unwrap(), [user]);
    people.remove(user, &reindexed(7, &[], &[prefix])).await;
    assert_eq!(people.page(prefix, None, 10).await.unwrap(), []);
}

#[tokio::test]
async fn pages_are_full_despite_stale_rows() {
    let node = Node::new().await;
    let word = word();
    let mut ids = Vec::new();
    for number in 0..6 {
        let named = User { display_name: DisplayName::from_stored(format!("{word}{number}")), ..new_user() };
        assert_eq!(node.create(&named).await, CreateUser::Created);
        ids.push(named.id);
        // A user who was never created, and a user with another name.
        for stale in [new_id(), node.user().await.id] {
            node.accounts.people.add(stale, &reindexed(1, &[&word[..8]], &[])).await.unwrap();
        }
    }
    ids.sort_unstable();
    for limit in 1..=7 {
        assert_eq!(found(&node, &word, limit).await, ids[..limit.min(6)], "at most {limit}");
    }
    assert_eq!(found(&node, &word[..8], 50).await, ids);
}

#[tokio::test]
async fn a_word_removed_and_added_in_one_batch_stays_indexed() {
    let node = Node::new().await;
    let (user, old, new) = (node.user().await, word(), word());
    let rename = |name: &str| {
        let display_name = Some(DisplayName::from_stored(name));
        let command = update(UserChange { display_name, ..UserChange::default() });
        let (accounts, id) = (node.accounts.clone(), user.id);
        tokio::spawn(async move { accounts.change(id, command, Outside::default()).await.unwrap() })
    };
    rename(&old).await.unwrap();
    // The last two wait at the same time and are written as one batch.
    let renaming = [rename(&new), rename(&new), rename(&old)];
    for renaming in renaming {
        renaming.await.unwrap();
    }
    let named = node.accounts.user(user.id).await.unwrap().unwrap().display_name.to_string();
    let other = if named == old { &new } else { &old };
    assert_eq!(found(&node, &named, 10).await, [user.id]);
    assert_eq!(found(&node, other, 10).await, []);
}
