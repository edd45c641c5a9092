use std::collections::BTreeMap;
use std::time::Duration;

use godwit_client::Draft;
use godwit_client::protocol::ErrorCode;
use godwit_server::config::Config;
use serde_json::json;

use crate::people::{Person, soon};
use crate::raw_http::RawHttp;
use crate::raw_socket::RawSocket;
use crate::unlimited::unlimited;

/// Families that must exist after a little traffic, with their types.
const FAMILIES: &[(&str, &str)] = &[
    ("godwit_actions_total", "counter"),
    ("godwit_deliveries_total", "counter"),
    ("godwit_action_seconds", "histogram"),
    ("godwit_delivery_lag_seconds", "histogram"),
    ("godwit_http_seconds", "histogram"),
    ("godwit_connections", "gauge"),
    ("godwit_sockets", "gauge"),
    ("godwit_socket_queue_bytes", "gauge"),
    ("process_resident_memory_bytes", "gauge"),
];

/// Maps the name of a family to its type.
pub(crate) fn families(metrics: &str) -> BTreeMap<&str, &str> {
    metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' ')).collect()
}

pub(crate) fn value(metrics: &str, series: &str) -> f64 {
    let line = metrics.lines().find(|line| line.rsplit_once(' ').is_some_and(|(name, _)| name == series));
    line.unwrap_or_else(|| panic!("{series} is not in:\n{metrics}"))
        .rsplit(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap()
}

#[tokio::test]
async fn metrics_count_requests_and_events() {
    let server = unlimited().await;
    let [ada, bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
    let direct = ada.open_direct(&bob).await;
    let mut sockets = Vec::new();
    for person in [&ada, &bob, &bob] {
        sockets.push(RawSocket::open(server.address(), person.http.access_token().as_deref()).await);
    }
    let sent = ada.http.send_message(direct, Draft::text("hushed").client_id("same")).await.unwrap();
    ada.http.send_message(direct, Draft::text("hushed").client_id("same")).await.unwrap();
    for socket in &mut sockets {
        assert_eq!(socket.event("entry").await["message"]["id"], json!(sent.id));
    }
    let refused =
        json!({ "conversation_id": "9007199254740993", "client_id": "c", "kind": "text", "text": "x" });
    sockets[1].call("send", refused).await;
    let raw = RawHttp::new(&server.metrics_url());
    let answer = raw.ask("GET", "/metrics").send().await;
    assert!(answer.header("content-type").unwrap().starts_with("text/plain"));
    let metrics = answer.body;
    let families = families(&metrics);
    for (name, kind) in FAMILIES {
        assert_eq!(families.get(name), Some(kind), "{name} in\n{metrics}");
    }
    for (series, expected) in [
        ("godwit_actions_total{action=\"send\",outcome=\"done\"}", 1.0),
        ("godwit_actions_total{action=\"send\",outcome=\"repeated\"}", 1.0),
        ("godwit_actions_total{action=\"send\",outcome=\"refused\"}", 1.0),
        ("godwit_action_seconds_count{action=\"send\"}", 2.0),
        ("godwit_ready", 1.0),
    ] {
        assert_eq!(value(&metrics, series), expected, "{series}");
    }
    assert!(value(&metrics, "godwit_deliveries_total") >= 3.0);
    // Gauges are updated periodically.
    soon("three sockets in the metrics", async {
        let sockets = async || {
            value(&raw.ask("GET", "/metrics").send().await.body, "godwit_sockets{state=\"signed_in\"}")
        };
        while sockets().await != 3.0 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    // Labels contain no names, ids or texts of users.
    for secret in [&ada.handle, &ada.id.to_string(), &direct.to_string(), &"hushed".to_owned()] {
        assert!(!metrics.contains(secret), "{secret} is in the metrics");
    }
}

#[tokio::test]
async fn unknown_routes_create_no_metric_series() {
    let server = unlimited().await;
    let raw = RawHttp::new(&server.url());
    for number in 0..50 {
        raw.ask("GET", &format!("/nowhere/{number}")).send().await;
        raw.ask(&format!("METHOD{number}"), "/v1/me").send().await;
        raw.ask("GET", &format!("/v1/users/{number}?a={number}")).send().await;
    }
    let metrics = server.metrics().await;
    let series = metrics.lines().filter(|line| line.starts_with("godwit_http_seconds_count")).count();
    assert!(series < 10, "{series} series in\n{metrics}");
    assert!(!metrics.contains("nowhere") && !metrics.contains("METHOD"), "{metrics}");
}

/// The clients' port does not reveal the activity of the server.
#[tokio::test]
async fn metrics_have_a_separate_port() {
    let server = unlimited().await;
    let raw = RawHttp::new(&server.url());
    raw.ask("GET", "/metrics").refused(404, ErrorCode::NoSuchRoute).await;
    let metrics = RawHttp::new(&server.metrics_url());
    assert_eq!(metrics.ask("GET", "/metrics").send().await.status, 200);
    assert_eq!(metrics.ask("POST", "/metrics").send().await.status, 405);
    for path in ["/", "/healthz", "/v1/me"] {
        assert_eq!(metrics.ask("GET", path).send().await.status, 404, "{path}");
    }
}

/// The default configuration serves no metrics.
#[test]
fn metrics_are_off_by_default() {
    assert_eq!(Config::default().metrics.listen, None);
}
