use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use godwit_client::protocol::ErrorCode;
use serde_json::json;

use crate::people::{PASSWORD, Person, soon};
use crate::process::ServerProcess;
use crate::raw;
use crate::raw_http::RawHttp;
use crate::raw_socket::{Ended, RawSocket, encode};
use crate::unlimited::unlimited_with;

/// A stranger, a neighbour in the same network, and a client in another one.
const STRANGER: [u8; 4] = [127, 0, 5, 1];
const NEIGHBOUR: [u8; 4] = [127, 0, 5, 2];
const ELSEWHERE: [u8; 4] = [127, 0, 6, 1];

const HEALTH: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: godwit\r\n\r\n";

/// Whether the server answers a request. The connection stays open.
fn asks(stream: &mut TcpStream, request: &[u8]) -> bool {
    stream.write_all(request).is_ok() && raw::read_some(stream).starts_with("HTTP/1.1 200 ")
}

/// An open connection on which a request was answered.
async fn kept_alive(from: [u8; 4], server: &ServerProcess) -> TcpStream {
    let mut stream = raw::connect_from(from, server.address()).await;
    assert!(asks(&mut stream, HEALTH), "a newcomer is let in");
    stream
}

async fn many_kept_alive(count: usize, from: [u8; 4], server: &ServerProcess) -> Vec<TcpStream> {
    let mut streams = Vec::new();
    for _ in 0..count {
        streams.push(kept_alive(from, server).await);
    }
    streams
}

/// Does not wait.
fn is_closed_now(mut stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let read = stream.read(&mut [0; 1]);
    stream.set_nonblocking(false).unwrap();
    !matches!(read, Err(error) if error.kind() == ErrorKind::WouldBlock)
}

fn still_served(streams: &mut [TcpStream]) -> Vec<bool> {
    streams.iter_mut().map(|stream| asks(stream, HEALTH)).collect()
}

#[tokio::test]
async fn a_stranger_cannot_fill_the_server() {
    let server = unlimited_with("[server]\nmax_connections = 40\n").await;
    let ada = Person::register(&server.url(), "ada").await;
    let mut socket = RawSocket::open(server.address(), ada.http.access_token().as_deref()).await;
    let flood = many_kept_alive(200, STRANGER, &server).await;
    socket.assert_alive().await;
    RawHttp::new_from(ELSEWHERE, &server.url()).assert_healthy().await;
    let (_, phone) = ada.sign_in("phone").await;
    phone.me().await.unwrap();
    let mut another = RawSocket::open(server.address(), phone.access_token().as_deref()).await;
    another.assert_alive().await;
    drop(flood);
}

#[tokio::test]
async fn strangers_have_limits_for_an_address_and_for_a_network_and_the_longest_idle_goes() {
    let limits = "[server]\nanonymous_per_address_max = 4\nanonymous_per_network_max = 6\n";
    let server = unlimited_with(limits).await;
    let mut other = kept_alive(ELSEWHERE, &server).await;
    let mut first = many_kept_alive(4, STRANGER, &server).await;
    // The first connection is used again, so the second has been idle longest.
    assert!(asks(&mut first[0], HEALTH));
    first.push(kept_alive(STRANGER, &server).await);
    assert_eq!(still_served(&mut first), [true, false, true, true, true]);
    // The network may have two more connections; then its longest idle one is evicted, whatever its address.
    let mut second = many_kept_alive(3, NEIGHBOUR, &server).await;
    assert_eq!(still_served(&mut second), [true, true, true]);
    assert_eq!(still_served(&mut first), [false, false, true, true, true]);
    assert!(asks(&mut other, HEALTH));
}

