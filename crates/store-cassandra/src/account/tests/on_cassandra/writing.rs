//! The compare-and-set and its failures.

use godwit_domain::model::AccountEntry;
use godwit_domain::ports::StoreError;
use tokio::sync::oneshot;

use super::super::super::log;
use super::super::super::queue::{Operation, Waiting};
use super::super::super::rows::WRITERS_KNOWN;
use super::super::super::snapshot::Snapshot;
use super::super::super::txn::{Stop, Txn};
use super::*;
use crate::test_faults::Fault;

impl Node {
    /// Runs one operation on a snapshot that is kept between calls.
    async fn run<T, F>(&self, user: UserId, known: &mut Option<Snapshot>, run: F) -> T
    where
        T: Send + 'static,
        F: FnMut(&mut Txn<'_>) -> Result<T, Stop> + Send + 'static,
    {
        let (caller, answer) = oneshot::channel();
        let waiting = Waiting {
            operation: "test",
            wants: Vec::new(),
            run,
            before: None,
            result: None,
            changes: false,
            caller,
        };
        let mut operations: [Box<dyn Operation>; 1] = [Box::new(waiting)];
        self.accounts.writer.run(user, &mut operations, known).await.unwrap();
        operations.into_iter().for_each(Operation::answer);
        answer.await.unwrap().unwrap()
    }
}

#[tokio::test]
async fn waiting_operations_are_written_as_one_batch() {
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
async fn an_operation_completes_if_its_caller_gives_up() {
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
async fn concurrent_processes_lose_no_write_and_none_starves() {
    const CALLERS: usize = 24;
    const EACH: usize = 15;
    let nodes = [Node::new().await, Node::new().await, Node::new().await];
    let user = new_id();
    let write = |accounts: Arc<Accounts>| async move {
        let mut written = Vec::new();
        for _ in 0..EACH {
            written.extend(accounts.note(user, vec![some_note(user)]).await?);
        }
        Ok::<_, StoreError>(written)
    };
    let accounts = nodes.iter().map(|node| node.accounts.clone()).cycle().take(CALLERS);
    let writing: Vec<_> = accounts.map(|accounts| tokio::spawn(write(accounts))).collect();
    let mut written: Vec<AccountEntry> = Vec::new();
    for writing in writing {
        written.extend(writing.await.unwrap().unwrap());
    }
    written.sort_unstable_by_key(|entry| entry.seq);
    assert!(written.iter().map(|entry| entry.seq).eq(1..=(CALLERS * EACH) as u64));
    assert_eq!(nodes[0].accounts.account_log(user, 0, 1_000).await.unwrap(), Some(written));
}

#[tokio::test]
async fn an_old_snapshot_is_read_again_before_it_is_trusted() {
    let (node, other) = (Node::new().await, Node::new().await);
    let (user, mut known) = (new_id(), None);
    let head = |txn: &mut Txn<'_>| Ok(txn.head().log_last);
    let (first, last) = (some_note(user), some_note(user));
    node.run(user, &mut known, move |txn| log::write(txn, &first)).await;
    assert!(known.is_some(), "the next one need not read it again");
    other.accounts.note(user, vec![some_note(user)]).await.unwrap();
    assert_eq!(node.run(user, &mut known, head).await, 2);
    other.accounts.note(user, vec![some_note(user)]).await.unwrap();
    assert_eq!(node.run(user, &mut known, move |txn| log::write(txn, &last)).await.seq, 4);
}

/// A note is written exactly once, whatever is lost on the way.
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
async fn the_outcome_of_a_lost_answer_is_read_back() {
    let user = new_id();
    // Once for an account that does not exist yet, and once for an existing one.
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
async fn a_late_request_is_not_applied_twice() {
    let user = new_id();
    is_written_once(user, vec![Fault::RequestLost, Fault::OldRequestArrives]).await;
    is_written_once(user, vec![Fault::RequestLost, Fault::OldRequestArrives]).await;
}

/// A note whose request or answer is lost, while another process writes notes until the loss is noticed.
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
async fn a_lost_answer_is_settled_after_later_writes_of_others() {
    let (outcome, log) = overtaken(new_id(), Fault::AnswerLostUntil, 3).await;
    assert_eq!(outcome.unwrap(), log[..1]);
    assert_eq!(log.len(), 4);
}

#[tokio::test]
async fn a_lost_request_is_repeated_after_writes_of_others() {
    let (outcome, log) = overtaken(new_id(), Fault::RequestLostUntil, 3).await;
    assert_eq!(outcome.unwrap(), log[3..]);
    assert_eq!(log.len(), 4);
}

#[tokio::test]
async fn an_unknown_outcome_is_an_error() {
    let others = WRITERS_KNOWN as usize + 1;
    for fault in [Fault::RequestLostUntil, Fault::AnswerLostUntil] {
        let user = new_id();
        let (outcome, log) = overtaken(user, fault, others).await;
        assert!(matches!(outcome, Err(StoreError::Unavailable { .. })), "{outcome:?}");
        assert!((others..=others + 1).contains(&log.len()), "{}", log.len());
        is_written_once(user, vec![]).await;
    }
}
