//! Requests over connections that stay open: each asks the next when its answer has come.

use std::time::Duration;

use anyhow::Context;

use super::run::{ROUND, Stage};
use super::sessions::Watch;
use crate::figures::Latencies;
use crate::messenger::Done;
use crate::progress;
use crate::server::usage::Sample;
use crate::wire::{Net, Receiver};

/// What is asked, and whether the answer is right.
pub(super) trait Asking {
    /// Appends the next request of a connection.
    fn ask(&mut self, connection: u32, out: &mut Vec<u8>) -> anyhow::Result<()>;

    /// Looks at what came: the body of an answer with its status, or a frame without one. An error ends the run.
    fn take(&mut self, connection: u32, status: Option<u16>, came: &[u8]) -> anyhow::Result<Done>;
}

/// What was seen in the time that is measured.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) count: u64,
    pub(super) latencies: Latencies,
    pub(super) before: Sample,
    pub(super) after: Sample,
}

/// Warms up and measures, on connections with numbers below `connections`, which are open.
pub(super) fn drive(
    stage: &Stage,
    net: &mut Net,
    connections: u32,
    asking: &mut impl Asking,
) -> anyhow::Result<Answered> {
    let mut requests = Requests {
        asking,
        asked_ns: vec![0; connections as usize],
        under_way: 0,
        is_stopped: false,
        from_ns: u64::MAX,
        until_ns: u64::MAX,
        count: 0,
        latencies: Latencies::new(),
    };
    let warming_up = stage.step("warming up");
    for connection in 0..connections {
        requests.ask(net, connection)?;
    }
    let warm_up = Duration::from_secs(stage.common.warm_up);
    requests.run_for(net, warm_up, &warming_up.done())?;
    drop(warming_up);

    let measuring = stage.step(format!("measuring for {} s", stage.common.seconds));
    let before = stage.sample()?;
    let time = Duration::from_secs(stage.common.seconds);
    requests.from_ns = net.now_ns();
    requests.until_ns = requests.from_ns + time.as_nanos() as u64;
    requests.run_for(net, time, &measuring.done())?;
    let after = stage.sample()?;
    requests.is_stopped = true;
    let mut watch = Watch::start(net);
    while requests.under_way > 0 {
        let under_way = requests.under_way;
        net.poll(watch.until_ns(), &mut requests)?;
        watch.look(net, requests.under_way < under_way).context("waiting for the last answers")?;
    }
    Ok(Answered { count: requests.count, latencies: requests.latencies, before, after })
}

struct Requests<'a, A> {
    asking: &'a mut A,
    /// When each connection asked last.
    asked_ns: Vec<u64>,
    under_way: usize,
    is_stopped: bool,
    from_ns: u64,
    until_ns: u64,
    count: u64,
    latencies: Latencies,
}

impl<A: Asking> Requests<'_, A> {
    fn run_for(&mut self, net: &mut Net, time: Duration, done: &progress::Done) -> anyhow::Result<()> {
        let end_ns = net.now_ns() + time.as_nanos() as u64;
        while net.now_ns() < end_ns {
            let (round_ns, before) = (end_ns.min(net.now_ns() + ROUND.as_nanos() as u64), self.count);
            while net.now_ns() < round_ns {
                net.poll(round_ns, self)?;
            }
            done.add((self.count - before) as usize);
        }
        Ok(())
    }

    fn ask(&mut self, net: &mut Net, connection: u32) -> anyhow::Result<()> {
        self.asked_ns[connection as usize] = net.now_ns();
        self.under_way += 1;
        self.asking.ask(connection, net.out(connection))
    }

    fn take(
        &mut self,
        net: &mut Net,
        connection: u32,
        status: Option<u16>,
        came: &[u8],
    ) -> anyhow::Result<()> {
        if self.asking.take(connection, status, came)? == Done::NotYet {
            return Ok(());
        }
        self.under_way -= 1;
        let now_ns = net.arrived_ns();
        if (self.from_ns..self.until_ns).contains(&now_ns) {
            self.count += 1;
            let took_ns = now_ns.saturating_sub(self.asked_ns[connection as usize]);
            self.latencies.record(Duration::from_nanos(took_ns));
        }
        if self.is_stopped { Ok(()) } else { self.ask(net, connection) }
    }
}

impl<A: Asking> Receiver for Requests<'_, A> {
    fn frame(&mut self, net: &mut Net, connection: u32, payload: &[u8]) -> anyhow::Result<()> {
        self.take(net, connection, None, payload)
    }

    fn answer(&mut self, net: &mut Net, connection: u32, status: u16, body: &[u8]) -> anyhow::Result<()> {
        self.take(net, connection, Some(status), body)
    }
}