#[tokio::test]
async fn an_address_has_a_limit_also_for_those_who_are_signed_in() {
    let server = unlimited_with("[server]\nconnections_per_address_max = 3\n").await;
    let ada = Person::register(&server.url(), "ada").await;
    let token = ada.http.access_token().unwrap();
    // The client that registered has a connection that can be evicted.
    let mut sockets = Vec::new();
    for _ in 0..3 {
        sockets.push(RawSocket::open(server.address(), Some(&token)).await);
    }
    let mut further = raw::connect(server.address());
    assert!(raw::read_some(&mut further).starts_with("HTTP/1.1 503 "));
    kept_alive(STRANGER, &server).await;
    for socket in &mut sockets {
        socket.assert_alive().await;
    }
}

#[tokio::test]
async fn a_token_does_not_raise_the_connection_limit_of_an_address() {
    let server = unlimited_with("[server]\nconnections_per_address_max = 3\n").await;
    let ada = Person::register(&server.url(), "ada").await;
    let token = ada.http.access_token().unwrap();
    let mine = format!("GET /v1/me HTTP/1.1\r\nhost: godwit\r\nauthorization: Bearer {token}\r\n\r\n");
    let mut own = Vec::new();
    for _ in 0..3 {
        own.push(raw::connect_from(STRANGER, server.address()).await);
    }
    assert!(own.iter_mut().all(|stream| asks(stream, mine.as_bytes())));
    // A connection without a token is evicted before one with a token, and a new client is accepted nevertheless.
    let mut first = kept_alive(STRANGER, &server).await;
    let mut second = kept_alive(STRANGER, &server).await;
    assert!(!asks(&mut first, HEALTH) && asks(&mut second, HEALTH));
    let answered: Vec<bool> = own.iter_mut().map(|stream| asks(stream, mine.as_bytes())).collect();
    assert_eq!(answered, [false, true, true], "the longest idle goes");
}

#[tokio::test]
async fn a_request_that_a_rate_limit_refuses_authenticates_no_connection() {
    let more = "[server]\nanonymous_idle_timeout_ms = 200\n";
    let server = crate::unlimited::limited_with("commands_per_user", 1, more).await;
    let ada = Person::register(&server.url(), "ada").await;
    let token = ada.http.access_token().unwrap();
    let mine = format!("GET /v1/me HTTP/1.1\r\nhost: godwit\r\nauthorization: Bearer {token}\r\n\r\n");
    let mut own = raw::connect(server.address());
    assert!(asks(&mut own, mine.as_bytes()));
    let mut refused = raw::connect_from(STRANGER, server.address()).await;
    refused.write_all(mine.as_bytes()).unwrap();
    assert!(raw::read_some(&mut refused).starts_with("HTTP/1.1 429 "));
    assert!(raw::is_closed(&mut refused));
    assert!(asks(&mut own, HEALTH), "one that was accepted is kept");
}

