//! Validation of messages: accepted and refused drafts.

use godwit_protocol::limits::{
    EVENT_DATA_BYTES_MAX, EVENT_DATA_DEPTH_MAX, MENTIONS_PER_MESSAGE_MAX, PREVIEW_CHARS_MAX,
    REACTION_CHARS_MAX, TEXT_CHARS_MAX,
};
use godwit_protocol::messages::MessageKind;
use serde_json::Value;

use super::*;

fn request(kind: MessageKind) -> wire::SendMessage {
    wire::SendMessage {
        conversation_id: None,
        client_id: "c1".into(),
        kind: Some(kind),
        text: None,
        media: None,
        event: None,
        data: None,
        reply_to: None,
        forwarded_from: None,
    }
}

fn media() -> wire::Media {
    wire::Media {
        url: "https://media.example/a.png".into(),
        content_type: "image/png".into(),
        size_bytes: 10,
        name: None,
        width: None,
        height: None,
        duration_ms: None,
    }
}

fn refused_field(request: wire::SendMessage) -> std::borrow::Cow<'static, str> {
    Draft::parse(request).unwrap_err().field
}

#[test]
fn each_kind_has_its_parts_and_no_others() {
    assert_eq!(refused_field(request(MessageKind::Text)), "text");
    assert_eq!(refused_field(request(MessageKind::Image)), "media");
    assert_eq!(refused_field(request(MessageKind::System)), "event");
    assert_eq!(
        refused_field(wire::SendMessage { media: Some(media().into()), ..request(MessageKind::Text) }),
        "media"
    );
    assert_eq!(
        refused_field(wire::SendMessage { event: Some("app.x".into()), ..request(MessageKind::Text) }),
        "event"
    );
    assert_eq!(
        refused_field(wire::SendMessage { media: Some(media().into()), ..request(MessageKind::Voice) }),
        "media.duration_ms"
    );
    let image = wire::SendMessage {
        media: Some(media().into()),
        text: Some("hi".into()),
        ..request(MessageKind::Image)
    };
    assert_eq!(Draft::parse(image).unwrap().body.unwrap().text(), Some("hi"));
}

#[test]
fn texts_are_bounded_in_characters() {
    let with_text =
        |text: String| Draft::parse(wire::SendMessage { text: Some(text), ..request(MessageKind::Text) });
    assert!(with_text("x".repeat(TEXT_CHARS_MAX)).is_ok());
    assert!(with_text("x".repeat(TEXT_CHARS_MAX + 1)).is_err());
    assert!(with_text("😀".repeat(TEXT_CHARS_MAX)).is_ok());
    assert!(with_text("😀".repeat(TEXT_CHARS_MAX + 1)).is_err());
    for wrong in ["", " \n\t ", "a\0b", "a\u{7}b"] {
        assert!(with_text(wrong.into()).is_err(), "{wrong:?} was taken for a text");
    }
    assert!(with_text("two\nlines\t\u{202e}and RTL".into()).is_ok());
}

#[test]
fn clients_cannot_send_events_of_the_server() {
    for wrong in ["member.joined", "app.", "app..x", "app.X", "application.x", ""] {
        let request = wire::SendMessage { event: Some(wrong.into()), ..request(MessageKind::System) };
        assert_eq!(refused_field(request), "event", "{wrong:?}");
    }
    let request = wire::SendMessage { event: Some("app.call.ended".into()), ..request(MessageKind::System) };
    assert_eq!(Draft::parse(request).unwrap().body.unwrap().event(), Some("app.call.ended"));
}

#[test]
fn media_are_references_with_a_plain_type() {
    for (url, content_type) in [
        ("javascript:alert(1)", "image/png"),
        ("https://", "image/png"),
        ("https://a b", "image/png"),
        ("https://a", "image"),
        ("https://a", "image/png\r\nx: y"),
    ] {
        let media = wire::Media { url: url.into(), content_type: content_type.into(), ..media() };
        assert!(
            Draft::parse(wire::SendMessage { media: Some(media.into()), ..request(MessageKind::File) })
                .is_err()
        );
    }
}

