//! `godwit demo`: the sample data as a user sees it.

use godwit_client::protocol::accounts::SignIn;
use godwit_client::protocol::conversations::ConversationKind;

use crate::people::connect;
use crate::process::{ServerProcess, run};

#[tokio::test]
async fn the_demo_fills_an_empty_folder_once_and_prints_a_valid_password() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let told = run(&data, &["demo"]);
    let out = String::from_utf8(told.stdout).unwrap();
    assert!(told.status.success(), "{out}{}", String::from_utf8_lossy(&told.stderr));
    let password = out.split("password ").nth(1).unwrap().split_whitespace().next().unwrap();

    let mut server = ServerProcess::on(&data, &[]).await;
    let http = connect(&server.url());
    let sign_in = SignIn {
        handle: "ada".into(),
        password: password.to_owned(),
        device_name: Some("laptop".into()),
        device_proof: None,
    };
    let ada = http.sign_in(&sign_in).await.unwrap().user;
    assert_eq!(ada.display_name, "Ada Okafor");
    let inbox = http.conversations(None, None).await.unwrap().conversations;
    assert!(inbox.len() > 8, "{}", inbox.len());
    assert!(inbox[0].me.pinned && inbox[1].me.pinned && !inbox[2].me.pinned);
    let unread: u64 = inbox.iter().map(|conversation| conversation.unread).sum();
    assert_eq!(unread, 2 + 3 + 1 + 1);
    assert!(inbox.iter().any(|conversation| conversation.kind == ConversationKind::Channel));
    // It has a past, and no message is in the future.
    let oldest = inbox.iter().map(|conversation| conversation.created_at).min().unwrap();
    let newest = inbox.iter().map(|conversation| conversation.last_activity_at).max().unwrap();
    let (weeks_ms, now) = (21 * 24 * 3_600_000, crate::people::in_ms(0));
    assert!(newest.millis_since(oldest) > weeks_ms && newest <= now, "{oldest} {newest} {now}");
    server.stop().await;

    let again = run(&data, &["demo"]);
    assert!(!again.status.success());
    assert!(String::from_utf8_lossy(&again.stderr).contains("the store already has users"));
}
