//! `godwit-bench history`: pages of the history.

use anyhow::ensure;
use clap::Args;
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::json;

use super::check::Violations;
use super::closed_loop::ClosedLoop;
use super::pairs::talk;
use super::report::Report;
use super::requests::{self, Asking};
use super::run::{self, Common, Stage};
use super::sessions::Sessions;
use super::traffic::Traffic;
use crate::figures::Value;
use crate::messenger::stamp::Stamp;
use crate::messenger::{self, History};
use crate::numbers::thousands;
use crate::progress::Done;
use crate::wire::Net;

pub(super) const PAGE: u32 = 50;
/// Messages in flight while the history is written.
const WINDOW: usize = 64;
/// Fixed, so that every run reads the same pages.
pub(super) const SEED: u64 = 11_000;

/// Measure pages of history
///
/// Writes messages first. Then members request pages at random positions on their sockets, one after the other. Every page is
/// checked: it must have the right messages in order.
#[derive(Debug, Clone, Args)]
pub(crate) struct Arguments {
    /// Total number of messages; one run per value
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [100_000], value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub(crate) messages: Vec<u32>,

    /// Number of conversations
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) conversations: u32,

    /// Number of concurrent connections
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) connections: u32,

    /// Request the newest page of a conversation, as clients do when they open it, instead of a random one
    #[arg(long)]
    pub(crate) newest: bool,

    /// Request pages over HTTP, for any conversation on any connection, instead of on the sockets of the members
    #[arg(long)]
    pub(crate) http: bool,

    #[command(flatten)]
    pub(crate) common: Common,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<()> {
    run::main(&arguments.common, |stage| arguments.measure_on_godwit(stage))
}

impl Arguments {
    pub(super) fn measure_on_godwit(&self, stage: &Stage) -> anyhow::Result<Vec<Report>> {
        let godwit = stage.godwit(self.users()).reading_over_http(self.http);
        self.measure(stage, godwit, |godwit, page, out| {
            // The first entry of the log is the creation, so the position of a message is its number plus one.
            let before = (!self.newest).then_some(u64::from(page.first + PAGE + 1));
            godwit.ask_page(page.conversation, page.user, before, PAGE, out)
        })
    }

    /// For a messenger of which only the newest page is requested.
    pub(crate) fn measure_newest<M: History>(
        &self,
        stage: &Stage,
        messenger: M,
    ) -> anyhow::Result<Vec<Report>> {
        self.measure(stage, messenger, |messenger, page, out| {
            messenger.ask_newest(page.conversation, page.user, PAGE, out)
        })
    }

    pub(crate) const fn users(&self) -> u32 {
        2 * self.conversations
    }

    fn measure<M: History>(
        &self,
        stage: &Stage,
        messenger: M,
        mut ask: impl FnMut(&mut M, Page, &mut Vec<u8>) -> anyhow::Result<()>,
    ) -> anyhow::Result<Vec<Report>> {
        let users = self.users();
        let mut sessions = stage.sign_in(messenger, users)?;
        let is_over_http = sessions.messenger.pages_at().is_some();
        let mut traffic = Traffic::new(self.common.text_bytes);
        let streams = talk(&mut sessions, &mut traffic, self.conversations, false, WINDOW)?;
        let mut writing = ClosedLoop::new(sessions, traffic, streams);
        let mut reports = Vec::new();
        for messages in &self.messages {
            let each = messages / self.conversations;
            ensure!(each > PAGE, "{messages} messages are less than a page for each conversation");
            let step = stage.step(format!("writing {} messages", thousands(*messages as usize)));
            if is_over_http && !reports.is_empty() {
                writing.sessions().sign_in(0..users, &Done::default())?;
            }
            stage.judge(writing.write_up_to(each, &step.done())?)?;
            drop(step);
            reports.push(self.measure_pages(stage, writing.sessions(), *messages, &mut ask)?);
        }
        Ok(reports)
    }

