use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use godwit_client::Http;
use godwit_client::protocol::ConversationId;

use crate::operations::metrics::value;
use crate::people::{Person, soon};
use crate::process::ServerProcess;
use crate::raw;
use crate::slow_reader::largest_page;
use crate::unlimited::unlimited_with;

const LIMIT: usize = 1024 * 1024;
/// More requests than the buffers between client and server hold answers to.
const REQUESTS: usize = 100;
const GREEDY: usize = 12;
/// Entries of a page that is about half as large as the largest one.
const HALF: usize = 15;
const ANSWER_BYTES: &str = "godwit_http_answer_bytes";
const EVICTED: &str = "godwit_connections_evicted_total{reason=\"answers\"}";

/// Asks for the same page of the log again and again on one connection, and reads nothing.
fn ask_much(server: &ServerProcess, by: &Http, chat: ConversationId, limit: usize) -> TcpStream {
    let token = by.access_token().unwrap();
    let request = format!(
        "GET /v1/conversations/{chat}/log?after=0&limit={limit} HTTP/1.1\r\nhost: godwit\r\n\
         authorization: Bearer {token}\r\n\r\n"
    );
    let last = request.replace("host:", "connection: close\r\nhost:");
    let mut stream = raw::connect(server.address());
    stream.write_all((request.repeat(REQUESTS - 1) + &last).as_bytes()).unwrap();
    stream
}

/// The number of answers up to the end of the connection.
fn answers(mut stream: TcpStream) -> usize {
    let mut bytes = Vec::new();
    // A connection that was closed ends with an error.
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).matches("HTTP/1.1 200 ").count()
}

/// Waits until a number of the metrics is that large.
async fn until_at_least(server: &ServerProcess, series: &str, least: f64) {
    soon(series, async {
        loop {
            let metrics = server.metrics().await;
            if metrics.contains(series) && value(&metrics, series) >= least {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unread_answers_are_bounded_together_and_a_slow_reader_does_not_pay_for_others() {
    let server = unlimited_with(&format!("[server]\nanswers_bytes_max = {LIMIT}\n")).await;
    let [ada, mallory] = Person::register_all(&server.url(), ["ada", "mallory"]).await;
    let chat = ada.open_direct(&mallory).await;
    let page = serde_json::to_vec(&largest_page(&ada, chat).await).unwrap().len();
    let slow = ask_much(&server, &ada.http, chat, 200);
    until_at_least(&server, ANSWER_BYTES, page as f64).await;
    // Each of these connections holds less than the slow reader's. Together they hold too much.
    let greedy: Vec<_> = (0..GREEDY).map(|_| ask_much(&server, &mallory.http, chat, HALF)).collect();
    until_at_least(&server, EVICTED, 1.0).await;
    assert!(value(&server.metrics().await, ANSWER_BYTES) <= LIMIT as f64);
    mallory.http.me().await.unwrap();
    let answered = tokio::task::spawn_blocking(move || answers(slow)).await.unwrap();
    assert_eq!(answered, REQUESTS, "the slow reader gets everything");
    let cut_off = greedy.into_iter().map(answers).filter(|answered| *answered < REQUESTS).count();
    assert!((1..GREEDY).contains(&cut_off), "{cut_off} of {GREEDY} were closed");
}
