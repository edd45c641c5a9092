use std::time::Duration;

use godwit_protocol::Problem;

use super::*;
use crate::Draft;
use crate::draft::addressed;

type Reply = oneshot::Receiver<Result<Message, Error>>;

const A: ConversationId = ConversationId::new(1);
const B: ConversationId = ConversationId::new(2);

fn give(outbox: &mut Outbox, id: ConversationId, client_id: &str) -> Reply {
    let (reply, answer) = oneshot::channel();
    let message = addressed(id, Draft::text("x").client_id(client_id));
    outbox.push(Queued { conversation_id: id, message, reply });
    answer
}

fn next(outbox: &mut Outbox) -> Option<String> {
    outbox.next(Instant::now()).map(|(_, message)| message.client_id)
}

fn refusal() -> Error {
    let problem = r#"{"type":"x","title":"x","status":403,"code":"blocked","temporary":false}"#;
    Error::Api(Box::new(serde_json::from_str::<Problem>(problem).unwrap()))
}

#[test]
fn each_conversation_has_one_message_in_flight() {
    let mut outbox = Outbox::new(10, 10);
    let mut replies = ["a1", "a2"].map(|name| give(&mut outbox, A, name));
    let _b = give(&mut outbox, B, "b1");
    assert_eq!(
        [next(&mut outbox), next(&mut outbox), next(&mut outbox)],
        [Some("a1".into()), Some("b1".into()), None]
    );
    outbox.settle(A, Err(refusal()));
    assert!(replies[0].try_recv().unwrap().is_err());
    assert_eq!(next(&mut outbox).as_deref(), Some("a2"));
}

#[test]
fn messages_in_flight_are_retried_in_order_after_a_disconnect() {
    let mut outbox = Outbox::new(10, 10);
    let _replies = ["a1", "a2"].map(|name| give(&mut outbox, A, name));
    assert_eq!(next(&mut outbox).as_deref(), Some("a1"));
    outbox.disconnected();
    assert_eq!(outbox.in_flight(), 0);
    assert_eq!((next(&mut outbox).as_deref(), next(&mut outbox)), (Some("a1"), None));
}

#[test]
fn a_failed_message_waits_and_nothing_overtakes_it() {
    let mut outbox = Outbox::new(10, 10);
    let _replies = ["a1", "a2"].map(|name| give(&mut outbox, A, name));
    next(&mut outbox);
    let (start, pause) = (Instant::now(), Duration::from_secs(1_000));
    outbox.retry(A, |failures| start + pause * failures);
    assert_eq!((next(&mut outbox), outbox.next_at()), (None, Some(start + pause)));
    let (_, again) = outbox.next(start + pause).unwrap();
    assert_eq!((again.client_id.as_str(), outbox.next_at()), ("a1", None));
    outbox.retry(A, |failures| start + pause * failures);
    assert_eq!(outbox.next_at(), Some(start + pause * 2), "it waits longer each time");
}

#[test]
fn both_limits_are_enforced() {
    let mut outbox = Outbox::new(3, 2);
    let replies: Vec<Reply> =
        (1..=3).map(|id| give(&mut outbox, ConversationId::new(id), &id.to_string())).collect();
    assert!(!outbox.has_room());
    assert_eq!(std::iter::from_fn(|| next(&mut outbox)).count(), 2);
    outbox.settle(ConversationId::new(1), Err(refusal()));
    assert!(outbox.has_room());
    assert_eq!(next(&mut outbox).as_deref(), Some("3"));
    drop(replies);
}

#[test]
fn a_message_whose_caller_gave_up_is_not_sent() {
    let mut outbox = Outbox::new(10, 10);
    drop(give(&mut outbox, A, "a1"));
    let _reply = give(&mut outbox, A, "a2");
    assert_eq!(next(&mut outbox).as_deref(), Some("a2"));
}

#[test]
fn at_the_end_all_callers_get_an_error() {
    let mut outbox = Outbox::new(10, 10);
    let replies = ["a1", "a2"].map(|name| give(&mut outbox, A, name));
    next(&mut outbox);
    outbox.fail_all(refusal);
    for mut reply in replies {
        assert!(reply.try_recv().unwrap().is_err());
    }
}
