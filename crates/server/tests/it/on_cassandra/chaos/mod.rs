//! Chaos: servers, Cassandra nodes and Redis are killed and suspended at random under load, while people use the servers
//! through a load balancer.
//!
//! The people stop before the last fault ends. At the end, every acknowledged message is in its log exactly once, with its
//! last acknowledged content, all members have seen the same log, and no cursor has gone back. A member who only watches has
//! received every kind of change. `GODWIT_TEST_CHAOS_SECONDS` sets the duration and `GODWIT_TEST_CHAOS_SEED` the faults: the same
//! seed causes the same faults at the same times, but their effects vary.

mod faults;

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use godwit_testbed::Redis;
use tokio::time::sleep_until;

use self::faults::{Journal, Servers};
use super::talkers::{Talkers, impatient};
use super::{alone, store_at, talking};
use crate::balancer::Balancer;
use crate::changes::Changes;
use crate::follower::Follower;
use crate::people::{Person, same_session};
use crate::process::ServerProcess;

const SERVERS: usize = 3;
/// The duration in `make test`; `make chaos` takes longer.
const SECONDS: u64 = 20;
/// The pause between two messages of one person.
const PAUSE: Duration = Duration::from_millis(100);
/// When a message disappears, in `Changes`: during the faults.
const DISAPPEARS_AFTER: Duration = Duration::from_secs(10);
/// Everything sent before this time must reach everybody without any later event.
const SILENT_BEFORE_THE_END: Duration = Duration::from_secs(3);

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_whatever_fails() {
    let seconds = variable("GODWIT_TEST_CHAOS_SECONDS").unwrap_or(SECONDS);
    let seed = variable("GODWIT_TEST_CHAOS_SEED").unwrap_or_else(|| rand::random_range(0..1_000_000));
    println!("seed {seed}, {seconds} s of faults (GODWIT_TEST_CHAOS_SEED={seed} makes the same ones)");

    let cluster = Arc::new(alone().await);
    let redis = tokio::task::spawn_blocking(Redis::start).await.unwrap();
    let redis = Arc::new(redis.unwrap_or_else(|error| panic!("{error}")));
    let store = store_at(&cluster.contact_points()).await;
    let settings =
        format!("[store]\nurl = {store:?}\n[cluster]\nredis_url = {:?}\n{}", redis.url(), talking());
    let servers = join_all((0..SERVERS).map(|_| ServerProcess::started_with(&settings))).await;
    let balancer = Balancer::start(servers.iter().map(ServerProcess::address)).await;
    let servers = Servers::new(servers, balancer.clone());

    let talkers = Talkers::start(&balancer.url(), PAUSE).await;
    let [ada, eve, bob] = Person::register_all(&balancer.url(), ["ada", "eve", "bob"])
        .await
        .map(|person| Person { http: impatient(&person.http, &balancer.url()), ..person });
    let changes = Changes::prepare(&ada, &eve, &bob, Some(DISAPPEARS_AFTER)).await;
    let watcher = Follower::restless("bob", bob.http.clone());
    watcher.catches_up().await;
    let journal = Journal::start();
    let until = Instant::now() + Duration::from_secs(seconds);
    tokio::join!(
        async {
            sleep_until((until - SILENT_BEFORE_THE_END).into()).await;
            talkers.fall_silent();
            journal.write("everybody falls silent");
        },
        async {
            let time = until.saturating_duration_since(Instant::now());
            changes.happen_despite_faults(time.saturating_sub(SILENT_BEFORE_THE_END)).await;
            journal.write("all changes have happened");
        },
        servers.fail_at_random(seed, until, &journal),
        faults::dependencies_fail_at_random(seed, until, &journal, redis.clone(), cluster.clone()),
    );
    journal.write("everything is there again");
    changes.have_reached(&same_session(&bob.http, &servers.urls().await[0]), watcher).await;
    let found = talkers.check(&servers.urls().await).await;
    journal.write(&found);
    servers.end().await;
    // Waits until all nodes are back, which blocks.
    drop(tokio::task::spawn_blocking(move || drop((cluster, redis))).await);
}
