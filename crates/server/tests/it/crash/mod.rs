//! The real binary under load, killed at random moments. After each restart, everything that was acknowledged exists exactly
//! once, and all projections agree with the log.
//!
//! The moments come from a seed that is printed; `GODWIT_SEED` repeats a run as far as the scheduler allows.

mod check;
mod load;
mod newcomers;

use std::time::Duration;

use futures_util::future::join_all;
use rand::RngExt;

use self::check::Pair;
use self::newcomers::Newcomers;
use crate::people::Person;
use crate::seed::seeded;
use crate::store::Enough;
use crate::unlimited::unlimited;
use crate::wire::Wire;

const KILLS: Enough = Enough { embedded: 12, cassandra: 4 };
/// Conversations under load.
const PAIRS: usize = 3;
/// The probability that a server is killed again right after its restart.
const KILLED_AGAIN: f64 = 0.25;
/// The maximum duration of the load before a kill, in milliseconds.
const LOAD_MS_MAX: u64 = 400;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_however_often_the_server_is_killed() {
    let mut random = seeded(rand::random());
    let mut server = unlimited().await;
    // The restarted server has a new address; the clients reach it through the relay.
    let wire = Wire::to(server.address()).await;
    let people = join_all((0..2 * PAIRS).map(|number| {
        let url = wire.url.clone();
        async move { Person::register(&url, &format!("person{number}")).await }
    }))
    .await;
    let mut pairs = Vec::new();
    for two in people.chunks(2) {
        pairs.push(Pair::new(two[0].clone(), two[1].clone()).await);
    }
    let mut newcomers = strangers(&people);

    for round in 0..KILLS.here() {
        let opening = newcomers.next().map(|(a, b)| tokio::spawn(Newcomers::meet(a, b)));
        let loads: Vec<_> = pairs.iter().map(|pair| pair.start_load(round)).collect();
        tokio::time::sleep(Duration::from_millis(random.random_range(0..LOAD_MS_MAX))).await;
        server.kill().await;
        for (pair, load) in pairs.iter_mut().zip(loads) {
            pair.take(load.finish().await);
        }
        server.start_again().await;
        if random.random_bool(KILLED_AGAIN) {
            server.kill().await;
            server.start_again().await;
        }
        wire.lead_to(server.address());
        for pair in &mut pairs {
            pair.check(&mut random).await;
        }
        if let Some(opening) = opening {
            opening.await.unwrap().check().await;
        }
    }

    let total = |count: fn(&Pair) -> usize| pairs.iter().map(count).sum::<usize>();
    let (acknowledged, in_flight) = (total(Pair::acknowledged), total(|pair| pair.in_flight_at_kills));
    let stored = total(|pair| pair.stored_unanswered);
    println!(
        "{acknowledged} messages; {in_flight} in flight at {} kills, of which {stored} were stored",
        KILLS.here()
    );
    assert!(in_flight > 0, "the kills came under load");
}

/// Pairs of people who have no conversation yet.
fn strangers(people: &[Person]) -> impl Iterator<Item = (Person, Person)> {
    let mut pairs = Vec::new();
    for (number, one) in people.iter().enumerate() {
        // The neighbour of an even number is the other half of a pair under load.
        let first_stranger = if number % 2 == 0 { number + 2 } else { number + 1 };
        pairs.extend(people.iter().skip(first_stranger).map(|other| (one.clone(), other.clone())));
    }
    pairs.into_iter()
}
