//! Allocations per send, delivery and page. They are the same on every machine, however busy it is, so this test detects a
//! regression.
//!
//! The test has its own process, because it counts all allocations of the process.

use std::alloc::System;
use std::sync::Arc;

use bytes::Bytes;
use godwit_bench::world::World;
use godwit_delivery::{Socket, Step};
use godwit_domain::messages::HistoryPage;
use godwit_protocol::{ConversationId, DeviceId, UserId};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The last recorded figures. A change that lowers one records the new figure here.
const BASELINE: Cost = Cost { send: 82.0, delivery: 1.03, page: 120.0 };
/// The tolerance above the baseline, because buffer growth falls into one run or the next.
const DEARER_MAX: f64 = 1.1;
/// Below this fraction, the test asks for a new baseline.
const CHEAPER_MAX: f64 = 0.8;

const WARM_UP: usize = 300;
const SENDS: usize = 1_000;
const PAGES: usize = 200;
const PAGE_MESSAGES: usize = 50;
const MEMBERS: usize = 101;

/// Numbers of allocations.
#[derive(Debug, Clone, Copy)]
struct Cost {
    /// From the use case to the acknowledgement, without online members.
    send: f64,
    /// Per additional online member.
    delivery: f64,
    /// A page of [`PAGE_MESSAGES`] messages.
    page: f64,
}

#[tokio::test]
async fn sends_deliveries_and_pages_cost_what_they_did() -> anyhow::Result<()> {
    let cost = measure().await?;
    println!("{cost:?}");
    for (name, now, before) in [
        ("send", cost.send, BASELINE.send),
        ("delivery", cost.delivery, BASELINE.delivery),
        ("page", cost.page, BASELINE.page),
    ] {
        assert!(now <= before * DEARER_MAX, "a {name} takes {now:.2} allocations; it took {before}");
        assert!(
            now >= before * CHEAPER_MAX,
            "a {name} takes only {now:.2} allocations: write that into BASELINE"
        );
    }
    Ok(())
}

async fn measure() -> anyhow::Result<Cost> {
    let folder = tempfile::tempdir()?;
    let world = World::open(folder.path())?;
    let (group, users) = world.make_group(MEMBERS, |_| ()).await?;
    let mut sent = 0;
    send(&world, users[0], group, &[], &mut sent, WARM_UP).await?;
    let alone = send(&world, users[0], group, &[], &mut sent, SENDS).await?;
    let mut sockets = Vec::new();
    for user in &users[1..] {
        let socket = world.hub.open();
        assert!(world.hub.sign_in(&socket, *user, DeviceId::new(user.get()), None));
        sockets.push(socket);
    }
    send(&world, users[0], group, &sockets, &mut sent, WARM_UP).await?;
    let heard = send(&world, users[0], group, &sockets, &mut sent, SENDS).await?;
    let page = async || {
        let page = world.app.reading.history(users[1], group, HistoryPage::Newest, PAGE_MESSAGES).await?;
        assert_eq!(page.messages.len(), PAGE_MESSAGES);
        anyhow::Ok(())
    };
    page().await?;
    let before = allocations();
    for _ in 0..PAGES {
        page().await?;
    }
    let pages = allocations() - before;
    world.close().await?;
    Ok(Cost {
        send: alone / SENDS as f64,
        delivery: (heard - alone) / (SENDS * sockets.len()) as f64,
        page: pages / PAGES as f64,
    })
}

/// Sends one after the other, so that each message is a separate commit. Online members read their queues.
async fn send(
    world: &World,
    by: UserId,
    group: ConversationId,
    sockets: &[Arc<Socket>],
    sent: &mut usize,
    count: usize,
) -> anyhow::Result<f64> {
    let before = allocations();
    for _ in 0..count {
        world.send(by, group, *sent).await?;
        *sent += 1;
        for socket in sockets {
            let Step::Write { frames, .. } = socket.outgoing.next().await else { panic!("it was closed") };
            socket.outgoing.written(frames.iter().map(Bytes::len).sum());
            assert_eq!(frames.len(), 1);
        }
    }
    Ok(allocations() - before)
}

fn allocations() -> f64 {
    let stats = ALLOCATOR.stats();
    (stats.allocations + stats.reallocations) as f64
}