#[test]
fn previews_are_one_short_line() {
    let preview = |text: &str| MessageBody::Text(text.into()).preview();
    assert_eq!(&*preview("two\n  lines "), "two lines");
    // A direction that a preview begins would not end with it.
    assert_eq!(&*preview("a \u{202e}gnp.exe\u{202c} \u{2066} \u{2067}b\u{2069}"), "a gnp.exe b");
    assert_eq!(&*preview("\u{202e} a \u{200f}שלום"), "a \u{200f}שלום");
    let long = preview(&"ñandú ".repeat(100));
    assert!(long.chars().count() <= PREVIEW_CHARS_MAX && long.ends_with('…'));
    for (unit, more) in [("x", "x"), ("é", "é"), ("x", "é"), ("x", "\n\nx"), ("é", "  x")] {
        let exact = unit.repeat(PREVIEW_CHARS_MAX);
        assert_eq!(*preview(&exact), *exact);
        let cut = format!("{}…", unit.repeat(PREVIEW_CHARS_MAX - 1));
        assert_eq!(*preview(&format!("{exact}{more}")), *cut, "{unit} and {more:?}");
    }
    let before = "a".repeat(PREVIEW_CHARS_MAX - 2);
    assert_eq!(*preview(&format!("{before}  b")), *format!("{before} b"));
    assert_eq!(*preview(&format!("{before} b c")), *format!("{before}…"));
}

#[test]
fn mentions_begin_a_word() {
    assert_eq!(called_names("@ada, have you seen @Bob.B? @ada"), ["ada", "Bob.B"]);
    assert_eq!(called_names("write to me@example.org or @@all."), ["all"]);
    assert_eq!(called_names("(@eve) ñ@no @ @ü"), ["eve"]);
    let many = (0..100).map(|i| format!("@u{i}")).collect::<Vec<_>>().join(" ");
    assert_eq!(called_names(&many).len(), MENTIONS_PER_MESSAGE_MAX);
}

#[test]
fn reactions_are_short_and_visible() {
    for right in ["👍", "👩🏽‍🚀", "ok", "❤️"] {
        assert!(parse_reaction(right).is_ok(), "{right}");
    }
    for wrong in ["", " ", "a b", "\u{7}", "\u{202e}ko", "\u{200b}", &"x".repeat(REACTION_CHARS_MAX + 1)] {
        assert!(parse_reaction(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn the_data_of_an_event_is_bounded() {
    let parse = |data: Value| {
        let event = Some("app.x".into());
        Draft::parse(wire::SendMessage { event, data: Some(data), ..request(MessageKind::System) })
    };
    let nested = |depth| (0..depth).fold(Value::from(1), |inner, _| Value::from(vec![inner]));
    assert!(parse(nested(EVENT_DATA_DEPTH_MAX)).is_ok());
    assert_eq!(parse(nested(EVENT_DATA_DEPTH_MAX + 1)).unwrap_err().field, "data");
    // The JSON string includes two quotation marks.
    assert!(parse(Value::from("x".repeat(EVENT_DATA_BYTES_MAX - 2))).is_ok());
    assert_eq!(parse(Value::from("x".repeat(EVENT_DATA_BYTES_MAX - 1))).unwrap_err().field, "data");
    let text = wire::SendMessage {
        text: Some("hi".into()),
        data: Some(Value::from(1)),
        ..request(MessageKind::Text)
    };
    assert_eq!(Draft::parse(text).unwrap_err().field, "data");
    let body = parse(serde_json::json!({"b": [1, null], "a": "ä"})).unwrap().body.unwrap();
    assert_eq!(body.data(), Some(r#"{"a":"ä","b":[1,null]}"#));
    assert_eq!(body.into_parts().data, Some(serde_json::json!({"a": "ä", "b": [1, null]})));
}