    fn measure_pages<M: History>(
        &self,
        stage: &Stage,
        sessions: &mut Sessions<M>,
        messages: u32,
        ask: impl FnMut(&mut M, Page, &mut Vec<u8>) -> anyhow::Result<()>,
    ) -> anyhow::Result<Report> {
        let mut over_http = self.connect(sessions)?;
        let readers = if over_http.is_some() { self.connections } else { self.connections.min(self.users()) };
        let Sessions { net, messenger } = sessions;
        let name = messenger.name();
        let mut pages = Pages {
            messenger,
            ask,
            conversations: over_http.is_some().then_some(self.conversations),
            each: messages / self.conversations,
            newest: self.newest,
            random: SmallRng::seed_from_u64(SEED),
            asked: vec![Asked::default(); self.users().max(readers) as usize],
            wrong: 0,
        };
        let answered = requests::drive(stage, over_http.as_mut().unwrap_or(net), readers, &mut pages)?;
        let violations = Violations { misplaced: pages.wrong, ..Violations::default() };

        let mut report = Report::new("history", name, self.parameters(messages));
        report.add("messages", Value::Number(f64::from(messages)));
        report.add_rate("pages/s", answered.count, &answered.spent);
        report.add_latencies("page", &answered.latencies);
        report.add_violations(stage.judge(violations)?);
        report.add_usage("page", &answered.spent, answered.count);
        Ok(report)
    }

    /// Connections over HTTP, if pages are read over HTTP.
    fn connect<M: History>(&self, sessions: &mut Sessions<M>) -> anyhow::Result<Option<Net>> {
        let Some(server) = sessions.messenger.pages_at() else { return Ok(None) };
        // The sockets are not read meanwhile, so heartbeats would not be answered.
        sessions.cut_off(0..self.users());
        Ok(Some(requests::connect(server, self.connections)?))
    }

    fn parameters(&self, messages: u32) -> serde_json::Value {
        json!({
            "messages": messages,
            "conversations": self.conversations,
            "connections": self.connections,
            "newest": self.newest,
            "http": self.http,
            "text_bytes": self.common.text_bytes,
            "seconds": self.common.seconds,
        })
    }
}

/// A requested page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page {
    pub(super) conversation: u32,
    /// A member.
    user: u32,
    /// The number of its first message.
    pub(super) first: u32,
}

/// The request of a connection, and what has arrived for it.
#[derive(Debug, Clone, Default)]
pub(super) struct Asked {
    first: u32,
    numbers: Vec<u32>,
}

pub(super) struct Pages<'a, M, A> {
    pub(super) messenger: &'a mut M,
    pub(super) ask: A,
    /// The number of conversations, if any connection may request any of them. Otherwise each connection requests its user's
    /// own.
    pub(super) conversations: Option<u32>,
    /// Messages per conversation.
    pub(super) each: u32,
    pub(super) newest: bool,
    pub(super) random: SmallRng,
    /// One per connection.
    pub(super) asked: Vec<Asked>,
    /// Pages without the right messages in order.
    pub(super) wrong: u64,
}

impl<M, A> Asking for Pages<'_, M, A>
where
    M: History,
    A: FnMut(&mut M, Page, &mut Vec<u8>) -> anyhow::Result<()>,
{
    fn ask(&mut self, connection: u32, out: &mut Vec<u8>) -> anyhow::Result<()> {
        let last = self.each - PAGE + 1;
        let first = if self.newest { last } else { self.random.random_range(1..=last) };
        let asked = &mut self.asked[connection as usize];
        asked.first = first;
        asked.numbers.clear();
        let page = match self.conversations {
            Some(conversations) => {
                let conversation = self.random.random_range(0..conversations);
                Page { conversation, user: 2 * conversation, first }
            }
            None => Page { conversation: connection / 2, user: connection, first },
        };
        (self.ask)(self.messenger, page, out)
    }

    fn take(
        &mut self,
        connection: u32,
        status: Option<u16>,
        came: &[u8],
        out: &mut Vec<u8>,
    ) -> anyhow::Result<messenger::Done> {
        let Asked { first, numbers } = &mut self.asked[connection as usize];
        let each = &mut |stamp: Stamp| numbers.push(stamp.number);
        if self.messenger.read_page(connection, status, came, out, each)? == messenger::Done::NotYet {
            return Ok(messenger::Done::NotYet);
        }
        if M::NEWEST_FIRST {
            numbers.reverse();
        }
        ensure!(numbers.len() == PAGE as usize, "a page has {} messages and not {PAGE}", numbers.len());
        self.wrong += u64::from(!numbers.iter().copied().eq(*first..*first + PAGE));
        Ok(messenger::Done::Yes)
    }
}
