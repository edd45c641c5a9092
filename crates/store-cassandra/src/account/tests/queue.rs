//! The queue: which caller starts a worker, and which ones wait.

use std::sync::Arc;

use godwit_domain::ports::StoreError;
use tokio::sync::oneshot;

use super::super::queue::{Full, Operation, Queues, Waiting};
use super::super::txn::{Stop, Txn};
use super::memory::USER;

type Answer = oneshot::Receiver<Result<(), StoreError>>;

fn operation() -> (Box<dyn Operation>, Answer) {
    let (caller, answer) = oneshot::channel();
    let run = |_: &mut Txn<'_>| Ok::<_, Stop>(());
    let waiting = Waiting {
        operation: "test",
        wants: Vec::new(),
        run,
        before: None,
        result: None,
        changes: false,
        caller,
    };
    (Box::new(waiting), answer)
}

#[test]
fn one_worker_takes_the_operations_of_all_callers() {
    let queues = Arc::new(Queues::default());
    let mut turn = queues.join(USER, operation().0).unwrap().expect("nobody works yet");
    for _ in 0..100 {
        assert!(queues.join(USER, operation().0).unwrap().is_none(), "somebody works already");
    }
    assert_eq!(turn.next().map(|together| together.len()), Some(64));
    assert_eq!(turn.next().map(|together| together.len()), Some(37));
    assert!(turn.next().is_none());
    let mut next = queues.join(USER, operation().0).unwrap().expect("the turn is over");
    drop(turn);
    assert!(queues.join(USER, operation().0).unwrap().is_none(), "the end of one turn does not end the next");
    assert_eq!(next.next().map(|together| together.len()), Some(2));
}

#[test]
fn a_full_queue_refuses_operations() {
    let queues = Arc::new(Queues::default());
    let _turn = queues.join(USER, operation().0).unwrap();
    let refused = (1..2_000).find(|_| matches!(queues.join(USER, operation().0), Err(Full)));
    assert_eq!(refused, Some(1_024));
}

#[test]
fn an_interrupted_worker_fails_the_waiting_callers() {
    let queues = Arc::new(Queues::default());
    let (first, mut of_first) = operation();
    let (second, mut of_second) = operation();
    let turn = queues.join(USER, first).unwrap();
    assert!(queues.join(USER, second).unwrap().is_none());
    drop(turn);
    for answer in [&mut of_first, &mut of_second] {
        assert!(matches!(answer.try_recv(), Err(oneshot::error::TryRecvError::Closed)));
    }
    assert!(queues.join(USER, operation().0).unwrap().is_some(), "the next one can begin");
}
