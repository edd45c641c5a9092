//! The compare-and-set, and what can happen to it.

use godwit_domain::model::AccountEntry;
use godwit_domain::ports::StoreError;
use tokio::sync::oneshot;

use super::super::super::rows::WRITERS_KNOWN;
use super::super::faults::Fault;
use super::*;

#[tokio::test]
async fn what_waits_together_is_written_together() {
    const NOTES: usize = 200;
    let node = Node::new().await;
    let user = new_id();
    let write = |accounts: Arc<Accounts>| async move { accounts.note(user, vec![some_note(user)]).await };
    let writing: Vec<_> = (0..NOTES).map(|_| tokio::spawn(write(node.accounts.clone()))).collect();
    let mut written = Vec::new();
    for writing in writing {
        written.extend(writing.await.unwrap().unwrap());
    }
    written.sort_unstable_by_key(|entry| entry.seq);
    assert_eq!(node.accounts.account_log(user, 0, NOTES * 2).await.unwrap(), Some(written));
    let writes = node.revision(user).await;
    assert!(writes <= 20, "{NOTES} notes took {writes} writes");
}

#[tokio::test]
async fn what_was_begun_is_done_when_the_caller_goes_away() {
    let node = Node::new().await;
    let user = new_id();
    let (first, second) = (some_note(user), some_note(user));
    let accounts = node.accounts.clone();
    let given_up = tokio::spawn(async move { accounts.note(user, vec![first]).await });
    while !format!("{:?}", node.accounts.writer).contains("at_work: 1") {
        tokio::task::yield_now().await;
    }
    given_up.abort();
    node.accounts.note(user, vec![second]).await.unwrap();
    let log = node.accounts.account_log(user, 0, 10).await.unwrap().unwrap();
    assert_eq!(log.iter().map(|entry| entry.change).collect::<Vec<_>>(), [first.change, second.change]);
}

#[tokio::test]
async fn processes_that_write_at_once_lose_nothing() {
    const EACH: usize = 40;
    let nodes = [Node::new().await, Node::new().await, Node::new().await];
    let user = new_id();
    let write = |accounts: Arc<Accounts>| async move {
        let mut written = Vec::new();
        for _ in 0..EACH {
            written.extend(accounts.note(user, vec![some_note(user)]).await?);
        }
        Ok::<_, StoreError>(written)
    };
    let writing: Vec<_> = nodes.iter().map(|node| tokio::spawn(write(node.accounts.clone()))).collect();
    let mut written: Vec<AccountEntry> = Vec::new();
    for writing in writing {
        written.extend(writing.await.unwrap().unwrap());
    }
    written.sort_unstable_by_key(|entry| entry.seq);
    assert!(written.iter().map(|entry| entry.seq).eq(1..=(nodes.len() * EACH) as u64));
    assert_eq!(nodes[0].accounts.account_log(user, 0, 1_000).await.unwrap(), Some(written));
}

/// The same, whatever was lost on the way: it is written, and once.
async fn is_written_once(user: UserId, faults: Vec<Fault>) {
    let node = Node::new().await;
    let revision = node.revision(user).await;
    let head = node.accounts.account_head(user).await.unwrap();
    node.accounts.writer.faults.expect(faults);
    let written = node.accounts.note(user, vec![some_note(user), some_note(user)]).await.unwrap();
    assert_eq!(node.accounts.account_log(user, head, 10).await.unwrap(), Some(written));
    assert_eq!(node.revision(user).await, revision + 1);
}

#[tokio::test]
async fn a_lost_answer_is_looked_for() {
    let user = new_id();
    // Once for an account that comes to be, and once for one that is there.
    is_written_once(user, vec![Fault::AnswerLost]).await;
    is_written_once(user, vec![Fault::AnswerLost]).await;
}

#[tokio::test]
async fn a_lost_request_is_sent_again() {
    let user = new_id();
    is_written_once(user, vec![Fault::RequestLost]).await;
    is_written_once(user, vec![Fault::RequestLost, Fault::AnswerLost]).await;
}

#[tokio::test]
async fn a_request_that_was_not_lost_after_all_is_not_done_twice() {
    let user = new_id();
    is_written_once(user, vec![Fault::RequestLost, Fault::OldRequestArrives]).await;
    is_written_once(user, vec![Fault::RequestLost, Fault::OldRequestArrives]).await;
}

/// A note whose request or answer is lost, and others by another process until that is noticed.
async fn overtaken(
    user: UserId,
    fault: impl FnOnce(oneshot::Receiver<()>) -> Fault,
    others: usize,
) -> (Result<Vec<AccountEntry>, StoreError>, Vec<AccountEntry>) {
    let (node, other) = (Node::new().await, Node::new().await);
    let (notice, noticed) = oneshot::channel();
    node.accounts.writer.faults.expect([fault(noticed)]);
    let accounts = node.accounts.clone();
    let lost = tokio::spawn(async move { accounts.note(user, vec![some_note(user)]).await });
    while !node.accounts.writer.faults.have_struck() {
        tokio::task::yield_now().await;
    }
    for _ in 0..others {
        other.accounts.note(user, vec![some_note(user)]).await.unwrap();
    }
    notice.send(()).unwrap();
    let outcome = lost.await.unwrap();
    (outcome, node.accounts.account_log(user, 0, 1_000).await.unwrap().unwrap())
}

#[tokio::test]
async fn a_lost_answer_is_found_also_when_others_have_written_since() {
    let (outcome, log) = overtaken(new_id(), Fault::AnswerLostUntil, 3).await;
    assert_eq!(outcome.unwrap(), log[..1]);
    assert_eq!(log.len(), 4);
}

#[tokio::test]
async fn a_lost_request_is_sent_again_also_when_others_have_written_since() {
    let (outcome, log) = overtaken(new_id(), Fault::RequestLostUntil, 3).await;
    assert_eq!(outcome.unwrap(), log[3..]);
    assert_eq!(log.len(), 4);
}

#[tokio::test]
async fn what_cannot_be_told_is_not_guessed() {
    let others = WRITERS_KNOWN as usize + 1;
    for fault in [Fault::RequestLostUntil, Fault::AnswerLostUntil] {
        let user = new_id();
        let (outcome, log) = overtaken(user, fault, others).await;
        assert!(matches!(outcome, Err(StoreError::Unavailable { .. })), "{outcome:?}");
        assert!((others..=others + 1).contains(&log.len()), "{}", log.len());
        is_written_once(user, vec![]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn zz_measure() {
    let nodes = [Node::new().await, Node::new().await];
    let user = new_id();
    let started = std::time::Instant::now();
    let each = 100;
    let tasks: Vec<_> = (0..32).map(|i| {
        let accounts = nodes[i % std::env::var("N").unwrap().parse::<usize>().unwrap()].accounts.clone();
        tokio::spawn(async move {
            for n in 0..each {
                let t = std::time::Instant::now();
                if let Err(e) = accounts.note(user, vec![some_note(user)]).await {
                    panic!("caller {i} note {n} after {:?}: {e:?}", t.elapsed());
                }
            }
            (i, started.elapsed())
        })
    }).collect();
    for t in tasks { match t.await { Ok((i, e)) => eprintln!("{i} {e:?}"), Err(e) => eprintln!("{e}") } }
    eprintln!("all {:?}, revision {}", started.elapsed(), nodes[0].revision(user).await);
}
