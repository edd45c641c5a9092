use godwit_client::Draft;
use godwit_client::protocol::ErrorCode;
use godwit_client::protocol::limits::FRAME_BYTES_MAX;
use godwit_client::protocol::socket::CloseCode;
use serde_json::json;

use super::assert_error;
use crate::people::Person;
use crate::process::ServerProcess;
use crate::raw_http::RawHttp;
use crate::raw_socket::{
    BINARY, CLOSE, CONTINUATION, Ended, PING, PONG, RawSocket, TEXT, encode, encode_unmasked, header,
};
use crate::unlimited::unlimited;

/// Consecutive invalid frames that the server answers before it closes.
const BAD_FRAMES_MAX: usize = 100;

async fn signed_in() -> (ServerProcess, Person, RawSocket) {
    let server = unlimited().await;
    let ada = Person::register(&server.url(), "ada").await;
    let socket = RawSocket::open(server.address(), ada.http.access_token().as_deref()).await;
    (server, ada, socket)
}

#[tokio::test]
async fn invalid_frames_are_answered_and_keep_the_connection() {
    let (server, _ada, mut socket) = signed_in().await;
    let deep = format!("{{\"id\":9,\"ping\":{}", "[".repeat(30_000));
    let long_name = format!("{{\"id\":9,\"{}\":{{}}}}", "x".repeat(60_000));
    let long_kind =
        format!("{{\"id\":9,\"send\":{{\"client_id\":\"c\",\"kind\":\"{}\"}}}}", "x".repeat(60_000));
    let frames: &[(&str, Option<u64>)] = &[
        ("", None),
        (" ", None),
        ("{", None),
        ("}", None),
        ("null", None),
        ("true", None),
        ("7", None),
        ("\"ping\"", None),
        ("[]", None),
        ("[7,{}]", None),
        ("not json", None),
        ("\0", None),
        ("{}", None),
        ("{\"ping\":{}}", None),
        ("{\"id\":null,\"ping\":{}}", None),
        ("{\"id\":\"7\",\"ping\":{}}", None),
        ("{\"id\":-1,\"ping\":{}}", None),
        ("{\"id\":1.5,\"ping\":{}}", None),
        ("{\"id\":18446744073709551616,\"ping\":{}}", None),
        ("{\"id\":1e400,\"ping\":{}}", None),
        ("{\"id\":[7],\"ping\":{}}", None),
        ("{\"id\":7,\"id\":8,\"ping\":{}}", None),
        ("{\"id\":7,\"ping\":{}} {\"id\":8,\"ping\":{}}", None),
        ("{\"id\":7}", Some(7)),
        ("{\"id\":7,\"explode\":{}}", Some(7)),
        ("{\"id\":7,\"Ping\":{}}", Some(7)),
        ("{\"id\":7,\"ping\":{},\"typing\":{\"conversation_id\":\"5\",\"typing\":true}}", Some(7)),
        ("{\"id\":7,\"ping\":{},\"ping\":{}}", Some(7)),
        ("{\"id\":7,\"ping\":{\"extra\":1}}", Some(7)),
        ("{\"id\":7,\"ping\":null}", Some(7)),
        ("{\"id\":7,\"ping\":5}", Some(7)),
        ("{\"id\":7,\"ping\":[]}", Some(7)),
        ("{\"id\":7,\"ok\":{}}", Some(7)),
        ("{\"id\":7,\"sign_in\":{}}", Some(7)),
        ("{\"id\":7,\"sign_in\":[\"token\"]}", Some(7)),
        ("{\"id\":7,\"sign_in\":{\"access_token\":5}}", Some(7)),
        ("{\"id\":7,\"send\":{}}", Some(7)),
        ("{\"id\":7,\"send\":{\"client_id\":\"c\",\"kind\":\"sticker\",\"text\":\"hi\"}}", Some(7)),
        ("{\"id\":7,\"send\":{\"client_id\":\"c\",\"kind\":\"text\",\"text\":5}}", Some(7)),
        ("{\"id\":7,\"log\":{\"conversation_id\":5,\"after\":0}}", Some(7)),
        ("{\"id\":7,\"history\":{\"conversation_id\":\"5\",\"before\":-1}}", Some(7)),
        ("{\"id\":7,\"history\":{\"conversation_id\":\"5\",\"before\":1,\"after\":1}}", Some(7)),
        ("{\"id\":7,\"history\":{\"conversation_id\":\"5\",\"before\":\"abc\"}}", Some(7)),
        ("{\"id\":7,\"log\":{\"conversation_id\":\"5\",\"after\":-1}}", Some(7)),
        ("{\"id\":7,\"sync\":{\"limit\":-1}}", Some(7)),
        ("{\"id\":7,\"sync\":{\"limit\":65536}}", Some(7)),
        ("{\"id\":7,\"watch_presence\":{\"user_ids\":[5]}}", Some(7)),
        ("{\"id\":7,\"watch_presence\":{\"user_ids\":\"5\"}}", Some(7)),
        (&deep, None),
        (&long_name, Some(9)),
        (&long_kind, Some(9)),
    ];
    for (frame, id) in frames {
        socket.text(frame).await;
        assert_error(&socket.error().await, *id, ErrorCode::InvalidRequest);
        socket.assert_alive().await;
    }
    RawHttp::new(&server.url()).assert_healthy().await;
}

