//! Tests on Cassandra: users who join during a change, and the cost of a page of the inbox, as Cassandra traces
//! it.
//!
//! `INBOX_MESSAGES` and `INBOX_CONVERSATIONS` set the size; docs/schema.md has the figures of a large run.

use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt, TryStreamExt};
use godwit_domain::ports::{CHANGE_GRAIN_MS, InboxStore, change_time};
use godwit_protocol::Seq;
use godwit_testbed::Cassandra;
use godwit_testkit::batch::Batch;
use godwit_testkit::{Scene, WallClock};

use super::*;
use crate::cql::ReadCost;
use crate::test_keyspace::keyspace;
use crate::{CassandraStore, Options};

const PAGE: usize = 50;
const MESSAGES_PER_APPEND: usize = 100;
/// Conversations made concurrently.
const MADE_AT_ONCE: usize = 16;

fn size(variable: &str, default: usize) -> usize {
    std::env::var(variable).map_or(default, |size| size.parse().expect("a number"))
}

struct Stage {
    scene: Scene,
    store: Arc<CassandraStore>,
    user: UserId,
    _cassandra: godwit_testbed::Shared,
}

impl Stage {
    async fn new() -> Self {
        let cassandra = Cassandra::shared().unwrap_or_else(|error| panic!("{error}"));
        // Shorter than a server's.
        let terms = EpochTerms { valid: Duration::from_millis(200), age_min: Duration::from_secs(1) };
        let options = Options {
            inbox_epochs: terms,
            ..Options::patient(cassandra.contact_points(), keyspace(&cassandra).await)
        };
        let store = Arc::new(CassandraStore::open(options, Arc::new(WallClock)).await.expect("it opens"));
        let scene = Scene::new(vec![store.clone()]);
        let user = scene.user().await.expect("a user");
        Self { scene, store, user, _cassandra: cassandra }
    }

    /// Makes conversations of the user, each with one message.
    async fn make_conversations(&self, count: usize) -> Vec<ConversationId> {
        let made = (0..count).map(|_| async {
            self.scene.advance_ms(1_000);
            let other = self.scene.user().await?;
            let id = self.scene.open_direct(other, self.user).await?;
            self.scene.send(id, other, "hello").await?;
            Ok::<_, StoreError>(id)
        });
        stream::iter(made).buffer_unordered(MADE_AT_ONCE).try_collect().await.expect("conversations")
    }

    async fn talk(&self, id: ConversationId, messages: usize) {
        let mut state = self.scene.load(id).await.expect("it is there");
        for first in (0..messages).step_by(MESSAGES_PER_APPEND) {
            let mut batch = Batch::after(self.scene.ids(), &state);
            for number in first..messages.min(first + MESSAGES_PER_APPEND) {
                batch = batch.text(self.user, &format!("m{number}"));
            }
            let append = batch.build();
            append.effects.apply_to(&mut state);
            self.scene.append(append).await.expect("it is appended");
        }
        assert!(state.head.seq > Seq::new(messages as u64));
    }

    /// The rows that the queries of a first page read.
    async fn page_cost(&self) -> ReadCost {
        let inbox = &self.store.inbox;
        let user = int(self.user.get());
        let epochs = inbox.epochs.current(self.user).await.expect("an epoch");
        let mut cost = ReadCost::default();
        for epoch in epochs.read() {
            cost += inbox.cql.cost(&inbox.statements.recent, (user, int(epoch))).await;
        }
        for section in Section::ALL {
            let limit = i32::try_from(PAGE).expect("it is small");
            cost += inbox.cql.cost(&inbox.statements.order, (user, section.number(), 0_i64, limit)).await;
        }
        cost
    }

    async fn first_page(&self) -> Vec<InboxRow> {
        self.store.inbox(self.user, false, None, PAGE).await.expect("a page")
    }

