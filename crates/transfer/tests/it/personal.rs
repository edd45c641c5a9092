//! Everything that users keep for themselves is transferred. Random operations may not produce any of it.

use godwit_testkit::replay::check_against_model;
use godwit_testkit::replay::ops::{ExpectedHead, Marks, NewSettings, Op, Stage};
use godwit_testkit::replay::steps::{Say, Step};

use crate::sites::{Folder, Journey, When, with_everybody};

const GROUP: u8 = 0;

fn append(steps: &[Step]) -> Op {
    Op::Append { conversation: GROUP, head: ExpectedHead::Right, steps: steps.to_vec() }
}

fn says(by: u8, client_id: u8) -> Step {
    Step::Say { by, client_id, how: Say::Plainly }
}

/// A group of the first three users, in which each has hidden, starred and set something. The cursor of the
/// third has never moved, so only these traces show that they were a member.
fn kept() -> Vec<Op> {
    let mut ops = vec![
        Op::CreateGroup {
            by: 0,
            others: vec![1, 2],
            channel: false,
            large: false,
            from_joining: false,
            key: None,
        },
        append(&[says(0, 0), says(1, 1), says(0, 2)]),
        Op::MoveCursors { conversation: GROUP, marks: vec![(1, Marks { delivered: 2, read: 1 })] },
    ];
    for user in 0..3 {
        let change = NewSettings {
            pin: Some(Some(1)),
            archived: None,
            muted: Some(true),
            marked_unread: Some(true),
            draft: Some(Some(user)),
        };
        ops.extend([
            Op::Hide { user, conversation: GROUP, seq: user + 1 },
            Op::Star { user, message: user },
            Op::ChangeSettings { conversation: GROUP, member: user, change },
            Op::Schedule { user, conversation: GROUP, client_id: user, in_ms: 1_000 },
            Op::Block { user, other: 4 },
        ]);
    }
    ops.push(Op::ReplaceScheduled {
        scheduled: 0,
        expected: Stage::Waiting,
        with: Some((Stage::Failed, 5)),
        noted: true,
    });
    ops
}

/// The operations of [`kept`], and then one of the members leaves.
pub(crate) fn kept_also_by_who_left(user: u8) -> Vec<Op> {
    let mut ops = kept();
    ops.push(append(&[Step::Leave { user }]));
    ops
}

async fn comes_along(when: When, ops: Vec<Op>) {
    let journey = Journey::new(when, || Box::new(Folder::new()));
    let mut ops = with_everybody(ops);
    ops.push(Op::Reopen);
    check_against_model(&journey, &ops).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn personal_data_of_members_is_transferred() {
    comes_along(When::Then, kept()).await;
    comes_along(When::Before, kept()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hidden_messages_of_former_members_are_transferred() {
    for user in [1, 2] {
        let mut ops = kept_also_by_who_left(user);
        comes_along(When::Then, ops.clone()).await;
        comes_along(When::Before, ops.clone()).await;
        // When they come back it is still hidden.
        ops.extend([Op::Reopen, append(&[Step::Add { by: 0, user, crosses: false }])]);
        comes_along(When::Then, ops).await;
    }
}
