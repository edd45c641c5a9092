//! The bytes of the disk format. When this test fails, the format has changed, and existing data cannot be read
//! any more. Give the record a new version instead, and read both.

mod account;
mod conversation;
mod log;
mod personal;
mod transfer;

use godwit_domain::model::{ClientId, Media, MessageBody};
use godwit_protocol::messages::MessageKind;
use godwit_protocol::{MessageId, Timestamp};

use super::{Site, scene};
use serde::Deserialize;

use crate::engine::Bytes;
use crate::keys;
use crate::read::Read;
use crate::records::Record;

const AT: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const ID: u64 = 0x0080_0000_0000_0001;

/// The name of a record, and its bytes.
type Sample = (String, Bytes);

fn sample(name: &str, record: &impl Record) -> Sample {
    (name.to_owned(), record.encode())
}

/// Decodes a sample.
fn read<'a, R: Record + Deserialize<'a>>((name, bytes): &'a Sample) -> R {
    R::decode(name.as_bytes(), bytes).unwrap()
}

fn media() -> Box<Media> {
    Box::new(Media {
        url: "https://m".into(),
        content_type: "image/png".into(),
        size_bytes: 300,
        name: Some("n".into()),
        width: Some(1),
        height: None,
        duration_ms: Some(2),
    })
}

fn bodies() -> [(&'static str, MessageBody); 7] {
    [
        ("text", MessageBody::Text("hi".into())),
        ("image", MessageBody::Image { media: media(), caption: Some("c".into()) }),
        ("file", MessageBody::File { media: media(), caption: None }),
        ("voice", MessageBody::Voice { media: media() }),
        ("system", MessageBody::System { event: "app.x".into(), data: None, text: None }),
        (
            "system with data",
            MessageBody::System { event: "app.x".into(), data: Some("[1]".into()), text: Some("t".into()) },
        ),
        ("erased", MessageBody::Erased(MessageKind::File)),
    ]
}

#[test]
fn the_format_does_not_change_unnoticed() {
    let parts = [
        account::samples(),
        conversation::samples(),
        log::samples(),
        personal::samples(),
        transfer::samples(),
    ];
    let bytes: String =
        parts.concat().iter().map(|(name, bytes)| format!("{name}: {}\n", keys::display(bytes))).collect();
    assert_eq!(bytes, include_str!("golden.txt"));
}

#[tokio::test]
async fn a_message_is_small() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let chat = s.chat().await.unwrap();
    let client_id = "c0ffee00-0000-4000-8000-000000000000";
    let body = MessageBody::Text("x".repeat(200).into());
    let sent = s.batch(chat.id).await.unwrap().body(chat.ada, client_id, body).build();
    let (id, seq) = (MessageId::new(sent.entries[0].id), sent.entries[0].seq);
    s.append(sent).await.unwrap();
    let view = store.engine.view();
    let rows = [
        keys::chunk(chat.id, true, seq),
        keys::client_id(chat.id, chat.ada, &ClientId::from_stored(client_id)),
        keys::location(id),
    ];
    let bytes = |key: &keys::Key| key.bytes.len() + view.bytes(key).unwrap().unwrap().len();
    // A conversation has the other rows of a send only once, however many messages it has.
    assert!(rows.iter().map(bytes).sum::<usize>() <= 364);
}
