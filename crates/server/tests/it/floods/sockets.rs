use std::net::SocketAddr;
use std::time::Duration;

use godwit_client::Draft;
use godwit_client::protocol::socket::CloseCode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::people::{Person, soon};
use crate::process::ServerProcess;
use crate::raw_http::{RawConnection, RawHttp};
use crate::raw_socket::{CLOSE, Ended, RawSocket, handshake, header};
use crate::store::Enough;
use crate::unlimited::unlimited_with;

/// Connections of a flood: far more than the server allows to wait.
const FLOOD: usize = 2_000;
/// Sockets that are opened and abandoned one after the other; for most, the server checks the session in the store.
const CHURN: Enough = Enough { embedded: FLOOD, cassandra: 500 };
const WAITING_MAX: usize = 100;
/// The maximum permanent growth in memory. 2,000 sockets with the default buffers of libraries would take several hundred
/// MiB.
const GROWTH_MIB_MAX: u64 = 48;

/// Every connection needs a file descriptor in the test too.
fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    setrlimit(Resource::Nofile, raised).unwrap();
}

fn resident_mib(server: &ServerProcess) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

/// The value of a metric without labels.
async fn metric(server: &ServerProcess, name: &str) -> f64 {
    let metrics = server.metrics().await;
    let line = metrics.lines().find(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')));
    line.unwrap_or_else(|| panic!("{name} is not in:\n{metrics}"))
        .rsplit(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap()
}

/// Waits until a gauge has fallen. Gauges are updated every few seconds.
async fn until_at_most(server: &ServerProcess, name: &str, most: f64) {
    soon(&format!("{name} to come down"), async {
        while metric(server, name).await > most {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn thousands_of_unauthenticated_sockets_do_not_slow_others_down() {
    allow_many_files();
    let server = unlimited_with(&format!("[server]\nanonymous_per_address_max = {WAITING_MAX}\n")).await;
    let [ada, bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
    let direct = ada.open_direct(&bob).await;
    let mut signed_in = RawSocket::open(server.address(), ada.http.access_token().as_deref()).await;
    let before = resident_mib(&server);
    let mut flood = Vec::new();
    for number in 0..FLOOD {
        flood.push(RawSocket::open(server.address(), None).await);
        if number % 500 == 0 {
            bob.http.send_message(direct, Draft::text(format!("{number}"))).await.unwrap();
            assert_eq!(signed_in.event("entry").await["message"]["text"], number.to_string());
        }
    }
    let raw = RawHttp::new(&server.url());
    until_at_most(&server, "godwit_sockets{state=\"anonymous\"}", WAITING_MAX as f64).await;
    assert!(metric(&server, "godwit_anonymous_connections").await <= WAITING_MAX as f64 + 1.0);
    let growth = resident_mib(&server).saturating_sub(before);
    assert!(growth <= GROWTH_MIB_MAX, "the flood costs {growth} MiB");
    // The oldest sockets are gone, the newest can still sign in, and signed-in ones are not affected.
    assert_eq!(flood[0].end().await, Ended::Dropped);
    let token = ada.http.access_token().unwrap();
    let last = flood.last_mut().unwrap();
    let reply = last.call("sign_in", serde_json::json!({ "access_token": token })).await;
    assert!(reply.get("ok").is_some(), "{reply}");
    signed_in.assert_alive().await;
    raw.assert_healthy().await;
}

/// Heads and bodies that arrive byte by byte: they cost little, and are dropped.
#[tokio::test]
async fn thousands_of_slow_requests_do_not_slow_others_down() {
    allow_many_files();
    let server =
        unlimited_with("[server]\nanonymous_per_address_max = 100\nheader_timeout_ms = 2000\n").await;
    let ada = Person::register(&server.url(), "ada").await;
    let before = resident_mib(&server);
    let mut flood = Vec::new();
    for number in 0..FLOOD {
        let mut connection = RawConnection::open(server.address()).await;
        let beginning: &[u8] = match number % 4 {
            0 => b"G",
            1 => b"GET /v1/me HTTP/1.1\r\nhost: godwit.test\r\nx-a:",
            2 => &handshake(None).into_bytes()[..60],
            _ => b"POST /v1/accounts HTTP/1.1\r\nhost: godwit.test\r\ncontent-type: application/json\r\ncontent-length: 60000\r\n\r\n{",
        };
        connection.write(beginning).await;
        flood.push(connection);
        if number % 500 == 0 {
            ada.http.me().await.unwrap();
        }
    }
    let growth = resident_mib(&server).saturating_sub(before);
    assert!(growth <= GROWTH_MIB_MAX, "the flood costs {growth} MiB");
    // All heads time out; bodies have longer, but their number per address is limited.
    until_at_most(&server, "godwit_connections", 100.0 / 4.0 + 10.0).await;
    for connection in flood.iter_mut().take(3) {
        let said = connection.read_to_end().await;
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 4"), "{said}");
    }
    drop(flood);
    until_at_most(&server, "godwit_connections", 5.0).await;
    ada.http.me().await.unwrap();
}

/// However a socket ends, it leaves nothing behind.
#[tokio::test]
async fn closed_sockets_leave_nothing_behind() {
    allow_many_files();
    let server = unlimited_with("[socket]\nsign_in_within_ms = 1000\n").await;
    let [ada, bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
    ada.open_direct(&bob).await;
    let tokens = [ada.http.access_token(), bob.http.access_token(), None];
    churn(server.address(), &tokens, 300).await;
    until_gone(&server).await;
    let before = resident_mib(&server);
    churn(server.address(), &tokens, CHURN.here()).await;
    until_gone(&server).await;
    let growth = resident_mib(&server).saturating_sub(before);
    assert!(growth <= GROWTH_MIB_MAX / 2, "sockets that have gone cost {growth} MiB");
    let presence = bob.http.user(ada.id).await.unwrap().presence.unwrap();
    assert!(!presence.online && presence.last_seen_at.is_some(), "{presence:?}");
}

async fn churn(address: SocketAddr, tokens: &[Option<String>], count: usize) {
    for number in 0..count {
        let mut socket = RawSocket::connect(address, tokens[number % tokens.len()].as_deref()).await;
        match number % 7 {
            // Drops before or after the hello is read.
            0 => {}
            1 => drop(socket.json().await),
            2 => {
                socket.frame(CLOSE, &1000_u16.to_be_bytes()).await;
                socket.end().await;
            }
            // In the middle of a frame.
            3 => socket.bytes(&header(true, 1, 1000, 0x80)).await,
            4 => {
                socket.frame(1, b"\xff").await;
                assert_eq!(socket.end().await, Ended::Closed(CloseCode::NotUtf8));
            }
            // With a reply in flight.
            5 => drop(socket.post("sync", serde_json::json!({})).await),
            _ => socket.reset(),
        }
    }
}

async fn until_gone(server: &ServerProcess) {
    for state in ["signed_in", "anonymous"] {
        until_at_most(server, &format!("godwit_sockets{{state=\"{state}\"}}"), 0.0).await;
    }
    until_at_most(server, "godwit_socket_queue_bytes", 0.0).await;
    until_at_most(server, "godwit_anonymous_connections", 1.0).await;
    // The connections of the clients that read the metrics.
    until_at_most(server, "godwit_connections", 5.0).await;
}