#[tokio::test]
async fn the_largest_id_is_answered_as_it_came() {
    let (_server, _ada, mut socket) = signed_in().await;
    for id in [0, u64::MAX] {
        socket.text(format!("{{\"id\":{id},\"ping\":{{}}}}")).await;
        assert_eq!(socket.reply(id).await["ok"], json!({}));
    }
}

#[tokio::test]
async fn binary_frames_are_answered_and_keep_the_connection() {
    let (_server, _ada, mut socket) = signed_in().await;
    for payload in [&b""[..], b"\xff\xfe\x00", br#"{"id":1,"ping":{}}"#] {
        socket.frame(BINARY, payload).await;
        assert_error(&socket.error().await, None, ErrorCode::BinaryFrame);
        socket.assert_alive().await;
    }
}

#[tokio::test]
async fn text_that_is_not_utf8_closes_the_socket() {
    for payload in [
        &b"\xff\xfe"[..],
        b"{\"id\":1,\"ping\":{}}\xc3",
        b"\xed\xa0\x80",
        b"\xc0\x80",
        b"\xf8\x88\x80\x80\x80",
    ] {
        let (_server, _ada, mut socket) = signed_in().await;
        socket.frame(TEXT, payload).await;
        assert_eq!(socket.end().await, Ended::Closed(CloseCode::NotUtf8), "{payload:?}");
    }
}

#[tokio::test]
async fn a_frame_of_the_largest_size_is_read_and_a_larger_one_closes_the_socket() {
    let (server, ada, mut socket) = signed_in().await;
    let ping = r#"{"id":77,"ping":{}}"#;
    socket.text(format!("{ping}{}", " ".repeat(FRAME_BYTES_MAX - ping.len()))).await;
    assert_eq!(socket.reply(77).await["ok"], json!({}));
    socket.text(format!("{ping}{}", " ".repeat(FRAME_BYTES_MAX + 1 - ping.len()))).await;
    assert_eq!(socket.end().await, Ended::Closed(CloseCode::TooLarge));

    // Only the start of a frame, with a huge length.
    let mut socket = RawSocket::open(server.address(), ada.http.access_token().as_deref()).await;
    socket.bytes(&header(true, TEXT, usize::MAX / 2, 0x80)).await;
    socket.bytes(&[0; 4]).await;
    assert_eq!(socket.end().await, Ended::Closed(CloseCode::TooLarge));

    // In fragments, none of which is too large.
    let mut socket = RawSocket::open(server.address(), ada.http.access_token().as_deref()).await;
    let piece = vec![b' '; FRAME_BYTES_MAX / 2 + 1];
    socket.bytes(&encode(false, TEXT, &piece)).await;
    socket.bytes(&encode(false, CONTINUATION, &piece)).await;
    assert_eq!(socket.end().await, Ended::Closed(CloseCode::TooLarge));
    RawHttp::new(&server.url()).assert_healthy().await;
}

#[tokio::test]
async fn a_frame_may_come_in_pieces_with_others_between_them() {
    let (_server, _ada, mut socket) = signed_in().await;
    let ping = br#"{"id":77,"ping":{}}"#;
    for (number, byte) in ping.iter().enumerate() {
        let opcode = if number == 0 { TEXT } else { CONTINUATION };
        socket.bytes(&encode(number + 1 == ping.len(), opcode, &[*byte])).await;
        if number == 5 {
            socket.frame(PING, b"between").await;
            assert_eq!(socket.next().await.unwrap().payload, b"between");
        }
    }
    assert_eq!(socket.reply(77).await["ok"], json!({}));
    // Also if the bytes of a frame arrive one by one.
    for byte in encode(true, TEXT, ping) {
        socket.bytes(&[byte]).await;
    }
    assert_eq!(socket.reply(77).await["ok"], json!({}));
}

#[tokio::test]
async fn pings_are_answered_and_unsolicited_pongs_are_ignored() {
    let (_server, _ada, mut socket) = signed_in().await;
    for payload in [&b""[..], b"x", &[0xff; 125]] {
        socket.frame(PING, payload).await;
        let pong = socket.next().await.unwrap();
        assert_eq!((pong.opcode, pong.payload.as_slice()), (PONG, payload));
    }
    socket.frame(PONG, b"unasked").await;
    socket.assert_alive().await;
}

