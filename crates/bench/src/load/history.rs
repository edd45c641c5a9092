//! `godwit-bench history`: pages of what was said before.

use std::io::Write as _;
use std::net::SocketAddr;

use anyhow::ensure;
use clap::Args;
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::json;

use super::closed_loop::ClosedLoop;
use super::pairs::talk;
use super::report::Report;
use super::requests::{self, Asking};
use super::run::{self, Common, Stage};
use super::traffic::Traffic;
use crate::figures::Value;
use crate::messenger;
use crate::messenger::godwit::Godwit;
use crate::messenger::stamp::Stamp;
use crate::numbers::thousands;
use crate::progress::Done;
use crate::wire::Net;

const PAGE: u32 = 50;
/// While history is written.
const WINDOW: usize = 64;
/// Every run reads the same pages.
const SEED: u64 = 11_000;
const OK: u16 = 200;

/// Measure pages of history over HTTP
///
/// Messages are written first. Then connections ask for pages at random places, one after the other, and every page is checked:
/// it must have the messages that stand there, in order.
#[derive(Debug, Clone, Args)]
pub(crate) struct Arguments {
    /// How many messages there are in all; one run for each
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [100_000], value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    messages: Vec<u32>,

    /// In how many conversations they are
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    conversations: u32,

    /// How many connections ask at once
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: u32,

    /// Ask for the newest page of a conversation, as clients do that open it, and not for any
    #[arg(long)]
    newest: bool,

    #[command(flatten)]
    common: Common,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<()> {
    run::main(&arguments.common, |stage| arguments.measure(stage))
}

impl Arguments {
    pub(super) fn measure(&self, stage: &Stage) -> anyhow::Result<Vec<Report>> {
        let users = 2 * self.conversations;
        let mut sessions = stage.sign_in(stage.godwit(users), users)?;
        let mut traffic = Traffic::new(self.common.text_bytes);
        let streams = talk(&mut sessions, &mut traffic, self.conversations, false, WINDOW)?;
        let paths = paths(&sessions.messenger, self.conversations)?;
        let mut writing = ClosedLoop::new(sessions, traffic, streams);
        let mut reports = Vec::new();
        for messages in &self.messages {
            let each = messages / self.conversations;
            ensure!(each > PAGE, "{messages} messages are less than a page for each conversation");
            let step = stage.step(format!("writing {} messages", thousands(*messages as usize)));
            if !reports.is_empty() {
                writing.sessions().sign_in(0..users, &Done::default())?;
            }
            writing.write_up_to(each, &step.done())?;
            drop(step);
            // Nobody listens while pages are read, so nobody could answer heartbeats.
            writing.sessions().cut_off(0..users);
            reports.push(self.measure_pages(stage, &paths, *messages)?);
        }
        Ok(reports)
    }

    fn measure_pages(&self, stage: &Stage, paths: &[Path], messages: u32) -> anyhow::Result<Report> {
        let server = stage.server.address();
        let mut net = Net::new(self.connections as usize)?;
        for connection in 0..self.connections {
            net.open_http(connection, server)?;
        }
        let mut pages = Pages {
            server,
            paths,
            each: messages / self.conversations,
            newest: self.newest,
            random: SmallRng::seed_from_u64(SEED),
            expected: vec![0; self.connections as usize],
        };
        let answered = requests::drive(stage, &mut net, self.connections, &mut pages)?;

        let mut report = Report::new("history", "godwit", self.parameters(messages));
        report.add("messages", Value::Number(f64::from(messages)));
        report.add_rate("pages/s", answered.count, &answered.spent);
        report.add_latencies("page", &answered.latencies);
        report.add_usage("page", &answered.spent, answered.count);
        Ok(report)
    }

    fn parameters(&self, messages: u32) -> serde_json::Value {
        json!({
            "messages": messages,
            "conversations": self.conversations,
            "connections": self.connections,
            "newest": self.newest,
            "text_bytes": self.common.text_bytes,
            "seconds": self.common.seconds,
        })
    }
}

/// The history of a conversation, and the header line of somebody who may read it.
struct Path {
    path: String,
    authorization: String,
}

fn paths(messenger: &Godwit, conversations: u32) -> anyhow::Result<Vec<Path>> {
    let path = |conversation: u32| {
        let id = messenger.conversation_id(conversation)?;
        let token = messenger.token(2 * conversation)?;
        Ok(Path {
            path: format!("/v1/conversations/{id}/messages?limit={PAGE}"),
            authorization: format!("authorization: Bearer {token}\r\n"),
        })
    };
    (0..conversations).map(path).collect()
}

struct Pages<'a> {
    server: SocketAddr,
    paths: &'a [Path],
    /// Messages in each conversation.
    each: u32,
    newest: bool,
    random: SmallRng,
    /// For each connection the number of the first message on the page that it has asked for.
    expected: Vec<u32>,
}

impl Asking for Pages<'_> {
    fn ask(&mut self, connection: u32, out: &mut Vec<u8>) -> anyhow::Result<()> {
        let Path { path, authorization } = &self.paths[self.random.random_range(0..self.paths.len())];
        let last = self.each - PAGE + 1;
        let first = if self.newest { last } else { self.random.random_range(1..=last) };
        self.expected[connection as usize] = first;
        // The first entry of the log is that the conversation was made, so a message's place is one behind its number.
        let before = first + PAGE + 1;
        // Writing into memory does not fail.
        let _ = match self.newest {
            true => write!(out, "GET {path}"),
            false => write!(out, "GET {path}&before={before}"),
        };
        let _ = write!(out, " HTTP/1.1\r\nhost: {}\r\n{authorization}\r\n", self.server);
        Ok(())
    }

    fn take(&mut self, connection: u32, status: Option<u16>, page: &[u8]) -> anyhow::Result<messenger::Done> {
        ensure!(status == Some(OK), "a page is refused: {status:?} {}", String::from_utf8_lossy(page));
        let first = self.expected[connection as usize];
        ensure!(
            Stamp::all(page).map(|stamp| stamp.number).eq(first..first + PAGE),
            "no result, because a page does not have the messages from {first} on"
        );
        Ok(messenger::Done::Yes)
    }
}
