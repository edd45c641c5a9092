//! The measurements at each step: the cost of one operation.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rand::SeedableRng as _;
use rand::rngs::SmallRng;

use super::world::World;
use crate::figures::{Latencies, Value};
use crate::load::check::Violations;
use crate::load::history::{Asked, PAGE, Page, Pages, SEED};
use crate::load::inbox::{Lists, authorizations};
use crate::load::rate::OpenLoop;
use crate::load::report::Report;
use crate::load::requests::{self, Answered};
use crate::load::resume::Client;
use crate::load::run::{Spent, Stage};
use crate::load::sessions::Connected;
use crate::messenger::godwit::Godwit;
use crate::progress::Done;
use crate::server::Server;
use crate::server::usage::Usage;

/// Conversations per list: the smallest number that any reader has, so that all lists have the same size.
pub(super) const LISTED: u32 = 10;
/// Messages that a returning user has missed.
const MISSED: u32 = 20;
/// Concurrent requests.
const CONNECTIONS: u32 = 16;

/// The interval between two looks at the server's CPU usage.
const SETTLE_LOOK: Duration = Duration::from_millis(250);
const SETTLED_CPU_SECONDS: f64 = 0.02;
const SETTLE_MAX: Duration = Duration::from_secs(120);

/// Waits until the server has finished its background work, such as compactions, which belongs to earlier writes. A server
/// that was running before may have other work.
pub(super) fn settle(stage: &Stage) {
    let Server::Started(process) = &stage.server else { return };
    let Some(pid) = process.pid() else { return };
    let _step = stage.step("waiting until the server is idle");
    let began = Instant::now();
    let used = || Usage::of(pid).unwrap_or_default().cpu_seconds;
    while began.elapsed() < SETTLE_MAX {
        let before = used();
        thread::sleep(SETTLE_LOOK);
        if used() - before < SETTLED_CPU_SECONDS {
            return;
        }
    }
    stage.progress.note("the server has not become idle; what follows may cost more than it should");
}

/// Adds the server's cost and the latency of one of `count` operations.
pub(super) fn add_cost(report: &mut Report, what: &str, count: u64, latencies: &Latencies, spent: &Spent) {
    if let (Some(before), Some(after)) = (spent.before.server, spent.after.server) {
        let each = (after.cpu_seconds - before.cpu_seconds).max(0.0) / count.max(1) as f64;
        report.add(format!("server CPU a {what}"), Value::Time(Duration::from_secs_f64(each)));
    }
    for (percentile, time) in latencies.percentiles().filter(|(name, _)| ["p50", "p99"].contains(name)) {
        report.add(format!("{what} {percentile}"), Value::Time(time));
    }
}

pub(super) fn add_memory(report: &mut Report, stage: &Stage) {
    if let Some(usage) = stage.server.pid().and_then(Usage::of) {
        report.add("server memory", Value::Bytes(usage.resident_bytes as f64));
    }
}

/// Repeats something until the time is over, at least once.
pub(super) fn repeat(
    seconds: f64,
    mut round: impl FnMut() -> anyhow::Result<Connected>,
) -> anyhow::Result<Latencies> {
    let (began, mut latencies) = (Instant::now(), Latencies::new());
    while latencies.count() == 0 || began.elapsed().as_secs_f64() < seconds {
        latencies.add(&round()?.latencies);
    }
    Ok(latencies)
}

/// Warms up with rounds of something, and measures the cost of one.
pub(super) fn add_cost_of_rounds(
    stage: &Stage,
    report: &mut Report,
    what: &str,
    mut round: impl FnMut() -> anyhow::Result<Connected>,
) -> anyhow::Result<()> {
    let _step = stage.step(format!("measuring each {what} for {} s", stage.seconds));
    repeat(stage.warm_up, &mut round)?;
    let (began, before) = (Instant::now(), stage.sample()?);
    let latencies = repeat(stage.seconds, &mut round)?;
    let spent = Spent { seconds: began.elapsed().as_secs_f64(), before, after: stage.sample()? };
    add_cost(report, what, latencies.count(), &latencies, &spent);
    Ok(())
}

