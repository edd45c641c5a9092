//! Transfers from one folder to another.

use std::path::Path;
use std::time::Duration;

use godwit_client::Draft;

use super::unlimited;
use crate::people::{Person, soon};
use crate::process::{ServerProcess, run};

fn at(folder: &Path) -> String {
    format!("embedded:{}", folder.display())
}

fn transfer(from: &Path, to: &Path) -> String {
    let output = run(from, &["transfer", "--from", &at(from), "--to", &at(to)]);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    assert!(out.contains("both stores are equal"), "{out}");
    out.into_owned()
}

/// The error of a server that refuses to start.
fn refusal(data: &Path) -> String {
    let output = run(data, &["serve", "--listen", "127.0.0.1:0"]);
    assert!(!output.status.success());
    String::from_utf8(output.stderr).unwrap()
}

#[tokio::test]
async fn after_a_transfer_the_server_runs_only_on_the_new_store() {
    let mut server = unlimited().await;
    let (first, second) = (server.data_dir().to_owned(), server.data_dir().with_file_name("second"));
    let [mut ada, bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
    let chat = ada.open_direct(&bob).await;
    ada.http.send_message(chat, Draft::text("before")).await.unwrap();

    let (from, to) = (first.clone(), second.clone());
    tokio::task::spawn_blocking(move || transfer(&from, &to)).await.unwrap();
    // It listens at the same address once the other store is open.
    let said = soon("the server goes on", async {
        loop {
            match bob.http.send_message(chat, Draft::text("after").client_id("after")).await {
                Ok(said) => return said,
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    })
    .await;
    assert_eq!(ada.http.message(said.id).await.unwrap().seq, said.seq);
    server.stop().await;
    let refused = refusal(&first);
    assert!(refused.contains(&format!("the data was transferred to {}", at(&second))), "{refused}");

    // The same without a running server.
    let third = first.with_file_name("third");
    transfer(&second, &third);
    let mut server = ServerProcess::on(&third, &[]).await;
    ada.follow(&server.url());
    assert_eq!(ada.http.message(said.id).await.unwrap().seq, said.seq);
    server.stop().await;
}