#[tokio::test]
async fn websocket_protocol_errors_close_the_connection() {
    let (server, ada, _socket) = signed_in().await;
    let ping = br#"{"id":1,"ping":{}}"#;
    let mut reserved_bit = encode(true, TEXT, ping);
    reserved_bit[0] |= 0x40;
    let too_long_control = encode(true, PING, &[b'x'; 126]);
    let frames = [
        ("no mask", encode_unmasked(TEXT, ping)),
        ("a reserved bit", reserved_bit),
        ("an unknown kind of data", encode(true, 3, ping)),
        ("an unknown kind of control", encode(true, 11, ping)),
        ("a long ping", too_long_control),
        ("a ping in pieces", encode(false, PING, b"x")),
        ("a continuation of nothing", encode(true, CONTINUATION, ping)),
        ("a new frame inside another", [encode(false, TEXT, b"{"), encode(true, TEXT, ping)].concat()),
        ("a close of one byte", encode(true, CLOSE, &[3])),
        ("HTTP", b"GET / HTTP/1.1\r\n\r\n".to_vec()),
    ];
    for (what, bytes) in frames {
        let mut socket = RawSocket::open(server.address(), ada.http.access_token().as_deref()).await;
        socket.bytes(&bytes).await;
        let (said, ended) = socket.until_end().await;
        assert!(said.iter().all(|frame| frame.get("ok").is_none()), "{what}: {said:?}");
        assert_eq!(ended, Ended::Closed(CloseCode::Protocol), "{what}");
    }
    RawHttp::new(&server.url()).assert_healthy().await;
}

/// The client continues to send while the server closes: unread data must not lose the close frame.
#[tokio::test]
async fn the_close_frame_arrives_although_the_client_goes_on_sending() {
    let (server, ada, _socket) = signed_in().await;
    let ping = br#"{"id":1,"ping":{}}"#;
    let more = encode(true, TEXT, &vec![b' '; FRAME_BYTES_MAX]).repeat(32);
    for (what, bytes) in [
        ("no mask", encode_unmasked(TEXT, ping)),
        ("a continuation of nothing", encode(true, CONTINUATION, ping)),
        ("a new frame inside another", [encode(false, TEXT, b"{"), encode(true, TEXT, ping)].concat()),
        ("a long ping", encode(true, PING, &[b'x'; 126])),
    ] {
        let mut socket = RawSocket::open(server.address(), ada.http.access_token().as_deref()).await;
        socket.bytes(&[bytes, more.clone()].concat()).await;
        assert_eq!(socket.until_end().await.1, Ended::Closed(CloseCode::Protocol), "{what}");
    }
}

#[tokio::test]
async fn an_invalid_close_code_is_not_echoed() {
    let (server, ada, _socket) = signed_in().await;
    let goodbye = |code: u16, reason: &[u8]| [&code.to_be_bytes()[..], reason].concat();
    let illegal = [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535];
    let illegal = illegal.map(|code| (goodbye(code, b""), CloseCode::Protocol));
    let not_text = [&b"\xff"[..], b"bye \xc3", b"\xed\xa0\x80"];
    let not_text = not_text.map(|reason| (goodbye(1000, reason), CloseCode::NotUtf8));
    for (payload, code) in illegal.into_iter().chain(not_text) {
        let mut socket = RawSocket::open(server.address(), ada.http.access_token().as_deref()).await;
        socket.frame(CLOSE, &payload).await;
        assert_eq!(socket.end().await, Ended::Closed(code), "{payload:?}");
    }
    for code in [1000, 1001, 1003, 1011, 1012, 3000, 4999] {
        let mut socket = RawSocket::open(server.address(), ada.http.access_token().as_deref()).await;
        socket.frame(CLOSE, &goodbye(code, "bye ü".as_bytes())).await;
        let ended = socket.end().await;
        assert!(
            matches!(ended, Ended::Other(Some(echoed)) if echoed == code)
                || matches!(ended, Ended::Closed(own) if own.code() == code),
            "{code}: {ended:?}"
        );
    }
}

#[tokio::test]
async fn a_close_frame_is_answered() {
    let (_server, _ada, mut socket) = signed_in().await;
    socket.frame(CLOSE, &1000_u16.to_be_bytes()).await;
    assert_eq!(socket.end().await, Ended::Other(Some(1000)));
    let (_server, _ada, mut socket) = signed_in().await;
    socket.frame(CLOSE, b"").await;
    assert_eq!(socket.end().await, Ended::Other(None));
}

#[tokio::test]
async fn a_flood_of_invalid_frames_closes_the_connection() {
    let (server, ada, mut socket) = signed_in().await;
    // An occasional valid frame is enough.
    for _ in 0..3 {
        for _ in 0..BAD_FRAMES_MAX {
            socket.text("nonsense").await;
            assert_error(&socket.error().await, None, ErrorCode::InvalidRequest);
        }
        socket.assert_alive().await;
    }
    for number in 0..=BAD_FRAMES_MAX {
        if number % 2 == 0 { socket.text("nonsense").await } else { socket.frame(BINARY, b"nonsense").await }
    }
    let (said, ended) = socket.until_end().await;
    assert_eq!(ended, Ended::Closed(CloseCode::Flood));
    assert!(said.len() <= BAD_FRAMES_MAX);

    // Others are not affected.
    let bob = Person::register(&server.url(), "bob").await;
    let direct = bob.open_direct(&ada).await;
    bob.http.send_message(direct, Draft::text("hello")).await.unwrap();
}