impl World {
    /// A message at a fixed rate per second, until it is acknowledged.
    pub(super) fn send(&mut self, stage: &Stage, rate: u64, report: &mut Report) -> anyhow::Result<()> {
        self.come()?;
        let (sessions, traffic, streams) = self.talking.parts();
        traffic.start_over();
        let spent = stage.drive(&mut OpenLoop::new(sessions, traffic, streams, rate))?;
        add_cost(report, "send", traffic.measured.acknowledged, &traffic.measured.ack, &spent);
        self.go();
        Ok(())
    }

    /// A page at a random position of conversations with this many messages each.
    pub(super) fn page(&mut self, stage: &Stage, each: u32, report: &mut Report) -> anyhow::Result<()> {
        let members = &self.members;
        let mut pages = Pages {
            messenger: &mut self.talking.sessions().messenger,
            ask: |godwit: &mut Godwit, page: Page, out: &mut Vec<u8>| {
                // The first entry of the log is the creation, so the position of a message is its number plus one.
                let before = u64::from(page.first + PAGE + 1);
                let reader = members[page.conversation as usize][0];
                godwit.ask_page(page.conversation, reader, Some(before), PAGE, out)
            },
            conversations: Some(members.len() as u32),
            each,
            newest: false,
            random: SmallRng::seed_from_u64(SEED),
            asked: vec![Asked::default(); CONNECTIONS as usize],
            wrong: 0,
        };
        let mut net = requests::connect(stage.server.address(), CONNECTIONS)?;
        let Answered { count, latencies, spent } = requests::drive(stage, &mut net, CONNECTIONS, &mut pages)?;
        stage.judge(Violations { misplaced: pages.wrong, ..Violations::default() })?;
        add_cost(report, "page", count, &latencies, &spent);
        Ok(())
    }

    /// The first page of a reader's conversations.
    pub(super) fn list(&mut self, stage: &Stage, report: &mut Report) -> anyhow::Result<()> {
        let server = stage.server.address();
        let readers = self.readers.clone();
        let authorizations = authorizations(&self.talking.sessions().messenger, readers)?;
        let mut lists = Lists { server, authorizations, limit: LISTED, expected: LISTED as usize };
        let mut net = requests::connect(server, CONNECTIONS)?;
        let Answered { count, latencies, spent } = requests::drive(stage, &mut net, CONNECTIONS, &mut lists)?;
        add_cost(report, "list", count, &latencies, &spent);
        Ok(())
    }

    /// A reader who returns, syncs, and reads the missed messages of one conversation.
    pub(super) fn resume(&mut self, stage: &Stage, report: &mut Report) -> anyhow::Result<()> {
        let mut noted = self.clients()?;
        self.visit(&mut noted, 0)?;
        self.come()?;
        for reader in self.readers.clone() {
            let stream = self.conversation_of(reader).context("every reader has a conversation")?;
            stage.judge(self.talking.write_more(stream, MISSED, &Done::default())?)?;
        }
        self.go();
        settle(stage);
        // They return from the same state again and again.
        add_cost_of_rounds(stage, report, "resume", || self.visit(&mut noted.clone(), MISSED))
    }

    fn clients(&mut self) -> anyhow::Result<Vec<Client>> {
        let readers = self.readers.clone();
        let client = |reader| {
            let conversation = self.conversation_of(reader).context("every reader has a conversation")?;
            let (sessions, traffic, _) = self.talking.parts();
            let id = sessions.messenger.conversation_id(conversation)?;
            Ok(Client::new(id, traffic.sent(conversation)))
        };
        readers.map(client).collect()
    }

    /// All readers connect and disconnect. Each must find this many messages.
    fn visit(&mut self, clients: &mut [Client], missed: u32) -> anyhow::Result<Connected> {
        let readers = self.readers.clone();
        let sessions = self.talking.sessions();
        let connected = sessions.connect(
            readers.clone(),
            readers.len(),
            &Done::default(),
            |godwit, user, frame, out| {
                clients[(user - readers.start) as usize].go_on(godwit, user, frame, missed, out)
            },
        )?;
        sessions.cut_off(readers);
        Ok(connected)
    }
}
