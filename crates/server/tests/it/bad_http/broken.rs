use super::stage::Stage;
use crate::raw_http::RawConnection;

/// The status of the first answer. `None` if the server only closes the connection.
async fn status_of(stage: &Stage, request: &[u8]) -> Option<u16> {
    let mut connection = RawConnection::open(stage.server.address()).await;
    connection.write(request).await;
    connection.shut_down().await;
    let answer = connection.read_to_end().await;
    let status = answer.strip_prefix("HTTP/1.1 ")?.get(..3)?;
    Some(status.parse().unwrap())
}

#[tokio::test]
async fn malformed_http_is_refused() {
    let stage = Stage::start().await;
    let before = stage.everything().await;
    let token = stage.ada.http.access_token().unwrap();
    let good = format!("host: godwit.test\r\nauthorization: Bearer {token}\r\n");
    let send = format!("POST {} HTTP/1.1\r\n{good}content-type: application/json\r\n", stage.messages_path());
    let body = r#"{"client_id":"smuggled","kind":"text","text":"smuggled"}"#;
    let length = body.len();
    let long_header = format!("GET /v1/me HTTP/1.1\r\n{good}x: {}\r\n\r\n", "x".repeat(2_000_000));
    let many_headers = format!("GET /v1/me HTTP/1.1\r\n{good}{}\r\n", "x: y\r\n".repeat(10_000));
    let long_path = format!("GET /{} HTTP/1.1\r\n{good}\r\n", "x".repeat(100_000));
    let requests: Vec<(&str, Vec<u8>)> = vec![
        ("nothing", b"".into()),
        ("garbage", b"\x00\x01\x02\x03\xff\xfe\r\n\r\n".into()),
        ("the beginning of TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".into()),
        ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".into()),
        ("no version", b"GET /v1/me\r\n\r\n".into()),
        ("a version that does not exist", format!("GET /v1/me HTTP/9.9\r\n{good}\r\n").into()),
        ("a space in a header's name", format!("GET /v1/me HTTP/1.1\r\n{good}a b: c\r\n\r\n").into()),
        ("a NUL in a header", format!("GET /v1/me HTTP/1.1\r\n{good}a: b\0c\r\n\r\n").into()),
        ("a folded header", format!("GET /v1/me HTTP/1.1\r\n{good}a: b\r\n c\r\n\r\n").into()),
        ("too many headers", many_headers.into()),
        ("a very long header", long_header.into()),
        ("a very long path", long_path.into()),
        ("a length that is no number", format!("{send}content-length: many\r\n\r\n{body}").into()),
        ("a length below zero", format!("{send}content-length: -1\r\n\r\n{body}").into()),
        ("two lengths", format!("{send}content-length: {length}\r\ncontent-length: 1\r\n\r\n{body}").into()),
        ("a length and chunks", {
            format!("{send}content-length: {length}\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{body}")
                .into()
        }),
        ("an unknown encoding", format!("{send}transfer-encoding: zip\r\n\r\n{body}").into()),
        (
            "a chunk of no size",
            format!("{send}transfer-encoding: chunked\r\n\r\nzz\r\n{body}\r\n0\r\n\r\n").into(),
        ),
        ("a body that ends too soon", format!("{send}content-length: 100000\r\n\r\n{body}").into()),
        (
            "chunks that end too soon",
            format!("{send}transfer-encoding: chunked\r\n\r\nffff\r\n{body}").into(),
        ),
    ];
    for (what, request) in requests {
        let status = status_of(&stage, &request).await;
        assert!(status.is_none_or(|status| (400..500).contains(&status)), "{what}: {status:?}");
    }
    stage.assert_unharmed(&before).await;
}
