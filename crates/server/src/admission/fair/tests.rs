use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::task::{JoinHandle, yield_now};

use super::*;

const TOOK_AT_FIRST: Duration = Duration::from_millis(50);
const LIMITS: FairQueueLimits = FairQueueLimits {
    at_once_max: 1,
    waiting_max: 10,
    waiting_per_network_max: 6,
    wait_max: Duration::from_secs(60),
    took_at_first: TOOK_AT_FIRST,
};

/// A queue whose hashes take until the test ends them.
struct Stage {
    queue: Arc<FairQueue>,
    order: Arc<Mutex<Vec<&'static str>>>,
    going_on: Arc<AtomicUsize>,
    done: Arc<tokio::sync::Semaphore>,
}

impl Stage {
    fn new(limits: FairQueueLimits) -> Self {
        Self {
            queue: FairQueue::new("test", limits),
            order: Arc::default(),
            going_on: Arc::default(),
            done: Arc::new(tokio::sync::Semaphore::new(0)),
        }
    }

    async fn send(&self, name: &'static str, from: &str, is_known: bool) -> JoinHandle<ApiResult<()>> {
        let from = ClientAddress(from.parse().unwrap());
        let (queue, order, done) = (self.queue.clone(), self.order.clone(), self.done.clone());
        let going_on = self.going_on.clone();
        let sent = tokio::spawn(async move {
            let work = async move {
                assert_eq!(going_on.fetch_add(1, Ordering::SeqCst), 0, "two at once");
                order.lock().unwrap().push(name);
                done.acquire().await.unwrap().forget();
                going_on.fetch_sub(1, Ordering::SeqCst);
            };
            queue.run(from, is_known, work).await
        });
        // Lets each request enter the queue before the next one is sent.
        for _ in 0..10 {
            yield_now().await;
        }
        sent
    }

    async fn finish(&self) -> Vec<&'static str> {
        self.done.add_permits(1_000);
        for _ in 0..1_000 {
            yield_now().await;
        }
        std::mem::take(&mut self.order.lock().unwrap())
    }
}

