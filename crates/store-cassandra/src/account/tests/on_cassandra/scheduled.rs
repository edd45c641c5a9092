//! Scheduled messages and their rows in the index of due items.

use godwit_domain::account::{ReplaceScheduled, ScheduleOutcome};
use godwit_domain::model::{ClientId, Draft, MessageBody, Scheduled, ScheduledStage};
use godwit_protocol::{ConversationId, ErrorCode, ScheduledId};

use super::*;
use crate::due::{Due, DueItem, DueKind};

const MAX: usize = 10;

struct Stage {
    node: Node,
    due: Arc<Due>,
    user: UserId,
}

impl Stage {
    async fn new() -> Self {
        let node = Node::new().await;
        let due = node.accounts.beside.due.clone();
        Self { node, due, user: new_id() }
    }

    fn message(&self, send_at: Timestamp) -> Scheduled {
        Scheduled {
            id: ScheduledId::new(new_id().get()),
            user_id: self.user,
            conversation: ConversationId::new(1),
            send_at,
            draft: Draft {
                client_id: ClientId::from_stored(word()),
                body: Some(MessageBody::Text("later".into())),
                reply_to: None,
                forwarded_from: None,
            },
            stage: ScheduledStage::Waiting,
        }
    }

    async fn schedule(&self, message: &Scheduled) -> ScheduleOutcome {
        let command = AccountCommand::Schedule {
            scheduled: Box::new(message.clone()),
            note: note(self.user, AccountChange::ScheduledUpdated(message.id)),
            scheduled_max: MAX,
        };
        self.node.change(self.user, command).await.into()
    }

    async fn replace(&self, expected: &Scheduled, with: &Scheduled) -> ReplaceScheduled {
        let (expected, with) = (Box::new(expected.clone()), Some(Box::new(with.clone())));
        let command = AccountCommand::ReplaceScheduled { expected, with, note: None };
        self.node.change(self.user, command).await.into()
    }

    /// The due messages of this user.
    async fn due(&self, now: Timestamp) -> Vec<ScheduledId> {
        let due = self.node.accounts.due_scheduled(now, 10_000).await.unwrap();
        due.into_iter().filter(|(user, _)| *user == self.user).map(|(_, id)| id).collect()
    }

    /// The number of index rows of this user, stale ones included.
    async fn indexed(&self) -> usize {
        let items = self.due.due(DueKind::Scheduled, NOON.plus_millis(1_000_000_000), 10_000).await.unwrap();
        items.iter().filter(|item| item.owner == self.user.get()).count()
    }
}

#[tokio::test]
async fn a_message_is_due_at_its_latest_time() {
    let stage = Stage::new().await;
    let (soon, later) = (NOON.plus_millis(1_000), NOON.plus_millis(5_000_000));
    let message = stage.message(soon);
    assert!(matches!(stage.schedule(&message).await, ScheduleOutcome::Scheduled(_)));
    assert_eq!(stage.schedule(&message).await, ScheduleOutcome::Repeated(message.clone()));
    assert_eq!((stage.due(NOON).await, stage.due(soon).await), (vec![], vec![message.id]));
    // Postponed and moved back.
    let put_off = Scheduled { send_at: later, ..message.clone() };
    for _ in 0..2 {
        stage.replace(&message, &put_off).await;
        assert_eq!((stage.due(soon).await, stage.due(later).await), (vec![], vec![message.id]));
        assert_eq!(stage.indexed().await, 1);
        stage.replace(&put_off, &message).await;
        assert_eq!(stage.due(soon).await, [message.id]);
    }
    let sending = Scheduled { stage: ScheduledStage::Sending, ..message.clone() };
    assert_eq!(stage.replace(&message, &sending).await, ReplaceScheduled::Replaced(None));
    assert_eq!(stage.replace(&message, &sending).await, ReplaceScheduled::Changed);
    assert_eq!(stage.due(soon).await, [message.id], "whoever finds it goes on");
    let failed = Scheduled { stage: ScheduledStage::Failed(ErrorCode::Forbidden), ..message.clone() };
    stage.replace(&sending, &failed).await;
    assert_eq!((stage.due(soon).await, stage.indexed().await), (vec![], 0));
    stage.replace(&failed, &message).await;
    assert_eq!(stage.due(soon).await, [message.id]);
}

#[tokio::test]
async fn stale_index_rows_are_removed_and_early_ones_stay() {
    let stage = Stage::new().await;
    let message = stage.message(NOON);
    assert!(matches!(stage.schedule(&message).await, ScheduleOutcome::Scheduled(_)));
    let revision = stage.node.revision(stage.user).await.cast_unsigned();
    let item = |id| DueItem { at: NOON, owner: stage.user.get(), item: id };
    // Left by two crashes: before the account had the message, and before it was removed from the account.
    stage.due.put(DueKind::Scheduled, item(1), revision).await.unwrap();
    stage
        .due
        .put(DueKind::Scheduled, DueItem { at: NOON.plus_millis(1), ..item(message.id.get()) }, revision)
        .await
        .unwrap();
    // This message is about to be written to the account.
    stage.due.put(DueKind::Scheduled, item(2), revision + 1).await.unwrap();
    assert_eq!(stage.due(NOON.plus_millis(10)).await, [message.id]);
    assert_eq!(stage.indexed().await, 2);
}
