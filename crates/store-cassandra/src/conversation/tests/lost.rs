//! Appends whose request or answer is lost. An acknowledged append is in the log once and without gaps, and its
//! messages are found by their client ids.

use godwit_domain::model::Kind;
use godwit_domain::ports::StoreError;
use godwit_protocol::Seq;
use godwit_testkit::batch::Batch;
use tokio::sync::oneshot;

use super::super::append::UNANSWERED_ATTEMPTS_MAX;
use super::super::buckets::BUCKET_ENTRIES;
use super::*;
use crate::test_faults::Fault;

impl Stage {
    fn expect(&self, faults: impl IntoIterator<Item = Fault>) {
        self.conversations().statements.append.faults.expect(faults);
    }

    /// A conversation of two.
    async fn talk(&mut self) -> (ConversationId, UserId) {
        let people = self.people(2);
        (self.create(self.scene.new_group(Kind::Group, &people)).await, people[0])
    }

    /// Appends three entries, two of them messages, and checks that the log has them exactly once.
    async fn is_appended_once(&mut self, id: ConversationId, sender: UserId, faults: Vec<Fault>) {
        let said = format!("{faults:?}");
        self.scene.advance_ms(10);
        let [first, second] = [self.scene.word(), self.scene.word()];
        let batch = self.scene.batch(id).await.unwrap();
        let append = batch.text(sender, &first).filler().text(sender, &second).build();
        self.know_of(&append);
        self.expect(faults);
        assert!(matches!(self.model.append(&append).await, Ok(AppendOutcome::Appended(_))));
        let outcome = self.store.append(&append).await.unwrap();
        assert!(matches!(outcome, AppendOutcome::Appended(_)), "{said}: {outcome:?}");
        self.load(id).await;
    }

    fn know_of(&mut self, append: &Append) {
        let messages = append.entries.iter().filter(|entry| entry.shown);
        self.known.messages.extend(messages.map(|entry| MessageId::new(entry.id)));
        let client_ids = append.entries.iter().filter_map(|entry| Some(entry.message()?.client_id.clone()));
        self.known.client_ids.extend(client_ids);
    }
}

/// Fault sequences after which an append still succeeds.
fn mishaps() -> Vec<Vec<Fault>> {
    vec![
        vec![Fault::AnswerLost],
        vec![Fault::RequestLost],
        vec![Fault::RequestLost, Fault::AnswerLost],
        vec![Fault::RequestLost, Fault::RequestLost, Fault::RequestLost],
        vec![Fault::RequestLost, Fault::OldRequestArrives],
    ]
}

#[tokio::test]
async fn lost_requests_and_answers_append_once() {
    let mut stage = Stage::new().await;
    let (id, sender) = stage.talk().await;
    for faults in mishaps() {
        stage.is_appended_once(id, sender, faults).await;
    }
    stage.compare().await;
}

#[tokio::test]
async fn lost_requests_and_answers_append_once_at_the_start_of_a_bucket() {
    // Only the first and the last one, because filling a bucket takes long.
    let mut mishaps = mishaps();
    for faults in [mishaps.remove(0), mishaps.pop().unwrap()] {
        let mut stage = Stage::new().await;
        let (id, sender) = stage.talk().await;
        let mut state = stage.load(id).await;
        while state.head.seq.get() < BUCKET_ENTRIES - 1 {
            let mut batch = Batch::after(stage.scene.ids(), &state);
            for _ in 0..(BUCKET_ENTRIES - 1 - state.head.seq.get()).min(1_000) {
                batch = batch.filler();
            }
            let append = batch.build();
            append.effects.apply_to(&mut state);
            stage.append(append, Reached::States).await;
        }
        stage.is_appended_once(id, sender, faults).await;
        let last = stage.store.entries(id, Seq::new(BUCKET_ENTRIES - 2), 10).await.unwrap();
        let seqs: Vec<u64> = last.iter().map(|item| item.entry.seq.get()).collect();
        assert_eq!(seqs, (BUCKET_ENTRIES - 1..BUCKET_ENTRIES + 3).collect::<Vec<_>>());
        for (place, client_id) in stage.known.client_ids.iter().enumerate() {
            let sent = stage.store.sent_as(id, sender, client_id).await.unwrap();
            assert_eq!(sent, Some(Seq::new(BUCKET_ENTRIES + 2 * place as u64)));
        }
    }
}

/// An append whose request or answer is lost, and another node's append before the loss is noticed: both
/// outcomes.
async fn overtaken(fault: impl FnOnce(oneshot::Receiver<()>) -> Fault) -> [AppendOutcome; 2] {
    let mut stage = Stage::new().await;
    let (id, sender) = stage.talk().await;
    let other = open(&stage.cassandra).await;
    let first = stage.scene.batch(id).await.unwrap().text(sender, "first").build();
    let (notice, noticed) = oneshot::channel();
    stage.expect([fault(noticed)]);
    let lost = tokio::spawn({
        let (store, first) = (stage.store.clone(), first.clone());
        async move { store.append(&first).await }
    });
    while !stage.conversations().statements.append.faults.have_struck() {
        tokio::task::yield_now().await;
    }
    // The other node has read the log by now.
    let state = other.load(id).await.unwrap().unwrap();
    let second = Batch::after(stage.scene.ids(), &state).text(sender, "second").build();
    let second_outcome = other.append(&second).await.unwrap();
    notice.send(()).unwrap();
    let outcome = lost.await.unwrap().unwrap();
    for append in [&first, &second] {
        stage.know_of(append);
    }
    // The model contains exactly the acknowledged appends.
    for (append, outcome) in [(&first, &outcome), (&second, &second_outcome)] {
        if matches!(outcome, AppendOutcome::Appended(_)) {
            assert!(matches!(stage.model.append(append).await, Ok(AppendOutcome::Appended(_))));
        }
    }
    stage.load(id).await;
    stage.compare().await;
    [outcome, second_outcome]
}

#[tokio::test]
async fn a_lost_answer_is_settled_after_an_append_of_another_node() {
    let outcomes = overtaken(Fault::AnswerLostUntil).await;
    assert!(matches!(outcomes, [AppendOutcome::Appended(_), AppendOutcome::Appended(_)]), "{outcomes:?}");
}

#[tokio::test]
async fn a_lost_request_writes_nothing_after_an_append_of_another_node() {
    let outcomes = overtaken(Fault::RequestLostUntil).await;
    assert!(matches!(outcomes, [AppendOutcome::HeadMoved, AppendOutcome::Appended(_)]), "{outcomes:?}");
}

#[tokio::test]
async fn an_unanswered_append_is_an_error_and_can_be_repeated() {
    let mut stage = Stage::new().await;
    let (id, sender) = stage.talk().await;
    stage.expect((0..UNANSWERED_ATTEMPTS_MAX).map(|_| Fault::RequestLost));
    let append = stage.scene.batch(id).await.unwrap().text(sender, "never").build();
    let outcome = stage.store.append(&append).await;
    assert!(matches!(outcome, Err(StoreError::Unavailable { .. })), "{outcome:?}");
    stage.is_appended_once(id, sender, vec![]).await;
    stage.compare().await;
}
