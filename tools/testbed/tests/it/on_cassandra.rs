//! Three nodes and Redis, as tests have them.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use godwit_testbed::{Cassandra, NODES, Redis};

const ANSWER_WAIT_MAX: Duration = Duration::from_secs(60);
const SILENCE: Duration = Duration::from_secs(1);

#[test]
fn three_nodes_answer() {
    let cluster = Cassandra::shared().unwrap();
    let points = cluster.contact_points();
    assert_eq!(points.len(), usize::from(NODES));
    for point in &points {
        assert!(answers(point, ANSWER_WAIT_MAX), "{point} does not answer");
    }
}

#[test]
fn killed_and_paused_nodes_are_repaired_for_the_next_test() {
    let cluster = Cassandra::alone().unwrap();
    let points = cluster.contact_points();
    cluster.kill(3).unwrap();
    assert!(!answers(&points[2], SILENCE));
    assert!(answers(&points[0], ANSWER_WAIT_MAX) && answers(&points[1], ANSWER_WAIT_MAX));
    cluster.pause(1).unwrap();
    drop(cluster);
    for point in Cassandra::alone().unwrap().contact_points() {
        assert!(answers(&point, ANSWER_WAIT_MAX), "{point} does not answer");
    }
}

#[test]
fn a_paused_node_is_silent_and_soon_marked_down() {
    let cluster = Cassandra::alone().unwrap();
    let points = cluster.contact_points();
    cluster.pause(3).unwrap();
    assert!(!answers(&points[2], SILENCE));
    cluster.wait_until_down(3).unwrap();
    cluster.resume(3).unwrap();
    assert!(answers(&points[2], ANSWER_WAIT_MAX));
}

#[test]
fn the_secured_node_requires_tls() {
    let node = Cassandra::secured().unwrap();
    assert!(!answers(&node.contact_point(), SILENCE), "it answered without TLS");
    let certificate = std::fs::read_to_string(node.ca_certificate()).unwrap();
    assert!(certificate.starts_with("-----BEGIN CERTIFICATE-----"));
}

#[test]
fn redis_answers_until_it_is_dropped() {
    let redis = Redis::start().unwrap();
    let address = redis.url().replace("redis://", "").replace('/', "");
    assert_eq!(ping(&address).as_deref(), Some("+PONG\r\n"));
    redis.kill().unwrap();
    assert_eq!(ping(&address), None);
    redis.start_again().unwrap();
    assert!(ping(&address).is_some());
    drop(redis);
    assert_eq!(ping(&address), None);
}

/// Whether a node answers the first request of every client, OPTIONS.
fn answers(point: &str, longest: Duration) -> bool {
    const OPTIONS: [u8; 9] = [4, 0, 0, 0, 5, 0, 0, 0, 0];
    const SUPPORTED: u8 = 6;
    let ask = || -> std::io::Result<u8> {
        let mut socket = TcpStream::connect(point)?;
        socket.set_read_timeout(Some(longest))?;
        socket.write_all(&OPTIONS)?;
        let mut header = [0; 9];
        socket.read_exact(&mut header)?;
        Ok(header[4])
    };
    ask().is_ok_and(|operation| operation == SUPPORTED)
}

fn ping(address: &str) -> Option<String> {
    let mut socket = TcpStream::connect(address).ok()?;
    socket.set_read_timeout(Some(ANSWER_WAIT_MAX)).ok()?;
    socket.write_all(b"PING\r\n").ok()?;
    let mut answer = [0; 7];
    socket.read_exact(&mut answer).ok()?;
    Some(String::from_utf8_lossy(&answer).into_owned())
}
