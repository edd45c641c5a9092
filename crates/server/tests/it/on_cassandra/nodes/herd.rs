//! A thundering herd: a server is killed, and all its clients connect to the others at once.

use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt};
use godwit_client::protocol::UserId;
use godwit_client::{Draft, Live};

use super::Nodes;
use crate::balancer::Balancer;
use crate::follower::Follower;
use crate::people::{Person, answered};

/// The number of clients. `GODWIT_TEST_HERD` overrides it for measurements.
const CLIENTS: usize = 100;
/// People created concurrently.
const AT_ONCE: usize = 16;
/// The time limit for requests of clients that stayed connected.
const OTHERS_WAIT_MAX: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_clients_of_a_killed_server_reconnect_and_catch_up() {
    let count = std::env::var("GODWIT_TEST_HERD").map_or(CLIENTS, |text| text.parse().unwrap());
    let (mut nodes, _redis) = Nodes::start(3).await;
    let balancer = Balancer::start([nodes.servers[0].address()].into_iter()).await;
    let speaker = nodes.person(1, "speaker").await;
    let url = balancer.url();
    let people: Vec<Person> = stream::iter(0..count)
        .map(|_| Person::register(&url, "client"))
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    let ids: Vec<UserId> = people.iter().map(|person| person.id).collect();
    let group = answered(async || speaker.http.group("all", &ids[..ids.len().min(100)]).await).await;
    let group = group.conversation.id;
    for ids in ids.chunks(100).skip(1) {
        answered(async || speaker.http.add_members(group, ids).await).await;
    }
    let mut followers: Vec<Follower> = Vec::new();
    for people in people.chunks(CLIENTS) {
        let come = people.iter().map(|person| Follower::restless(&person.handle, person.http.clone()));
        let begin = followers.len();
        followers.extend(come);
        stream::iter(&followers[begin..]).for_each_concurrent(None, Follower::catches_up).await;
    }
    // A user on another server, who must not be affected.
    let onlooker = nodes.person(1, "onlooker").await;
    let chat = speaker.open_direct(&onlooker).await;

    nodes.servers[0].kill().await;
    let began = Instant::now();
    balancer.hand_over_to(nodes.servers[1..].iter().map(crate::process::ServerProcess::address));
    let question = Draft::text("who is there?");
    let said = answered(async || speaker.http.send_message(group, question.clone()).await).await;
    let coming = async {
        stream::iter(&followers)
            .for_each_concurrent(None, |follower| follower.reaches(group, said.seq))
            .await;
        began.elapsed()
    };
    let served = async {
        let (mut slowest, mut sent) = (Duration::ZERO, 0);
        loop {
            let asked = Instant::now();
            let message = Draft::text("still here");
            answered(async || onlooker.http.send_message(chat, message.clone()).await).await;
            (slowest, sent) = (slowest.max(asked.elapsed()), sent + 1);
            assert!(slowest < OTHERS_WAIT_MAX, "the others had to wait for {slowest:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
            if followers.iter().all(|follower| is_online(&follower.live)) && sent > 10 {
                return slowest;
            }
        }
    };
    let (took, slowest) = tokio::join!(coming, served);
    println!(
        "{count} clients back and caught up after {took:.1?}; the slowest send of another client took {slowest:.0?}"
    );
    for follower in followers {
        let followed = follower.finish().await;
        assert_eq!(followed.all_reset, 0);
    }
}

fn is_online(live: &Live) -> bool {
    matches!(live.connection(), godwit_client::live::Connection::Online)
}
