use godwit_client::protocol::ErrorCode;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::people::{PASSWORD, Person, soon, unique};
use crate::process::ServerProcess;
use crate::raw_http::{Answer, RawHttp};
use crate::unlimited::limited_with;

/// The burst. Only one more attempt follows within the next minute.
const BURST: usize = 3;

const HOME: [u8; 4] = [127, 0, 7, 1];

async fn sign_in(from: [u8; 4], server: &ServerProcess, body: &Value) -> Answer {
    RawHttp::new_from(from, &server.url()).ask("POST", "/v1/sessions").json(body).send().await
}

fn guess(handle: &str) -> Value {
    json!({ "handle": handle, "password": "a guess" })
}

fn right(handle: &str) -> Value {
    json!({ "handle": handle, "password": PASSWORD })
}

/// The device proof of a sign-in, for the next one.
async fn proof_of(ada: &Person, server: &ServerProcess) -> String {
    let signed_in = sign_in(HOME, server, &right(&ada.handle)).await.ok();
    signed_in["device_proof"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn failed_sign_ins_lock_out_only_the_network_of_the_attacker() {
    let server = limited_with("sign_in_per_user_and_network", BURST, "").await;
    let ada = Person::register(&server.url(), "ada").await;
    let proof = proof_of(&ada, &server).await;
    for host in 0..BURST as u8 {
        sign_in([127, 0, 5, host + 1], &server, &guess(&ada.handle))
            .await
            .assert_problem(401, ErrorCode::WrongCredentials);
    }
    let refused = sign_in([127, 0, 5, 9], &server, &guess(&ada.handle)).await;
    refused.assert_problem(429, ErrorCode::RateLimited);
    // An unknown account is treated the same.
    let nobody = unique("nobody");
    for _ in 0..BURST {
        sign_in([127, 0, 5, 1], &server, &guess(&nobody))
            .await
            .assert_problem(401, ErrorCode::WrongCredentials);
    }
    sign_in([127, 0, 5, 1], &server, &guess(&nobody)).await.assert_problem(429, ErrorCode::RateLimited);
    // Ada can sign in at home, and in the stranger's network with a device that she has used before.
    assert_eq!(sign_in(HOME, &server, &right(&ada.handle)).await.status, 201);
    let mut known = right(&ada.handle);
    known["device_proof"] = json!(proof);
    assert_eq!(sign_in([127, 0, 5, 1], &server, &known).await.status, 201);
}

#[tokio::test]
async fn distributed_attempts_exhaust_the_limit_of_an_account_but_not_of_its_known_devices() {
    let server = limited_with("sign_in_per_user", BURST + 2, "").await;
    let [ada, eve] = Person::register_all(&server.url(), ["ada", "eve"]).await;
    let (proof, of_eve) = (proof_of(&ada, &server).await, proof_of(&eve, &server).await);
    for network in 0..BURST as u8 + 1 {
        sign_in([127, 0, network, 1], &server, &guess(&ada.handle))
            .await
            .assert_problem(401, ErrorCode::WrongCredentials);
    }
    let with = |proof: &str, password: &str| json!({ "handle": ada.handle, "password": password, "device_proof": proof });
    sign_in(HOME, &server, &right(&ada.handle)).await.assert_problem(429, ErrorCode::RateLimited);
    // Proofs of other users, and invalid ones, have no effect.
    for other in [of_eve.as_str(), ada.http.access_token().as_deref().unwrap(), "", "a.b.c"] {
        sign_in(HOME, &server, &with(other, PASSWORD)).await.assert_problem(429, ErrorCode::RateLimited);
    }
    assert_eq!(sign_in(HOME, &server, &with(&proof, PASSWORD)).await.status, 201);
    // The proof alone is not enough to sign in.
    sign_in(HOME, &server, &with(&proof, "a guess")).await.assert_problem(401, ErrorCode::WrongCredentials);
}

#[tokio::test]
async fn a_device_has_a_limit_of_its_own() {
    let server = limited_with("sign_in_per_device", BURST, "").await;
    let ada = Person::register(&server.url(), "ada").await;
    let proof = proof_of(&ada, &server).await;
    let guess = json!({ "handle": ada.handle, "password": "a guess", "device_proof": proof });
    for _ in 0..BURST {
        sign_in(HOME, &server, &guess).await.assert_problem(401, ErrorCode::WrongCredentials);
    }
    sign_in(HOME, &server, &guess).await.assert_problem(429, ErrorCode::RateLimited);
    assert_eq!(sign_in(HOME, &server, &right(&ada.handle)).await.status, 201);
}

#[tokio::test]
async fn repeated_sign_ins_on_a_device_do_not_raise_its_limit() {
    let server = limited_with("sign_in_per_device", BURST, "").await;
    let ada = Person::register(&server.url(), "ada").await;
    let mut proof = proof_of(&ada, &server).await;
    let with = |proof: &str, password: &str| json!({ "handle": ada.handle, "password": password, "device_proof": proof });
    for _ in 0..BURST {
        let signed_in = sign_in(HOME, &server, &with(&proof, PASSWORD)).await.ok();
        proof = signed_in["device_proof"].as_str().unwrap().to_owned();
    }
    let refused = sign_in(HOME, &server, &with(&proof, "a guess")).await;
    refused.assert_problem(429, ErrorCode::RateLimited);
}

#[tokio::test]
async fn all_known_devices_of_a_user_have_a_limit_together_also_for_password_changes() {
    let server = limited_with("known_sign_in_per_user", BURST, "").await;
    let [ada, bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
    let with = |proof: &str| json!({ "handle": ada.handle, "password": "a guess", "device_proof": proof });
    for _ in 1..BURST {
        let proof = proof_of(&ada, &server).await;
        sign_in(HOME, &server, &with(&proof)).await.assert_problem(401, ErrorCode::WrongCredentials);
    }
    let raw = RawHttp::new(&server.url());
    let guess = json!({ "current_password": "a guess", "new_password": "another password" });
    let change = async |by: &Person| raw.ask("PUT", "/v1/me/password").by(&by.http).json(&guess).send().await;
    change(&ada).await.assert_problem(401, ErrorCode::WrongCredentials);
    change(&ada).await.assert_problem(429, ErrorCode::RateLimited);
    let proof = proof_of(&ada, &server).await;
    sign_in(HOME, &server, &with(&proof)).await.assert_problem(429, ErrorCode::RateLimited);
    change(&bob).await.assert_problem(401, ErrorCode::WrongCredentials);
}

#[tokio::test]
async fn a_device_proof_from_before_a_password_change_is_invalid() {
    let server = limited_with("sign_in_per_user", BURST, "").await;
    let ada = Person::register(&server.url(), "ada").await;
    let before = proof_of(&ada, &server).await;
    let new = "another password";
    let change = json!({ "current_password": PASSWORD, "new_password": new });
    let raw = RawHttp::new(&server.url());
    raw.ask("PUT", "/v1/me/password").by(&ada.http).json(&change).send().await.ok();
    let signed_in = sign_in(HOME, &server, &json!({ "handle": ada.handle, "password": new })).await.ok();
    let after = signed_in["device_proof"].as_str().unwrap();
    sign_in(HOME, &server, &guess(&ada.handle)).await.assert_problem(401, ErrorCode::WrongCredentials);
    let with = |proof: &str| json!({ "handle": ada.handle, "password": new, "device_proof": proof });
    sign_in(HOME, &server, &with(&before)).await.assert_problem(429, ErrorCode::RateLimited);
    // The signed part alone is invalid without the tag of the password.
    let (signed, _) = after.rsplit_once('.').unwrap();
    let (_, tag) = before.rsplit_once('.').unwrap();
    let mixed = format!("{signed}.{tag}");
    sign_in(HOME, &server, &with(&mixed)).await.assert_problem(429, ErrorCode::RateLimited);
    assert_eq!(sign_in(HOME, &server, &with(after)).await.status, 201);
}

/// One hash at a time, each of which takes a while.
const SLOW: &str = "[auth.passwords]\nmemory_kib = 65536\niterations = 8\nconcurrent_max = 1\n[admission]\n\
    wait_ms = 60000\npasswords_waiting_per_network_max = 12\n";

#[tokio::test]
async fn a_flood_of_password_checks_does_not_delay_others() {
    let mut settings = "[rates]\n".to_owned();
    for limit in ["address", "network", "user_and_network", "user"] {
        settings.push_str(&format!("sign_in_per_{limit} = {{ per_minute = 0 }}\n"));
    }
    let server = ServerProcess::with_config(&format!("{settings}{SLOW}")).await;
    let ada = Person::register(&server.url(), "ada").await;
    let mut flood = JoinSet::new();
    for number in 0..40 {
        let raw = RawHttp::new_from([127, 0, 5, number], &server.url());
        let body = guess("nobody");
        flood.spawn(async move { raw.ask("POST", "/v1/sessions").json(&body).send().await });
    }
    // The queue of the network is full, and further requests are refused at once.
    for _ in 0..40 - 12 - 4 {
        let answer = soon("a refusal", flood.join_next()).await.unwrap().unwrap();
        if answer.status != 401 {
            let problem = answer.assert_problem(429, ErrorCode::RateLimited);
            assert!(problem.retry_after.unwrap() >= 1);
        }
    }
    let waiting = flood.len();
    assert_eq!(sign_in(HOME, &server, &right(&ada.handle)).await.status, 201);
    let mut served = 0;
    while flood.try_join_next().is_some() {
        served += 1;
    }
    assert!(served + 4 < waiting, "{served} of {waiting} were served before Ada");
}
