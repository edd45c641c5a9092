use godwit_protocol::messages::{Change, LogEntry, Message};
use godwit_protocol::socket::EntryEvent;
use godwit_protocol::{Seq, Timestamp};

use super::*;

const STAMP: Stamp = Stamp { stream: 3, number: 9, sent_ns: 77 };

fn text() -> String {
    let mut text = Vec::new();
    STAMP.write(&mut text, 50);
    String::from_utf8(text).unwrap()
}

/// As the server encodes it.
fn message() -> Message {
    let message = serde_json::json!({
        "id": "70", "conversation_id": "5", "seq": 41, "sender_id": "6", "client_id": "run-9", "kind": "text",
        "text": text(), "created_at": "2026-01-01T00:00:00.000Z", "status": "SENT",
    });
    serde_json::from_value(message).unwrap()
}

fn godwit() -> Godwit {
    let mut godwit = Godwit::new("127.0.0.1:80".parse().unwrap(), "secret", 2, "run".into());
    godwit.users = [6, 7].map(|id| Some(UserId::new(id))).to_vec();
    godwit
}

fn read(frame: &[u8]) -> anyhow::Result<Vec<Incoming>> {
    let mut came = Vec::new();
    godwit().read(0, frame, &mut Vec::new(), &mut |incoming| came.push(incoming))?;
    Ok(came)
}

#[test]
fn frames_create_a_conversation_and_send_messages() {
    let mut godwit = godwit();
    let conversation = godwit.plan_conversation(&[0, 1]);
    let mut out = Vec::new();
    assert_eq!(godwit.join(conversation, 1, None, &mut out).unwrap(), Done::Yes);
    assert_eq!(godwit.join(conversation, 0, None, &mut out).unwrap(), Done::NotYet);
    let asked: CommandFrame = serde_json::from_slice(&out[6..]).unwrap();
    assert!(
        matches!(asked.command, Command::OpenConversation(CreateConversation::Direct { user_id }) if user_id.get() == 7)
    );

    godwit.conversations[0].middle = br#","send":{"conversation_id":"5","client_id":"run-"#.to_vec();
    out.clear();
    godwit.send(conversation, 0, 1_234, text().as_bytes(), &mut out);
    let sent: CommandFrame = serde_json::from_slice(&out[8..]).unwrap();
    let Command::Send(send) = sent.command else { panic!("{sent:?}") };
    assert_eq!((sent.id, &*send.client_id, send.text), (1_234, "run-1234", Some(text())));
}

#[test]
fn other_commands_have_the_format_of_the_protocol() {
    let mut godwit = godwit();
    let conversation = godwit.plan_conversation(&[0, 1]);
    godwit.conversations[0].id = Some(ConversationId::new(5));
    for (command, name) in [
        (Godwit::type_in as fn(&Godwit, u32, &mut Vec<u8>), "typing"),
        (|godwit, conversation, out| godwit.mark_read(conversation, 41, out), "cursor"),
        (|godwit, conversation, out| godwit.read_log(conversation, 41, out), "log"),
    ] {
        let mut out = Vec::new();
        command(&godwit, conversation, &mut out);
        let understood: CommandFrame = serde_json::from_slice(&out[6..]).unwrap();
        assert_eq!(understood.command.name(), name);
    }
}

#[test]
fn deliveries_and_acknowledgements_are_recognised() {
    let entry = LogEntry {
        seq: Seq::new(41),
        at: Timestamp::from_millis(0),
        change: Change::Message { message: Box::new(message()) },
    };
    let event = Event::Entry(EntryEvent { conversation_id: ConversationId::new(5), entry });
    let delivered = Incoming::Delivered { stamp: STAMP, place: Some(41) };
    assert_eq!(read(&serde_json::to_vec(&event).unwrap()).unwrap(), [delivered]);
    let reply = serde_json::to_vec(&OkFrame { id: 1_234, ok: message() }).unwrap();
    assert_eq!(read(&reply).unwrap(), [Incoming::Acknowledged { ticket: 1_234 }]);
}

#[test]
fn other_frames_are_ignored() {
    for other in [
        r#"{"entry":{"conversation_id":"5","seq":1,"at":"2026-01-01T00:00:00Z","type":"member_left","user_id":"6"}}"#,
        r#"{"typing":{"conversation_id":"5","user_id":"6","typing":true,"ttl_ms":6000}}"#,
        r#"{"id":4294967296,"ok":{}}"#,
        r#"{"account":{"seq":1}}"#,
    ] {
        assert_eq!(read(other.as_bytes()).unwrap(), [], "{other}");
    }
}

#[test]
fn a_refusal_ends_the_run() {
    for refused in [
        r#"{"id":7,"error":{"code":"forbidden"}}"#,
        r#"{"error":{"code":"invalid_request"}}"#,
        r#"{"reconnect":{"after_ms":5}}"#,
    ] {
        let error = read(refused.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(refused), "{error}");
    }
}
