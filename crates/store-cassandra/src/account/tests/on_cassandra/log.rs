//! Reading the account log.

use godwit_domain::model::AccountEntry;

use super::*;

#[tokio::test]
async fn a_log_with_long_gaps_is_read_in_pages_of_any_size() {
    let node = Node::new().await;
    let user = new_id();
    let mut expected: Vec<AccountEntry> = Vec::new();
    // Forty chunks, each left with one entry.
    for _ in 0..40 {
        let mut notes = vec![note(user, AccountChange::ProfileUpdated); 31];
        notes.push(some_note(user));
        let written = node.accounts.note(user, notes).await.unwrap();
        expected.retain(|entry| entry.change != AccountChange::ProfileUpdated);
        expected.extend(&written[30..]);
    }
    for limit in [3, 20, 41, 50] {
        let mut read: Vec<AccountEntry> = Vec::new();
        loop {
            let after = read.last().map_or(0, |entry| entry.seq);
            let page = node.accounts.account_log(user, after, limit).await.unwrap().unwrap();
            let is_last = page.len() < limit;
            read.extend(page);
            if is_last {
                break;
            }
        }
        assert_eq!(read, expected, "in pages of {limit}");
    }
    // From every position, including those of dropped entries.
    let last = expected.last().unwrap().seq;
    for after in (0..last).step_by(97) {
        let rest: Vec<AccountEntry> = expected.iter().filter(|entry| entry.seq > after).copied().collect();
        assert_eq!(node.accounts.account_log(user, after, 100).await.unwrap(), Some(rest), "after {after}");
    }
    assert_eq!(node.accounts.account_log(user, last, 100).await.unwrap(), Some(vec![]));
    assert_eq!(node.accounts.account_log(user, last + 1, 100).await.unwrap(), None);
    assert_eq!(node.accounts.account_log(user, last + 100, 100).await.unwrap(), None);
}

#[tokio::test]
async fn reading_continues_past_the_end_of_a_chunk() {
    let node = Node::new().await;
    let user = new_id();
    // The 31st is the last of its chunk.
    let first = node.accounts.note(user, vec![some_note(user); 1]).await.unwrap()[0];
    let rest = node.accounts.note(user, (0..30).map(|_| some_note(user)).collect()).await.unwrap();
    assert_eq!(rest.last().map(|entry| entry.seq), Some(31));
    assert_eq!(node.accounts.account_log(user, 31, 10).await.unwrap(), Some(vec![]));
    assert_eq!(node.accounts.account_log(user, 32, 10).await.unwrap(), None);
    assert_eq!(node.accounts.account_log(user, first.seq, 100).await.unwrap(), Some(rest));
    assert_eq!(node.accounts.account_head(user).await.unwrap(), 31);
}
