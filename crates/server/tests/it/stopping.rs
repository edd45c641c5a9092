//! Graceful and immediate stops.

use std::io::Write;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::people::unique;
use crate::process::ServerProcess;
use crate::raw;

/// A server with a stop timeout of one hour: a test that waits for it fails.
const PATIENT: [&str; 2] = ["--set", "server.stop_timeout_ms=3600000"];

/// The body of a registration, and of a sign-in.
fn credentials() -> String {
    format!(r#"{{"handle":"{}","password":"correct horse battery"}}"#, unique("ada"))
}

/// A request whose head the server has read, and whose body is incomplete.
fn begin_request(server: &ServerProcess, body: &str) -> TcpStream {
    let mut stream = raw::connect(server.address());
    stream.write_all(raw::post_head("/v1/accounts", body.len()).as_bytes()).unwrap();
    stream.write_all(&body.as_bytes()[..5]).unwrap();
    // The head has been read once later requests on other connections have been answered.
    for _ in 0..3 {
        assert_eq!(raw::get(server.address(), "/healthz").unwrap().status, 200);
        thread::sleep(Duration::from_millis(20));
    }
    stream
}

fn wait_until_closed(server: &ServerProcess) {
    while TcpStream::connect(server.address()).is_ok() {
        thread::sleep(Duration::from_millis(10));
    }
}

#[tokio::test]
async fn a_request_in_flight_is_answered_before_the_shutdown() {
    let mut server = ServerProcess::start().await;
    let body = credentials();
    let mut request = begin_request(&server, &body);
    server.signal(Signal::TERM);
    wait_until_closed(&server);
    request.write_all(&body.as_bytes()[5..]).unwrap();
    assert_eq!(raw::read_answer(&mut request).unwrap().status, 201);
    let status = server.wait().await;
    assert_eq!(status.code(), Some(0), "{}", server.stderr());
    assert!(server.stderr().contains("stopped took_ms="), "{}", server.stderr());
    assert!(!server.data_dir().join("admin.sock").exists());

    server.start_again().await;
    assert_eq!(raw::post(server.address(), "/v1/sessions", &body).unwrap().status, 201);
}

#[tokio::test]
async fn idle_and_silent_connections_do_not_delay_the_shutdown() {
    let mut server = ServerProcess::with_args(&PATIENT).await;
    let silent = raw::connect(server.address());
    let mut half = raw::connect(server.address());
    half.write_all(b"GET /healthz HT").unwrap();
    let mut idle = raw::connect(server.address());
    idle.write_all(b"GET /healthz HTTP/1.1\r\nhost: godwit\r\n\r\n").unwrap();
    assert_eq!(raw::get(server.address(), "/healthz").unwrap().status, 200);

    server.signal(Signal::INT);
    assert_eq!(server.wait().await.code(), Some(0), "{}", server.stderr());
    drop((silent, half, idle));
}

#[tokio::test]
async fn a_second_signal_stops_at_once() {
    let mut server = ServerProcess::with_args(&PATIENT).await;
    let _request = begin_request(&server, &credentials());
    server.signal(Signal::TERM);
    wait_until_closed(&server);
    server.signal(Signal::TERM);
    assert_eq!(server.wait().await.code(), Some(130), "{}", server.stderr());
    // The data is undamaged.
    server.start_again().await;
    server.stop().await;
}

#[tokio::test]
async fn requests_that_exceed_the_shutdown_timeout_are_cut_off() {
    let mut server = ServerProcess::with_args(&["--set", "server.stop_timeout_ms=300"]).await;
    let _request = begin_request(&server, &credentials());
    server.signal(Signal::TERM);
    assert_eq!(server.wait().await.code(), Some(0), "{}", server.stderr());
    assert!(server.stderr().contains("did not end in time"), "{}", server.stderr());
}

#[tokio::test]
async fn the_log_can_be_json() {
    let mut server = ServerProcess::with_args(&["--set", "log.format=json"]).await;
    server.signal(Signal::TERM);
    server.wait().await;
    let log = server.stderr();
    assert!(log.lines().count() > 1, "{log}");
    for line in log.lines() {
        assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "{line}");
    }
}
