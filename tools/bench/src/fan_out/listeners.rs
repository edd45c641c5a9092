//! The sockets of online members.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use godwit_bench::world::World;
use godwit_delivery::{Hub, Socket, Step};
use godwit_protocol::messages::Change;
use godwit_protocol::socket::Event;
use godwit_protocol::{DeviceId, UserId};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::wire::frame::{self, Frame};

/// The time limit for a message; after it, the message counts as lost.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) struct Listeners {
    heard: Arc<Heard>,
    tasks: Vec<JoinHandle<()>>,
    count: usize,
}

/// The counters that all listeners share.
#[derive(Debug, Default)]
struct Heard {
    messages: AtomicUsize,
    wrong: AtomicUsize,
    changed: Notify,
}

impl Listeners {
    pub(super) async fn start(world: &World, users: impl Iterator<Item = &UserId>) -> anyhow::Result<Self> {
        let (heard, mut tasks) = (Arc::new(Heard::default()), Vec::new());
        for user in users {
            let socket = world.hub.open();
            anyhow::ensure!(
                world.hub.sign_in(&socket, *user, DeviceId::new(user.get()), None),
                "cannot sign a socket in"
            );
            world.app.presence.came_online(*user).await?;
            tasks.push(tokio::spawn(listen(world.hub.clone(), socket, heard.clone())));
        }
        let count = tasks.len();
        Ok(Self { heard, tasks, count })
    }

    /// Waits until every listener has this many messages.
    pub(super) async fn all_have(&self, messages: usize) -> anyhow::Result<()> {
        let all = messages * self.count;
        let come = async {
            loop {
                let changed = self.heard.changed.notified();
                if self.heard.messages.load(Ordering::Acquire) >= all {
                    return;
                }
                changed.await;
            }
        };
        timeout(PATIENCE, come).await.context("a message did not arrive")
    }

    /// Checks that every listener got every message once and in order.
    pub(super) fn check(&self, messages: usize) -> anyhow::Result<()> {
        let (heard, wrong) =
            (self.heard.messages.load(Ordering::Acquire), self.heard.wrong.load(Ordering::Acquire));
        anyhow::ensure!(wrong == 0, "{wrong} messages arrived twice or out of order");
        anyhow::ensure!(
            heard == messages * self.count,
            "{heard} messages arrived instead of {messages} for each listener"
        );
        Ok(())
    }
}

impl Drop for Listeners {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

async fn listen(hub: Arc<Hub>, socket: Arc<Socket>, heard: Arc<Heard>) {
    let mut last = None;
    while let Step::Write { frames, .. } = socket.outgoing.next().await {
        socket.outgoing.written(frames.iter().map(Bytes::len).sum());
        for frame in &frames {
            let Ok(Some(Frame { payload, .. })) = frame::parse(frame) else { continue };
            let Ok(Event::Entry(event)) = serde_json::from_slice::<Event>(payload) else { continue };
            let seq = event.entry.seq.get();
            if last.replace(seq).is_some_and(|last| seq != last + 1) {
                heard.wrong.fetch_add(1, Ordering::AcqRel);
            }
            // The event about added members may still arrive after the first of them listen.
            if matches!(event.entry.change, Change::Message { .. }) {
                heard.messages.fetch_add(1, Ordering::AcqRel);
            }
        }
        heard.changed.notify_waiters();
    }
    hub.forget(&socket);
}
