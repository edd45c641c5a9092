//! Servers that could not communicate are not allowed on the same store.

use std::time::Duration;

use godwit_testbed::{Cassandra, Redis};
use tokio::time::sleep;

use crate::people::{Person, soon};
use crate::process::{ServerProcess, run};
use crate::store::made;
use crate::unlimited::without_limits;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_server_needs_redis_and_so_does_the_first() {
    let (cluster, redis) =
        tokio::task::spawn_blocking(|| (Cassandra::shared(), Redis::start())).await.unwrap();
    let (cluster, redis) = (cluster.unwrap(), redis.unwrap());
    let contact_points = cluster.contact_points();
    let store = tokio::task::spawn_blocking(move || made(&contact_points, "alone")).await.unwrap();
    let alone = format!("[store]\nurl = {store:?}\n{}", without_limits());
    let one_of_many = format!("[cluster]\nredis_url = {:?}\n{alone}", redis.url());

    let mut first = ServerProcess::started_with(&alone).await;
    refused(&alone, "start each of them with --redis");
    refused(&one_of_many, "a server without --redis uses this keyspace");
    // A server never blocks its own restart, even after a kill.
    first.kill().await;
    first.start_again().await;
    Person::stranger(&first.url()).await;
    // Commands of the operator do not count as servers.
    let folder = tempfile::tempdir().unwrap();
    let listed = run(&folder.path().join("data"), &["user", "list", "--store", &store]);
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    first.stop().await;

    let second = ServerProcess::started_with(&one_of_many).await;
    let third = ServerProcess::started_with(&one_of_many).await;
    refused(&alone, "start each of them with --redis");
    drop((second, third));
    // A killed server counts until its entry expires.
    soon("the store to be free", async {
        while ends(&alone).is_some() {
            sleep(Duration::from_secs(1)).await;
        }
    })
    .await;
}

fn refused(settings: &str, why: &str) {
    let error = ends(settings).expect("the server is refused");
    assert!(error.contains(why), "{error}");
}

/// The error of a server that refuses to start; `None` if it starts.
fn ends(settings: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("test.toml");
    std::fs::write(&file, settings).unwrap();
    let mut command = crate::process::godwit(&folder.path().join("data"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--config", file.to_str().unwrap()]);
    let mut child =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut first_line = String::new();
    let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut stdout, &mut first_line).unwrap();
    if first_line.is_empty() {
        let output = child.wait_with_output().unwrap();
        return Some(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::TERM)
        .unwrap();
    child.wait().unwrap();
    None
}