#[tokio::test(start_paused = true)]
async fn networks_take_turns() {
    let stage = Stage::new(LIMITS);
    let mut sent = Vec::new();
    for n in 0..5 {
        sent.push(stage.send("flood", &format!("192.0.2.{n}"), false).await);
    }
    sent.push(stage.send("ada", "198.51.100.1", false).await);
    sent.push(stage.send("ada", "198.51.100.2", false).await);
    sent.push(stage.send("bob", "203.0.113.1", false).await);
    assert_eq!(stage.finish().await, ["flood", "flood", "ada", "bob", "flood", "ada", "flood", "flood"]);
    for sent in sent {
        sent.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn known_devices_have_every_second_turn() {
    let stage = Stage::new(LIMITS);
    for n in 0..5 {
        stage.send("flood", &format!("192.0.{n}.1"), false).await;
    }
    stage.send("known", "192.0.2.1", true).await;
    stage.send("known", "192.0.2.1", true).await;
    assert_eq!(stage.finish().await, ["flood", "known", "flood", "known", "flood", "flood", "flood"]);
}

#[tokio::test(start_paused = true)]
async fn networks_and_the_whole_queue_have_limits() {
    let stage = Stage::new(LIMITS);
    let mut flood = Vec::new();
    for _ in 0..7 {
        flood.push(stage.send("flood", "192.0.2.1", false).await);
    }
    let refused = stage.send("flood", "192.0.2.1", false).await.await.unwrap().unwrap_err().into_problem();
    assert_eq!(refused.code, ErrorCode::RateLimited);
    assert!(refused.retry_after.unwrap() >= 1);
    // The queue is full. A network with fewer requests takes a place from the one with the most.
    for n in 0..5 {
        let sent = stage.send("other", &format!("198.51.{n}.1"), false).await;
        assert!(!sent.is_finished(), "{n}");
    }
    let refused = flood.remove(6).await.unwrap().unwrap_err().into_problem();
    assert_eq!(refused.code, ErrorCode::Unavailable);
    let order = stage.finish().await;
    assert_eq!(order.iter().filter(|name| **name == "flood").count(), 6);
    assert_eq!(order.iter().filter(|name| **name == "other").count(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_known_device_finds_a_place_however_many_networks_wait() {
    let stage = Stage::new(LIMITS);
    let mut flood = Vec::new();
    for n in 0..11 {
        flood.push(stage.send("flood", &format!("192.0.{n}.1"), false).await);
    }
    let refused = stage.send("flood", "192.0.11.1", false).await.await.unwrap();
    assert_eq!(refused.unwrap_err().code(), ErrorCode::Unavailable, "all places are taken");
    let known = stage.send("known", "198.51.100.1", true).await;
    assert!(!known.is_finished());
    let order = stage.finish().await;
    assert_eq!(order[..2], ["flood", "known"]);
    assert_eq!(order.len(), 11, "one stranger gave up their place");
    known.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_request_that_would_wait_too_long_is_refused_at_once() {
    let stage = Stage::new(FairQueueLimits { wait_max: TOOK_AT_FIRST * 3, ..LIMITS });
    let mut sent = Vec::new();
    for n in 0..5 {
        sent.push(stage.send("first", &format!("192.0.{n}.1"), false).await);
    }
    let refused = sent.remove(4).await.unwrap();
    assert_eq!(refused.unwrap_err().code(), ErrorCode::Unavailable);
    assert!(sent.iter().all(|sent| !sent.is_finished()));
    // Callers without an answer in time are refused too.
    let waited = sent.remove(2).await.unwrap();
    assert_eq!(waited.unwrap_err().code(), ErrorCode::Unavailable);
}

#[tokio::test(start_paused = true)]
async fn cancelled_requests_are_skipped_and_started_work_keeps_its_turn() {
    let stage = Stage::new(LIMITS);
    let begun = stage.send("begun", "192.0.2.1", false).await;
    let gone = stage.send("gone", "192.0.3.1", false).await;
    let stays = stage.send("stays", "192.0.4.1", false).await;
    begun.abort();
    gone.abort();
    yield_now().await;
    assert!(!stays.is_finished());
    assert_eq!(stage.order.lock().unwrap().as_slice(), ["begun"]);
    assert_eq!(stage.finish().await, ["begun", "stays"]);
    stays.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn addresses_of_a_network_take_turns_and_none_takes_all_places() {
    let stage = Stage::new(LIMITS);
    let mut flood = Vec::new();
    for _ in 0..7 {
        flood.push(stage.send("flood", "2001:db8:1:1::1", false).await);
    }
    // Another customer of the same provider: the network is full, and the flood has most of it.
    let mut ada = Vec::new();
    for host in ["2001:db8:1:2::1", "2001:db8:1:2::2"] {
        ada.push(stage.send("ada", host, false).await);
    }
    for _ in 0..2 {
        let refused = flood.pop().unwrap().await.unwrap().unwrap_err().into_problem();
        assert!(refused.retry_after.unwrap() >= 1);
    }
    let refused = stage.send("flood", "2001:db8:1:1::2", false).await.await.unwrap().unwrap_err();
    assert_eq!(refused.code(), ErrorCode::RateLimited);
    assert_eq!(stage.finish().await, ["flood", "flood", "ada", "flood", "ada", "flood", "flood"]);
    for ada in ada {
        ada.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn cancelled_requests_do_not_count_towards_their_network() {
    let stage = Stage::new(LIMITS);
    let begun = stage.send("begun", "192.0.2.1", false).await;
    for _ in 0..6 {
        stage.send("gone", "192.0.2.1", false).await.abort();
    }
    yield_now().await;
    let stays = stage.send("stays", "192.0.2.1", false).await;
    assert_eq!(stage.finish().await, ["begun", "stays"]);
    begun.await.unwrap().unwrap();
    stays.await.unwrap().unwrap();
}
