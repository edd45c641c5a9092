//! One of three nodes is lost under load: killed, or suspended so that its connections stay open without answers.

use futures_util::future::join_all;

use super::talk::Talk;
use super::{alone, blocking, server_on};
use crate::people::Person;

const TALKS: usize = 3;
/// Messages per conversation that must succeed in each state of the cluster.
const MESSAGES_EACH: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sends_continue_with_two_of_three_nodes_without_loss() {
    let cluster = alone().await;
    let server = server_on(&cluster.contact_points()).await;
    let mut talks = Vec::new();
    for _ in 0..TALKS {
        let url = server.url();
        talks.push(Talk::start([Person::stranger(&url).await, Person::stranger(&url).await]).await);
    }
    let all_go_on = async || join_all(talks.iter().map(|talk| talk.go_on_for(MESSAGES_EACH))).await;

    all_go_on().await;
    let (cluster, killed) = blocking(cluster, |cluster| cluster.kill(3)).await;
    killed.unwrap();
    all_go_on().await;
    let (cluster, started) = blocking(cluster, |cluster| cluster.start(3)).await;
    started.unwrap();
    all_go_on().await;
    cluster.pause(2).unwrap();
    all_go_on().await;
    cluster.resume(2).unwrap();
    all_go_on().await;

    let mut total = 0;
    for talk in talks {
        let failed = talk.failed();
        let sent = talk.stop_and_check().await;
        println!("{sent} messages acknowledged, {failed} attempts failed");
        total += sent;
    }
    assert!(total >= TALKS * 5 * MESSAGES_EACH);
    drop(tokio::task::spawn_blocking(move || drop(cluster)).await);
}