    /// The median time of a first page, in microseconds.
    async fn page_micros(&self) -> u128 {
        let mut times = Vec::new();
        for _ in 0..21 {
            let began = Instant::now();
            assert!(!self.first_page().await.is_empty());
            times.push(began.elapsed().as_micros());
        }
        times.sort_unstable();
        times[times.len() / 2]
    }

    async fn report(&self, what: &str) -> ReadCost {
        let cost = self.page_cost().await;
        println!(
            "{what}: a page reads {} rows and {} tombstones, and takes {} µs",
            cost.live_rows,
            cost.tombstones,
            self.page_micros().await
        );
        cost
    }
}

#[tokio::test]
async fn a_user_who_joins_while_the_mark_is_raised_has_a_row_at_it() {
    let stage = Stage::new().await;
    let (scene, inbox, newcomer) = (&stage.scene, &stage.store.inbox, stage.user);
    let group = scene.group(2).await.expect("a group");
    let came = scene.now();
    let joining = scene.batch(group.id).await.expect("it is there").add(group.owner(), &[newcomer]).build();
    scene.append(joining).await.expect("it is appended");
    // A node that read the members before raises the mark, and crashes before it reads them again.
    let raised = came.plus_millis(2 * CHANGE_GRAIN_MS);
    assert!(inbox.touch(group.id, raised, &group.members).await.expect("it is raised"));
    let changed = async || {
        let rows = stage.store.changed_since(newcomer, Timestamp::default(), None, 10).await;
        rows.expect("a page").iter().map(|row| row.changed_at).collect::<Vec<_>>()
    };
    assert_eq!(changed().await, []);
    // The node of the new member read the mark before that, and continues.
    inbox.changes.place(newcomer, group.id, change_time(came)).await.expect("it has a row");
    assert_eq!(changed().await, [change_time(raised)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_conversation_leaves_no_tombstones_in_the_list() {
    let stage = Stage::new().await;
    let ids = stage.make_conversations(20).await;
    let before = stage.report("20 conversations with a message each").await;
    let messages = size("INBOX_MESSAGES", 3_000);
    stage.scene.advance_ms(60_000);
    stage.talk(ids[0], messages).await;
    let after = stage.report(&format!("and {messages} more messages in one of them")).await;
    assert_eq!((before.tombstones, after.tombstones), (0, 0));
    assert_eq!(after.live_rows, before.live_rows, "however much was sent");
    let page = stage.first_page().await;
    assert_eq!((page.len(), page[0].conversation), (ids.len(), ids[0]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_a_long_list_reads_as_much_as_one_of_a_short_list() {
    let stage = Stage::new().await;
    let recent_max = stage.store.inbox.recent_max;
    let conversations = size("INBOX_CONVERSATIONS", 3 * recent_max);
    stage.make_conversations(10).await;
    stage.report("10 conversations").await;
    stage.make_conversations(conversations - 10).await;
    stage.settle().await;
    let cost = stage.report(&format!("{conversations} conversations")).await;
    // A read covers three epochs. Each may grow past the limit until a reader notices and the epoch is old
    // enough to be followed by another.
    assert!(cost.live_rows <= 2 * 3 * recent_max + PAGE, "{cost:?}");
    assert!(cost.tombstones <= 3, "one for each epoch at most: {cost:?}");
    assert_eq!(stage.count_all().await, conversations, "and none is missing");
}

impl Stage {
    /// Waits until no epoch is full.
    async fn settle(&self) {
        for _ in 0..600 {
            let inbox = &self.store.inbox;
            let epoch = inbox.epochs.current(self.user).await.expect("an epoch").epoch;
            let newest = inbox.activities(self.user, epoch).await.expect("they are read");
            if newest.len() <= inbox.recent_max {
                return;
            }
            self.first_page().await;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("no epoch is begun");
    }

    async fn count_all(&self) -> usize {
        let (mut count, mut after) = (0, None);
        loop {
            let page = self.store.inbox(self.user, false, after, PAGE).await.expect("a page");
            count += page.len();
            match page.last() {
                Some(last) => after = Some(last.activity()),
                None => return count,
            }
        }
    }
}
