//! Requests over open connections: each connection sends the next request after the answer to the previous one.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;

use super::run::{ROUND, Spent, Stage};
use super::sessions::{Watch, write};
use super::span::Span;
use crate::figures::Latencies;
use crate::messenger::Done;
use crate::progress;
use crate::wire::{Net, Receiver};

/// Makes requests and checks their answers.
pub(super) trait Asking {
    /// Appends the next request of a connection.
    fn ask(&mut self, connection: u32, out: &mut Vec<u8>) -> anyhow::Result<()>;

    /// Processes incoming data: the body of an answer with its status, or a frame without one. Appends immediate replies to
    /// `out`. An error ends the run.
    fn take(
        &mut self,
        connection: u32,
        status: Option<u16>,
        came: &[u8],
        out: &mut Vec<u8>,
    ) -> anyhow::Result<Done>;
}

/// The results within the measured time.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) count: u64,
    pub(super) latencies: Latencies,
    pub(super) spent: Spent,
}

/// Connections with numbers below `count`.
pub(super) fn connect(server: SocketAddr, count: u32) -> anyhow::Result<Net> {
    let mut net = Net::new(count as usize)?;
    for connection in 0..count {
        net.open_http(connection, server)?;
    }
    Ok(net)
}

/// Warms up and measures, on open connections with numbers below `connections`.
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
        span: Span::NEVER,
        count: 0,
        latencies: Latencies::new(),
        reply: Vec::new(),
    };
    let warming_up = stage.step("warming up");
    for connection in 0..connections {
        requests.ask(net, connection)?;
    }
    requests.run_for(net, stage.warm_up, &warming_up.done())?;
    drop(warming_up);

    let measuring = stage.step(format!("measuring for {} s", stage.seconds));
    let before = stage.sample()?;
    requests.span = Span::since(net.now_ns());
    requests.run_for(net, stage.seconds, &measuring.done())?;
    // Ends only after a first measurement, however long that takes.
    let mut watch = Watch::start(net);
    while requests.count == 0 {
        net.poll(watch.until_ns(), &mut requests)?;
        watch.look(net, false).context("measuring")?;
    }
    requests.span = requests.span.ended(net.now_ns());
    let after = stage.sample()?;
    requests.is_stopped = true;
    let mut watch = Watch::start(net);
    while requests.under_way > 0 {
        let under_way = requests.under_way;
        net.poll(watch.until_ns(), &mut requests)?;
        watch.look(net, requests.under_way < under_way).context("waiting for the last answers")?;
    }
    let spent = Spent { seconds: requests.span.seconds(), before, after };
    Ok(Answered { count: requests.count, latencies: requests.latencies, spent })
}

struct Requests<'a, A> {
    asking: &'a mut A,
    /// When each connection sent its last request.
    asked_ns: Vec<u64>,
    under_way: usize,
    is_stopped: bool,
    /// The measured time span.
    span: Span,
    count: u64,
    latencies: Latencies,
    reply: Vec<u8>,
}

impl<A: Asking> Requests<'_, A> {
    fn run_for(&mut self, net: &mut Net, seconds: f64, done: &progress::Done) -> anyhow::Result<()> {
        let end_ns = net.now_ns() + (seconds * 1e9) as u64;
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
        self.reply.clear();
        let done = self.asking.take(connection, status, came, &mut self.reply)?;
        write(net, connection, &self.reply);
        if done == Done::NotYet {
            return Ok(());
        }
        self.under_way -= 1;
        let now_ns = net.arrived_ns();
        if self.span.has(now_ns) {
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
