use std::time::Duration;

use jsonwebtoken::EncodingKey;
use serde_json::{Value, json};

use super::keys::{Claims, FROM_ANYBODY, SECRET, jwk, pairs, sign};
use crate::people::{soon, unique};
use crate::raw_http::RawHttp;
use crate::unlimited::unlimited_with;

#[tokio::test]
async fn keys_of_a_jwk_set_can_be_rotated_while_the_server_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jwks.json");
    let [(_, ed, ed_key), (_, ec, ec_key), (_, rsa, rsa_key)] = pairs();
    let ed_jwk = jwk(&ed_key, ed, "first");
    let (ec_jwk, rsa_jwk) = (jwk(&ec_key, ec, "second"), jwk(&rsa_key, rsa, "third"));
    // Writes atomically, so that no reader sees half a file.
    let write = |keys: Value| {
        let new = path.with_extension("new");
        std::fs::write(&new, json!({ "keys": keys }).to_string()).unwrap();
        std::fs::rename(new, &path).unwrap();
    };
    write(json!([ed_jwk]));
    let config = format!("{FROM_ANYBODY}jwks_file = {:?}\n", path.to_str().unwrap());
    let server = unlimited_with(&config).await;
    let raw = RawHttp::new(&server.url());
    let status = async |token: &str| raw.ask("GET", "/v1/me").token(token).send().await.status;
    // The server checks the file periodically, not for every token.
    let until = async |wanted: u16, token: &str| {
        soon("the new keys", async {
            while status(token).await != wanted {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        })
        .await;
    };
    let claims = Claims::of(&unique("ada"));
    let by_first = sign(ed, &ed_key, Some("first"), &claims);
    let by_second = sign(ec, &ec_key, Some("second"), &claims);
    let by_third = sign(rsa, &rsa_key, Some("third"), &claims);
    assert_eq!(status(&by_first).await, 200);
    assert_eq!(
        status(&sign(ed, &ed_key, None, &claims)).await,
        200,
        "one that names no key is tried with all"
    );
    assert_eq!(status(&sign(ed, &ed_key, Some("unknown"), &claims)).await, 401, "a key that is not there");
    for token in [&by_second, &by_third] {
        assert_eq!(status(token).await, 401);
    }

    write(json!([ed_jwk, ec_jwk, rsa_jwk]));
    until(200, &by_second).await;
    assert_eq!((status(&by_first).await, status(&by_third).await), (200, 200));
    let confused = sign(ec, &ec_key, Some("first"), &claims);
    assert_eq!(status(&confused).await, 401, "the key of another name");

    write(json!([ec_jwk]));
    until(401, &by_first).await;
    assert_eq!((status(&by_second).await, status(&by_third).await), (200, 401));

    // A broken or missing file changes nothing.
    let is_noticed = async |error: &str| {
        soon("the server to look at the file", async {
            while !server
                .stderr()
                .lines()
                .any(|line| line.contains("could not reload the keys") && line.contains(error))
            {
                assert_eq!(status(&by_second).await, 200);
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        })
        .await;
    };
    std::fs::write(&path, "{\"keys\":[").unwrap();
    is_noticed("EOF while parsing").await;
    assert_eq!((status(&by_second).await, status(&by_first).await), (200, 401));
    std::fs::remove_file(&path).unwrap();
    is_noticed("No such file").await;
    assert_eq!((status(&by_second).await, status(&by_first).await), (200, 401));
    write(json!([ed_jwk]));
    until(200, &by_first).await;
    let public_as_secret = EncodingKey::from_secret(ed_jwk["x"].as_str().unwrap().as_bytes());
    assert_eq!(
        status(&sign(jsonwebtoken::Algorithm::HS256, &public_as_secret, Some("first"), &claims)).await,
        401
    );
}

#[tokio::test]
async fn a_secret_can_be_in_a_jwk_set_too() {
    use base64::Engine;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jwks.json");
    let k = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(SECRET);
    let set = json!({ "keys": [{ "kty": "oct", "kid": "s", "alg": "HS256", "k": k }] });
    std::fs::write(&path, set.to_string()).unwrap();
    let server = unlimited_with(&format!("{FROM_ANYBODY}jwks_file = {:?}\n", path.to_str().unwrap())).await;
    let raw = RawHttp::new(&server.url());
    let key = EncodingKey::from_secret(SECRET.as_bytes());
    let token = sign(jsonwebtoken::Algorithm::HS256, &key, Some("s"), &Claims::of(&unique("ada")));
    raw.ask("GET", "/v1/me").token(&token).send().await.ok();
}
