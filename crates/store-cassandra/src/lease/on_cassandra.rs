//! Tests on Cassandra, each with its own range of numbers.

use godwit_domain::snowflake::IdsRefused;
use godwit_protocol::Timestamp;
use godwit_protocol::ids::{NODE_BITS, SEQUENCE_BITS};
use godwit_testbed::{Cassandra, Shared};
use godwit_testkit::clock::TestClock;
use tokio::sync::OnceCell;

use super::*;
use crate::options::Options;
use crate::schema;

const NOON: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const MINUTE_MS: i64 = 60_000;

/// Never renewed in the background: the test renews.
fn terms(numbers: Range<u16>) -> Terms {
    Terms { renew_interval: Duration::from_secs(3_600), numbers, ..Terms::default() }
}

/// A process with its own session and clock.
struct Node {
    clock: Arc<TestClock>,
    cql: Arc<Cql>,
    _cassandra: Shared,
}

impl Node {
    async fn new() -> Self {
        static KEYSPACE: OnceCell<String> = OnceCell::const_new();
        let cassandra = Cassandra::shared().unwrap();
        let keyspace = KEYSPACE
            .get_or_init(|| async {
                let name = format!("lease_{:08x}", rand::random::<u32>());
                schema::create(&Options::patient(cassandra.contact_points(), &name)).await.unwrap();
                name
            })
            .await;
        let options = Options::patient(cassandra.contact_points(), keyspace);
        let cql = Cql::new(schema::prepare(&options).await.unwrap(), &options);
        Self { clock: Arc::new(TestClock::at(NOON)), cql: Arc::new(cql), _cassandra: cassandra }
    }

    async fn take(&self, terms: Terms) -> Result<(NodeLease, IdGenerator), LeaseError> {
        NodeLease::take_from(terms.numbers.start, self.cql.clone(), self.clock.clone(), terms).await
    }

    /// The stored row.
    async fn row(&self, lease: &NodeLease) -> LeaseRow {
        lease.keeper.register.rows.settled(lease.number()).await.unwrap()
    }

    async fn ceiling(&self, lease: &NodeLease) -> u64 {
        self.row(lease).await.ceiling.unwrap()
    }
}

impl NodeLease {
    fn number(&self) -> u16 {
        self.keeper.held().node
    }

    fn owner(&self) -> Option<Uuid> {
        Some(self.keeper.held().owner)
    }

    /// Does what Cassandra does when the time to live is over.
    async fn forget(&self, node: &Node) {
        let number = i32::from(self.number());
        let end = "UPDATE node_leases SET owner = null WHERE node = ? IF owner = ?";
        let end = node.cql.prepare_conditional(end).await.unwrap();
        let outcome = node.cql.conditional("end a lease", &end, (number, self.owner())).await;
        assert!(matches!(outcome, Outcome::Applied), "{outcome:?}");
    }
}

fn number_of(id: u64) -> u16 {
    ((id >> SEQUENCE_BITS) & ((1 << NODE_BITS) - 1)) as u16
}

