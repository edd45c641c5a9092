//! The log of sign-ins.

use godwit_client::Http;
use godwit_client::protocol::accounts::{ChangePassword, SignIn};
use serde_json::{Value, json};

use crate::people::{PASSWORD, Person, soon};
use crate::process::ServerProcess;
use crate::raw_http::RawHttp;
use crate::raw_socket::RawSocket;
use crate::unlimited::unlimited_with;

const JSON_LOG: &str = "[log]\nformat = \"json\"\n";
/// Above this burst, failures are only counted.
const FAILURES_BURST: usize = 50;

/// The log lines about sign-ins.
fn lines(server: &ServerProcess) -> Vec<Value> {
    let parsed =
        server.stderr().lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>();
    let is_about = |line: &Value| matches!(line["message"].as_str(), Some("signed in" | "a sign-in failed"));
    parsed.into_iter().filter(is_about).collect()
}

/// Waits for a line, because another thread reads the log.
async fn line(server: &ServerProcess, is_it: impl Fn(&Value) -> bool) -> Value {
    soon("a line of the log", async {
        loop {
            if let Some(found) = lines(server).into_iter().find(&is_it) {
                return found;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await
}

#[tokio::test]
async fn sign_ins_and_failures_are_logged_without_secrets() {
    let server = unlimited_with(JSON_LOG).await;
    let ada = Person::register(&server.url(), "ada").await;
    let by = |by: &'static str, outcome: &'static str| {
        move |line: &Value| line["by"] == by && line["message"] == outcome
    };
    let registered = line(&server, by("registration", "signed in")).await;
    assert_eq!(
        (&registered["user"], &registered["address"]),
        (&json!(ada.id.to_string()), &json!("127.0.0.1"))
    );
    assert!(registered["device"].is_string(), "{registered}");

    let http = Http::new(&server.url()).unwrap();
    let wrong = SignIn {
        handle: ada.handle.to_uppercase(),
        password: "hunter2 hunter2".into(),
        device_name: None,
        device_proof: None,
    };
    http.sign_in(&wrong).await.unwrap_err();
    let failed = line(&server, by("password", "a sign-in failed")).await;
    assert_eq!((&failed["reason"], &failed["level"]), (&json!("wrong_credentials"), &json!("WARN")));
    assert_eq!(
        failed["handle"], registered["handle"],
        "attempts for one account can be told from those for many"
    );
    let right = SignIn { password: PASSWORD.into(), ..wrong };
    http.sign_in(&right).await.unwrap();
    assert_eq!(line(&server, by("password", "signed in")).await["user"], registered["user"]);

    let change = |current: &str| ChangePassword {
        current_password: current.into(),
        new_password: "another password".into(),
    };
    let before = http.tokens().unwrap();
    http.change_password(&change("wrong password")).await.unwrap_err();
    line(&server, by("password_change", "a sign-in failed")).await;
    http.change_password(&change(PASSWORD)).await.unwrap();
    line(&server, by("password_change", "signed in")).await;
    let raw = RawHttp::new(&server.url());
    raw.ask("POST", "/v1/sessions/refresh")
        .json(&json!({ "refresh_token": before.refresh_token }))
        .send()
        .await;
    assert_eq!(line(&server, by("refresh_token", "a sign-in failed")).await["reason"], "refresh_reused");
    let mut socket = RawSocket::open(server.address(), None).await;
    socket.call("sign_in", json!({ "access_token": "nonsense" })).await;
    line(&server, by("socket", "a sign-in failed")).await;
    raw.ask("GET", "/v1/me").header("authorization", "Bearer nonsense.again").send().await;
    let refused = line(&server, by("request", "a sign-in failed")).await;
    assert_eq!((&refused["reason"], &refused["address"]), (&json!("unauthenticated"), &json!("127.0.0.1")));
    // The reused refresh token has ended the session.
    http.sign_in(&SignIn { password: "another password".into(), ..right }).await.unwrap();
    http.me().await.unwrap();
    assert!(!lines(&server).iter().any(by("request", "signed in")), "good tokens are not logged");

    let log = server.stderr();
    let tokens = [before.access_token, before.refresh_token];
    let secrets = ["hunter2", PASSWORD, "another password", "nonsense"].map(str::to_owned);
    for secret in secrets.into_iter().chain(tokens).chain([ada.handle]) {
        assert!(!log.to_lowercase().contains(&secret.to_lowercase()), "{secret} is in the log:\n{log}");
    }
}

#[tokio::test]
async fn a_flood_of_failures_does_not_flood_the_log() {
    let server = unlimited_with(JSON_LOG).await;
    let raw = RawHttp::new(&server.url());
    let attempts = 4 * FAILURES_BURST;
    for number in 0..attempts {
        let body = json!({ "handle": format!("nobody{number}"), "password": "password" });
        raw.ask("POST", "/v1/sessions").json(&body).send().await;
    }
    // In addition, one per second is logged.
    let told = lines(&server).len();
    assert!((1..=2 * FAILURES_BURST).contains(&told), "{told} lines");
    let metrics = server.metrics().await;
    let counted = format!("godwit_sign_ins_total{{by=\"password\",outcome=\"failed\"}} {attempts}");
    assert!(metrics.contains(&counted), "{metrics}");
}

#[tokio::test]
async fn a_flood_of_bad_tokens_neither_floods_the_log_nor_hides_guesses_of_passwords() {
    let server = unlimited_with(JSON_LOG).await;
    let raw = RawHttp::new(&server.url());
    let attempts = 4 * FAILURES_BURST;
    for number in 0..attempts {
        raw.ask("GET", "/v1/me").header("authorization", &format!("Bearer t{number}")).send().await;
    }
    let told = lines(&server).len();
    assert!((1..=2 * FAILURES_BURST).contains(&told), "{told} lines");
    let metrics = server.metrics().await;
    let counted = format!("godwit_sign_ins_total{{by=\"request\",outcome=\"failed\"}} {attempts}");
    assert!(metrics.contains(&counted), "{metrics}");
    let guess = json!({ "handle": "nobody", "password": "password" });
    raw.ask("POST", "/v1/sessions").json(&guess).send().await;
    line(&server, |line| line["by"] == "password").await;
}

#[tokio::test]
async fn an_untrusted_proxy_is_logged_once() {
    let server = unlimited_with(JSON_LOG).await;
    let raw = RawHttp::new(&server.url());
    raw.ask("GET", "/healthz").send().await;
    assert!(!server.stderr().contains("trust_forwarded_for"));
    for _ in 0..3 {
        raw.ask("GET", "/healthz").header("x-forwarded-for", "203.0.113.9").send().await;
    }
    said_once(&server, "this server seems to be behind a proxy").await;

    let trusting = unlimited_with(&format!("{JSON_LOG}[server]\ntrust_forwarded_for = true\n")).await;
    let raw = RawHttp::new(&trusting.url());
    raw.ask("GET", "/healthz").header("x-forwarded-for", "203.0.113.9").send().await;
    assert!(!trusting.stderr().contains("trust_forwarded_for"));
    for _ in 0..3 {
        raw.ask("GET", "/healthz").send().await;
    }
    said_once(&trusting, "has no X-Forwarded-For").await;
}

async fn said_once(server: &ServerProcess, what: &str) {
    soon(what, async {
        while !server.stderr().contains(what) {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await;
    assert_eq!(server.stderr().matches(what).count(), 1);
}
