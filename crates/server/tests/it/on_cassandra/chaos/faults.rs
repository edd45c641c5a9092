//! The faults: the seed determines their kind, time and duration.

use std::sync::Arc;
use std::time::{Duration, Instant};

use godwit_testbed::{Alone, Redis};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rustix::process::Signal;
use tokio::sync::Mutex;
use tokio::time::sleep;

use crate::balancer::Balancer;
use crate::process::ServerProcess;

/// Cassandra nodes.
const NODES: u8 = 3;

/// Logs the faults with their times.
pub(super) struct Journal {
    began: Instant,
}

impl Journal {
    pub(super) fn start() -> Self {
        Self { began: Instant::now() }
    }

    pub(super) fn write(&self, what: &str) {
        println!("{:>7.1} s  {what}", self.began.elapsed().as_secs_f64());
    }
}

pub(super) struct Servers {
    servers: Vec<Mutex<ServerProcess>>,
    balancer: Arc<Balancer>,
}

impl Servers {
    pub(super) fn new(servers: Vec<ServerProcess>, balancer: Arc<Balancer>) -> Self {
        Self { servers: servers.into_iter().map(Mutex::new).collect(), balancer }
    }

    pub(super) async fn urls(&self) -> Vec<String> {
        let mut urls = Vec::new();
        for server in &self.servers {
            urls.push(server.lock().await.url());
        }
        urls
    }

    pub(super) async fn end(self) {
        for server in self.servers {
            server.into_inner().stop().await;
        }
    }

    /// Faults of one server after the other. Returns when all servers are back.
    pub(super) async fn fail_at_random(&self, seed: u64, until: Instant, journal: &Journal) {
        let mut random = StdRng::seed_from_u64(seed);
        loop {
            sleep(ms(&mut random, 300..2_500)).await;
            if Instant::now() >= until {
                return;
            }
            let number = random.random_range(0..self.servers.len());
            let (kind, away) = (random.random_range(0..5), ms(&mut random, 200..4_000));
            let mut server = self.servers[number].lock().await;
            match kind {
                0 | 1 => {
                    journal.write(&format!("server {number} is killed, for {away:.1?}"));
                    server.kill().await;
                    sleep(away).await;
                    server.restart_repeatedly().await;
                    self.balancer.moved(number, server.address());
                }
                2 | 3 => {
                    journal.write(&format!("server {number} does nothing for {away:.1?}"));
                    server.signal(Signal::STOP);
                    sleep(away).await;
                    server.signal(Signal::CONT);
                }
                _ => {
                    journal.write(&format!("server {number} is stopped as it should be, and started again"));
                    server.stop().await;
                    server.restart_repeatedly().await;
                    self.balancer.moved(number, server.address());
                }
            }
        }
    }
}

/// Faults of Redis, and of one Cassandra node at a time: without two of three, no write could be acknowledged.
pub(super) async fn dependencies_fail_at_random(
    seed: u64,
    until: Instant,
    journal: &Journal,
    redis: Arc<Redis>,
    cluster: Arc<Alone>,
) {
    // Different faults than those of the servers.
    let mut random = StdRng::seed_from_u64(!seed);
    loop {
        sleep(ms(&mut random, 500..3_000)).await;
        if Instant::now() >= until {
            return;
        }
        let (kind, away) = (random.random_range(0..10), ms(&mut random, 300..5_000));
        let node = random.random_range(1..=NODES);
        match kind {
            0..=2 => {
                journal.write(&format!("Redis is killed, for {away:.1?}"));
                blocking(&redis, |redis| redis.kill().unwrap()).await;
                sleep(away).await;
                blocking(&redis, |redis| redis.start_again().unwrap()).await;
            }
            3..=5 => {
                journal.write(&format!("Redis does nothing for {away:.1?}"));
                blocking(&redis, |redis| redis.pause().unwrap()).await;
                sleep(away).await;
                blocking(&redis, |redis| redis.resume().unwrap()).await;
            }
            6..=8 => {
                journal.write(&format!("node {node} of Cassandra does nothing for {away:.1?}"));
                blocking(&cluster, move |cluster| cluster.pause(node).unwrap()).await;
                sleep(away).await;
                blocking(&cluster, move |cluster| cluster.resume(node).unwrap()).await;
            }
            _ => {
                journal.write(&format!("node {node} of Cassandra is killed, for {away:.1?}"));
                blocking(&cluster, move |cluster| cluster.kill(node).unwrap()).await;
                sleep(away).await;
                blocking(&cluster, move |cluster| cluster.start(node).unwrap()).await;
                journal.write(&format!("node {node} of Cassandra is back"));
            }
        }
    }
}

fn ms(random: &mut StdRng, range: std::ops::Range<u64>) -> Duration {
    Duration::from_millis(random.random_range(range))
}

async fn blocking<T: Send + Sync + 'static>(on: &Arc<T>, act: impl FnOnce(&T) + Send + 'static) {
    let on = on.clone();
    tokio::task::spawn_blocking(move || act(&on)).await.unwrap();
}
