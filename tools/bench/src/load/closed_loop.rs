//! The maximum throughput: each sender sends its next message when the previous one is done.

use super::check::Violations;
use super::receiving::{Receiving, Room};
use super::run::Load;
use super::sessions::{Sessions, Watch};
use super::traffic::Traffic;
use crate::messenger::Messenger;
use crate::progress::Done;
use crate::wire::Net;

pub(crate) struct ClosedLoop<M> {
    sessions: Sessions<M>,
    traffic: Traffic,
    streams: Vec<u32>,
    is_stopped: bool,
    room: Room,
}

impl<M: Messenger> ClosedLoop<M> {
    /// For these streams of the traffic.
    pub(crate) fn new(sessions: Sessions<M>, traffic: Traffic, streams: Vec<u32>) -> Self {
        Self { sessions, traffic, streams, is_stopped: false, room: Room::default() }
    }

    pub(crate) fn into_messenger(self) -> M {
        self.sessions.messenger
    }

    pub(super) const fn sessions(&mut self) -> &mut Sessions<M> {
        &mut self.sessions
    }

    pub(super) const fn parts(&mut self) -> (&mut Sessions<M>, &mut Traffic, &mut Vec<u32>) {
        (&mut self.sessions, &mut self.traffic, &mut self.streams)
    }

    /// Sends until each stream has this many messages and all of them have arrived.
    pub(crate) fn write_up_to(&mut self, each: u32, done: &Done) -> anyhow::Result<Violations> {
        self.traffic.end_at(each);
        self.begin()?;
        self.finish(done)
    }

    /// Sends this many more messages on one stream, and waits until all of them have arrived.
    pub(super) fn write_more(&mut self, stream: u32, count: u32, done: &Done) -> anyhow::Result<Violations> {
        self.traffic.end_at(self.traffic.sent(stream) + count);
        self.traffic.fill(&mut self.sessions.net, &mut self.sessions.messenger, stream);
        self.finish(done)
    }

    fn finish(&mut self, done: &Done) -> anyhow::Result<Violations> {
        let mut watch = Watch::start(self.net());
        while self.traffic.under_way() > 0 {
            let before = self.traffic.ended();
            self.poll(watch.until_ns())?;
            let ended = self.traffic.ended() - before;
            done.add(ended as usize);
            watch.look(self.net(), ended > 0)?;
        }
        Ok(self.traffic.finish())
    }
}

impl<M: Messenger> Load for ClosedLoop<M> {
    fn net(&mut self) -> &mut Net {
        &mut self.sessions.net
    }

    fn traffic(&mut self) -> &mut Traffic {
        &mut self.traffic
    }

    fn begin(&mut self) -> anyhow::Result<()> {
        for stream in &self.streams {
            self.traffic.fill(&mut self.sessions.net, &mut self.sessions.messenger, *stream);
        }
        Ok(())
    }

    fn poll(&mut self, until_ns: u64) -> anyhow::Result<()> {
        let Sessions { net, messenger } = &mut self.sessions;
        let mut receiving = Receiving {
            messenger,
            traffic: &mut self.traffic,
            refills: !self.is_stopped,
            room: &mut self.room,
        };
        net.poll(until_ns, &mut receiving)
    }

    fn stop(&mut self) {
        self.is_stopped = true;
    }
}
