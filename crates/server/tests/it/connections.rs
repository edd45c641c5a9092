//! Misbehaving connections.

use std::io::{Error, ErrorKind, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use godwit_server::config::Config;

use crate::people::{patience, unique};
use crate::process::ServerProcess;
use crate::raw;
use crate::raw_socket::RawSocket;

fn half_open(server: &ServerProcess) -> TcpStream {
    let mut stream = raw::connect(server.address());
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: god").unwrap();
    stream
}

#[tokio::test]
async fn thousands_of_half_open_handshakes_do_not_slow_others_down() {
    let few = "server.anonymous_per_address_max=100";
    let patient = "server.header_timeout_ms=3600000";
    let server = ServerProcess::with_args(&["--set", few, "--set", patient]).await;
    let mut flood: Vec<_> = (0..2_000).map(|_| half_open(&server)).collect();
    assert_eq!(raw::get(server.address(), "/healthz").unwrap().status, 200);
    let metrics = server.metrics().await;
    let ended =
        metrics.lines().find(|line| line.starts_with("godwit_connections_evicted_total{reason=\"address\"}"));
    let ended: usize = ended.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap();
    assert!(ended >= 1_900, "{ended} were ended");
    assert!(raw::is_closed(&mut flood[0]), "the oldest must go first");
}

#[tokio::test]
async fn an_endless_request_head_times_out() {
    let by_default = Duration::from_millis(Config::default().server.header_timeout_ms);
    let server = ServerProcess::with_args(&["--set", "server.header_timeout_ms=200"]).await;
    let began = Instant::now();
    assert!(raw::is_closed(&mut half_open(&server)));
    assert!(raw::is_closed(&mut raw::connect(server.address())), "also one that says nothing at all");
    assert!(began.elapsed() < by_default, "it was not as it was set: {:?}", began.elapsed());
}

#[tokio::test]
async fn a_request_head_that_is_too_large_is_refused() {
    let server = ServerProcess::start().await;
    let mut stream = raw::connect(server.address());
    let head = format!("GET /healthz HTTP/1.1\r\nhost: godwit\r\nx: {}\r\n\r\n", "x".repeat(20_000));
    // The server may close before it has read everything.
    let _ = stream.write_all(head.as_bytes());
    match raw::read_answer(&mut stream) {
        Ok(answer) => assert_eq!(answer.status, 431),
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
    }
}

#[tokio::test]
async fn when_all_are_signed_in_further_connections_are_turned_away_until_others_leave() {
    let server = ServerProcess::with_args(&["--set", "server.max_connections=2"]).await;
    let token = register(&server);
    let open = async || RawSocket::open(server.address(), Some(&token)).await;
    let taken = [open().await, open().await];
    let mut further = raw::connect(server.address());
    assert_eq!(raw::read_answer(&mut further).unwrap().status, 503);
    drop(taken);
    let began = Instant::now();
    while raw::get(server.address(), "/healthz").map_or(503, |answer| answer.status) != 200 {
        assert!(began.elapsed() < patience(), "no place became free");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn register(server: &ServerProcess) -> String {
    let body = format!(r#"{{"handle":"{}","password":"correct horse battery"}}"#, unique("ada"));
    let answer = raw::post(server.address(), "/v1/accounts", &body).unwrap();
    let signed_in: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    signed_in["tokens"]["access_token"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_disconnected() {
    let server = ServerProcess::with_args(&["--set", "server.write_timeout_ms=500"]).await;
    let mut greedy = raw::connect(server.address());
    greedy.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    let request = b"GET /openapi.json HTTP/1.1\r\nhost: godwit\r\n\r\n";
    let began = Instant::now();
    // Sends until the connection is blocked, because it reads no answers.
    while greedy.write_all(request).is_ok() {
        assert!(began.elapsed() < patience(), "the server reads without end");
    }
    let is_waiting = |error: &Error| matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
    while greedy.write(request).map_or_else(|error| is_waiting(&error), |_| true) {
        assert!(began.elapsed() < patience(), "the connection was not given up");
    }
}