#[tokio::test]
async fn bodies_of_strangers_count_for_their_network_and_those_that_take_long_are_given_up() {
    const BODY: usize = 60_000;
    let server = unlimited_with("[server]\nanonymous_body_bytes_per_network_max = 131072\n").await;
    let ada = Person::register(&server.url(), "ada").await;
    let mut bodies = Vec::new();
    for _ in 0..6 {
        let mut stream = raw::connect_from(STRANGER, server.address()).await;
        stream.write_all(raw::post_head("/v1/accounts", BODY).as_bytes()).unwrap();
        stream.write_all(&[b' '; BODY - 1]).unwrap();
        bodies.push(stream);
    }
    // There is room for two. The order of arrival at the server is unknown.
    soon("bodies to be given up", async {
        while bodies.len() > 2 {
            bodies.retain(|body| !is_closed_now(body));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    // A short and complete request is served, also from the same network.
    let sign_in = json!({ "handle": ada.handle, "password": PASSWORD });
    let neighbour = RawHttp::new_from(NEIGHBOUR, &server.url());
    assert_eq!(neighbour.ask("POST", "/v1/sessions").json(&sign_in).send().await.status, 201);
    // Bodies of users with an account are not counted.
    let token = ada.http.access_token().unwrap();
    let mut own = raw::connect_from(STRANGER, server.address()).await;
    let head = format!(
        "PATCH /v1/me HTTP/1.1\r\nhost: godwit\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {BODY}\r\n\r\n"
    );
    own.write_all(head.as_bytes()).unwrap();
    own.write_all(&[b' '; BODY - 2]).unwrap();
    for body in &mut bodies {
        body.write_all(b" ").unwrap();
        assert!(raw::read_some(body).starts_with("HTTP/1.1 400 "), "it is complete, and is no JSON");
    }
    own.write_all(b"{}").unwrap();
    assert_eq!(raw::read_answer(&mut own).unwrap().status, 200);
}

#[tokio::test]
async fn idle_connections_of_strangers_end_soon_and_those_of_others_stay() {
    let server = unlimited_with("[server]\nanonymous_idle_timeout_ms = 200\n").await;
    let ada = Person::register(&server.url(), "ada").await;
    let token = ada.http.access_token().unwrap();
    let mine = format!("GET /v1/me HTTP/1.1\r\nhost: godwit\r\nauthorization: Bearer {token}\r\n\r\n");
    let mut own = raw::connect(server.address());
    assert!(asks(&mut own, mine.as_bytes()));
    assert!(raw::is_closed(&mut kept_alive(STRANGER, &server).await));
    assert!(asks(&mut own, mine.as_bytes()));
}

#[tokio::test]
async fn a_stranger_may_take_a_while_to_read_an_answer() {
    const ANSWERS: usize = 100;
    let server = unlimited_with("[server]\nanonymous_idle_timeout_ms = 200\n").await;
    let mut stream = raw::connect_from(STRANGER, server.address()).await;
    // More than the buffers between client and server hold.
    let request = "GET /openapi.json HTTP/1.1\r\nhost: godwit\r\n\r\n";
    let last = request.replace("host:", "connection: close\r\nhost:");
    stream.write_all((request.repeat(ANSWERS - 1) + &last).as_bytes()).unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let mut answers = Vec::new();
    stream.read_to_end(&mut answers).unwrap();
    let answered = String::from_utf8(answers).unwrap().matches("HTTP/1.1 200 ").count();
    assert_eq!(answered, ANSWERS);
}

#[tokio::test]
async fn a_proxy_is_not_limited_and_the_sockets_of_its_clients_are() {
    let limits = "[server]\ntrust_forwarded_for = true\nanonymous_per_address_max = 2\nanonymous_idle_timeout_ms = 200\n";
    let server = unlimited_with(limits).await;
    let request = |client: usize| {
        format!("GET /healthz HTTP/1.1\r\nhost: godwit\r\nx-forwarded-for: 192.0.2.{client}\r\n\r\n")
            .into_bytes()
    };
    let mut proxied: Vec<_> = (0..10).map(|_| raw::connect(server.address())).collect();
    for (number, stream) in proxied.iter_mut().enumerate() {
        assert!(asks(stream, &request(number)));
    }
    let mut sockets = Vec::new();
    for client in [1, 1, 1, 2] {
        sockets.push(RawSocket::open_forwarded(server.address(), &format!("192.0.2.{client}")).await);
    }
    assert_eq!(sockets[0].end().await, Ended::Dropped, "the client has one too many");
    for socket in &mut sockets[1..] {
        socket.assert_alive().await;
    }
    for (number, stream) in proxied.iter_mut().enumerate() {
        assert!(asks(stream, &request(number)), "connection {number} is the proxy's");
    }
}

#[tokio::test]
async fn behind_a_proxy_an_address_has_no_more_sockets_than_it_may_have() {
    let limits = "[server]\ntrust_forwarded_for = true\nconnections_per_address_max = 2\n";
    let server = unlimited_with(limits).await;
    let ada = Person::register(&server.url(), "ada").await;
    let token = ada.http.access_token().unwrap();
    let mut sockets = Vec::new();
    for _ in 0..2 {
        let mut socket = RawSocket::open_forwarded(server.address(), "192.0.2.1").await;
        assert!(socket.call("sign_in", json!({ "access_token": token })).await.get("ok").is_some());
        sockets.push(socket);
    }
    let refused = RawSocket::try_forwarded(server.address(), "192.0.2.1").await.err().unwrap();
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    RawSocket::open_forwarded(server.address(), "192.0.2.2").await.assert_alive().await;
    for socket in &mut sockets {
        socket.assert_alive().await;
    }
}

#[tokio::test]
async fn unauthenticated_requests_per_connection_are_limited() {
    let server = unlimited_with("").await;
    let mut socket = RawSocket::open(server.address(), None).await;
    for _ in 0..200 {
        socket.post("ping", json!({})).await;
    }
    let (said, ended) = socket.until_end().await;
    assert_eq!(ended, Ended::Closed(godwit_protocol::socket::CloseCode::Flood));
    assert!((50..=101).contains(&said.len()), "{} answers", said.len());
}

#[tokio::test]
async fn unauthenticated_frames_without_an_answer_are_limited() {
    const PONG: u8 = 0xa;
    let server = unlimited_with("").await;
    let mut pongs = RawSocket::open(server.address(), None).await;
    for _ in 0..200 {
        pongs.frame(PONG, b"").await;
    }
    assert_eq!(pongs.end().await, Ended::Closed(godwit_protocol::socket::CloseCode::Flood));
    // A message in empty fragments.
    let mut pieces = RawSocket::open(server.address(), None).await;
    pieces.bytes(&encode(false, 0x1, b"")).await;
    pieces.bytes(&encode(false, 0x0, b"").repeat(1_000)).await;
    assert_eq!(pieces.end().await, Ended::Closed(godwit_protocol::socket::CloseCode::TooLarge));
}

/// Text that the JSON library would parse recursively until the stack overflows.
#[tokio::test]
async fn private_keys_of_serde_json_do_not_crash_the_server() {
    let server = unlimited_with("").await;
    let ada = Person::register(&server.url(), "ada").await;
    let conversation = ada.http.group("birds", &[]).await.unwrap().conversation.id;
    let nested = |brackets: usize, times: usize| {
        (0..times).fold("[".repeat(brackets), |inner, _| {
            let inner = serde_json::to_string(&inner).unwrap();
            format!(r#"{}{{"$serde_json::private::RawValue":{inner}"#, "[".repeat(brackets))
        })
    };
    let frame = format!(r#"{{"id":1,"send":{{"data":{}"#, nested(120, 11));
    assert!(frame.len() > 8_000 && frame.len() < 10_240, "{}", frame.len());
    let token = ada.http.access_token();
    for token in [None, token.as_deref()] {
        let mut socket = RawSocket::open(server.address(), token).await;
        socket.text(&frame).await;
        assert!(socket.error().await.is_object());
    }
    let raw = RawHttp::new(&server.url());
    let key = "$serde_json::private::RawValue";
    for data in [json!({ key: "1" }), json!({ "order": 42, "z": { key: "{\"b\":1}" } })] {
        let body = json!({ "client_id": "c", "kind": "system", "event": "app.x", "data": data });
        let path = format!("/v1/conversations/{conversation}/messages");
        let answer = raw.ask("POST", &path).token(token.as_deref().unwrap()).json(&body).send().await;
        assert_eq!(answer.status, 400, "{}", answer.body);
    }
    assert_eq!(ada.http.conversation(conversation).await.unwrap().head.get(), 1);
}

#[tokio::test]
async fn pages_are_limited_for_each_address_and_health_is_not() {
    let server = crate::unlimited::limited_with("pages_per_address", 3, "").await;
    let stranger = RawHttp::new_from(STRANGER, &server.url());
    for path in ["/docs", "/openapi.json", "/"] {
        assert_eq!(stranger.ask("GET", path).send().await.status, 200, "{path}");
    }
    stranger.ask("GET", "/asyncapi.json").refused(429, ErrorCode::RateLimited).await;
    stranger.assert_healthy().await;
    assert_eq!(RawHttp::new_from(NEIGHBOUR, &server.url()).ask("GET", "/docs").send().await.status, 200);
}