fn refusal(outcome: Result<u64, StoreError>) -> IdsRefused {
    match outcome {
        Err(StoreError::Unavailable { source, .. }) => *source.downcast().unwrap(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn nodes_get_different_numbers_while_there_are_free_ones() {
    let node = Arc::new(Node::new().await);
    let taking: Vec<_> = (0..6)
        .map(|_| {
            let node = node.clone();
            tokio::spawn(async move { node.take(terms(0..4)).await })
        })
        .collect();
    let (mut numbers, mut refused, mut held) = (Vec::new(), 0, Vec::new());
    for take in taking {
        match take.await.unwrap() {
            Ok((lease, ids)) => {
                assert_eq!(number_of(ids.next().unwrap()), lease.number());
                numbers.push(lease.number());
                held.push(lease);
            }
            Err(error) => {
                assert!(matches!(error, LeaseError::NoneFree { in_use: 4, resting: 0 }), "{error:?}");
                refused += 1;
            }
        }
    }
    numbers.sort_unstable();
    assert_eq!((numbers, refused), (vec![0, 1, 2, 3], 2));
}

#[tokio::test]
async fn a_node_stops_giving_out_ids_before_its_lease_expires() {
    let node = Node::new().await;
    let short = Terms { ttl: Duration::from_secs(15), margin: Duration::from_secs(12), ..terms(10..11) };
    let (lease, ids) = node.take(short).await.unwrap();
    lease.health().unwrap();
    while ids.next().is_ok() {
        sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(refusal(ids.next()), IdsRefused::Ended);
    assert!(lease.health().is_err());
    assert_eq!(
        node.row(&lease).await.owner,
        lease.owner(),
        "the number was free before the node fell silent"
    );
    while node.row(&lease).await.owner.is_some() {
        sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test]
async fn a_renewed_lease_does_not_expire() {
    let node = Node::new().await;
    let short = Terms {
        ttl: Duration::from_secs(10),
        margin: Duration::from_secs(1),
        renew_interval: Duration::from_millis(500),
        ..terms(20..22)
    };
    let (lease, ids) = node.take(short).await.unwrap();
    let before = (lease.number(), lease.owner());
    let until = Instant::now() + Duration::from_secs(12);
    while Instant::now() < until {
        ids.next().unwrap();
        node.clock.advance_ms(MINUTE_MS);
        sleep(Duration::from_millis(600)).await;
    }
    assert_eq!((lease.number(), lease.owner()), before);
    assert_eq!(node.row(&lease).await.owner, lease.owner());
}

#[tokio::test]
async fn the_next_holder_of_a_number_begins_above_all_ids_of_the_previous_one() {
    let (first, second) = (Node::new().await, Node::new().await);
    let (lease, ids) = first.take(terms(30..31)).await.unwrap();
    // Another node, whose clock is ahead, has pushed the ids forward.
    let ahead = first_id_at(NOON.plus_millis(5 * MINUTE_MS));
    let highest = ids.next_after(ahead).unwrap();
    let ceiling = first.ceiling(&lease).await;
    assert!(ceiling >= highest);
    lease.forget(&first).await;

    // A clock that is behind: the number must not be used before the clock reaches the ceiling.
    second.clock.set(NOON.plus_millis(-5 * MINUTE_MS));
    let error = second.take(terms(30..31)).await.unwrap_err();
    assert!(matches!(error, LeaseError::NoneFree { in_use: 0, resting: 1 }), "{error}");
    second.clock.set(time_of(ceiling).plus_millis(-1));
    second.take(terms(30..31)).await.unwrap_err();

    second.clock.set(time_of(ceiling));
    let (lease, ids) = second.take(terms(30..31)).await.unwrap();
    assert_eq!(lease.number(), 30);
    // Even if the clock is set back in the meantime.
    second.clock.set(NOON.plus_millis(-5 * MINUTE_MS));
    let next = ids.next().unwrap();
    assert!(next > ceiling && ceiling >= highest, "{next} is not above {ceiling}");
}

#[tokio::test]
async fn a_released_number_is_free_at_once() {
    let node = Node::new().await;
    let (lease, ids) = node.take(terms(40..41)).await.unwrap();
    let last = ids.next().unwrap();
    lease.release().await;
    assert_eq!(refusal(ids.next()), IdsRefused::Ended);
    assert_eq!(node.row(&lease).await, LeaseRow { owner: None, ceiling: Some(last) });

    let (lease, ids) = node.take(terms(40..41)).await.unwrap();
    assert_eq!(lease.number(), 40);
    assert!(ids.next().unwrap() > last);
}

#[tokio::test]
async fn a_lost_number_is_replaced() {
    let node = Node::new().await;
    let (lease, ids) = node.take(terms(50..52)).await.unwrap();
    let given = ids.next().unwrap();
    let ceiling = node.ceiling(&lease).await;
    lease.forget(&node).await;
    // The clock of the other node is right, and it has waited.
    node.clock.set(time_of(ceiling));
    let (other, _) = node.take(terms(50..51)).await.unwrap();
    node.clock.set(NOON);
    assert_eq!(other.number(), lease.number());

    lease.keeper.renew_or_replace().await.unwrap();
    assert_eq!(lease.number(), 51);
    lease.health().unwrap();
    let next = ids.next().unwrap();
    assert_eq!(number_of(next), 51);
    assert!(next > given);
    assert_eq!(node.row(&other).await.owner, other.owner(), "the other one's number was taken away");
    lease.release().await;
    assert_eq!(node.row(&other).await.owner, other.owner(), "the other one's number was released");
}

#[tokio::test]
async fn a_node_follows_one_whose_clock_is_far_ahead() {
    let node = Node::new().await;
    let (lease, ids) = node.take(terms(60..61)).await.unwrap();
    let far = first_id_at(NOON.plus_millis(60 * MINUTE_MS));
    assert_eq!(refusal(ids.next_after(far)), IdsRefused::AboveCeiling);
    // The refusal has requested a renewal.
    while lease.keeper.lease.wanted() > node.ceiling(&lease).await {
        sleep(Duration::from_millis(20)).await;
    }
    let id = loop {
        match ids.next_after(far) {
            Ok(id) => break id,
            Err(_) => sleep(Duration::from_millis(20)).await,
        }
    };
    assert!(id > far && id <= node.ceiling(&lease).await);
}
