//! `godwit-bench inbox`: the list of a user's conversations.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::ops::Range;

use anyhow::ensure;
use clap::Args;
use serde_json::json;

use super::closed_loop::ClosedLoop;
use super::report::Report;
use super::requests::{self, Asking};
use super::run::{self, Common, Stage};
use super::traffic::Traffic;
use crate::figures::Value;
use crate::messenger::Done;
use crate::messenger::godwit::Godwit;
use crate::messenger::stamp::Stamp;
use crate::numbers::thousands;
use crate::wire::http;

const PAGE: u32 = 50;
/// The users who create the conversations.
const MAKERS: u32 = 64;
const OK: u16 = 200;

/// Measure the first page of the inbox over HTTP
///
/// Readers are members of the given number of conversations with a message in each. Then connections request their lists, one
/// after the other. Every page is checked: it must be full and have no conversation twice.
#[derive(Debug, Clone, Args)]
pub(crate) struct Arguments {
    /// Conversations per reader; one run per value
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [10, 1_000], value_parser = clap::value_parser!(u32).range(1..=100_000))]
    conversations: Vec<u32>,

    /// Number of readers
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(2..=400))]
    readers: u32,

    /// Number of concurrent connections
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: u32,

    #[command(flatten)]
    common: Common,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<()> {
    run::main(&arguments.common, |stage| arguments.measure(stage))
}

impl Arguments {
    pub(super) fn measure(&self, stage: &Stage) -> anyhow::Result<Vec<Report>> {
        self.conversations.iter().map(|conversations| self.measure_lists(stage, *conversations)).collect()
    }

    fn measure_lists(&self, stage: &Stage, conversations: u32) -> anyhow::Result<Report> {
        let authorizations = self.fill(stage, conversations)?;
        let server = stage.server.address();
        let mut net = requests::connect(server, self.connections)?;
        let expected = conversations.min(PAGE) as usize;
        let mut lists = Lists { server, authorizations, limit: PAGE, expected };
        let answered = requests::drive(stage, &mut net, self.connections, &mut lists)?;

        let parameters = json!({
            "conversations": conversations,
            "readers": self.readers,
            "connections": self.connections,
            "seconds": self.common.seconds,
        });
        let mut report = Report::new("inbox", "godwit", parameters);
        report.add("conversations", Value::Number(f64::from(conversations)));
        report.add_rate("lists/s", answered.count, &answered.spent);
        report.add_latencies("list", &answered.latencies);
        report.add_usage("list", &answered.spent, answered.count);
        Ok(report)
    }

    /// Creates the conversations, with a message in each, and returns the header lines of the readers.
    fn fill(&self, stage: &Stage, conversations: u32) -> anyhow::Result<Vec<String>> {
        let users = MAKERS + self.readers;
        let mut sessions = stage.sign_in(stage.godwit(users), users)?;
        let members: Vec<Vec<u32>> = (0..conversations)
            .map(|conversation| std::iter::once(conversation % MAKERS).chain(MAKERS..users).collect())
            .collect();
        let making = stage.step(format!("creating {} conversations", thousands(conversations as usize)));
        let made = sessions.make_conversations(&members)?;
        let readers = authorizations(&sessions.messenger, MAKERS..users)?;
        let mut traffic = Traffic::new(self.common.text_bytes);
        let streams = made.iter().zip(&members).flat_map(|(conversation, members)| {
            traffic.add_conversation(*conversation, members, &members[..1], 1)
        });
        let streams = streams.collect();
        stage.judge(ClosedLoop::new(sessions, traffic, streams).write_up_to(1, &making.done())?)?;
        Ok(readers)
    }
}

/// The header lines of users.
pub(super) fn authorizations(messenger: &Godwit, users: Range<u32>) -> anyhow::Result<Vec<String>> {
    users.map(|user| Ok(format!("authorization: Bearer {}\r\n", messenger.token(user)?))).collect()
}

pub(super) struct Lists {
    pub(super) server: SocketAddr,
    /// One per reader.
    pub(super) authorizations: Vec<String>,
    /// The requested page size, which every page must have.
    pub(super) limit: u32,
    pub(super) expected: usize,
}

impl Asking for Lists {
    fn ask(&mut self, connection: u32, out: &mut Vec<u8>) -> anyhow::Result<()> {
        let authorization = &self.authorizations[connection as usize % self.authorizations.len()];
        let path = format!("/v1/conversations?limit={}", self.limit);
        http::get(out, self.server, &path, authorization);
        Ok(())
    }

    /// The preview of each conversation contains the stamp of its message.
    fn take(&mut self, _: u32, status: Option<u16>, page: &[u8], _: &mut Vec<u8>) -> anyhow::Result<Done> {
        ensure!(
            status == Some(OK),
            "the server refused a list: {status:?} {}",
            String::from_utf8_lossy(page)
        );
        let listed = Stamp::all(page).map(|stamp| stamp.stream);
        let different = listed.clone().collect::<BTreeSet<u32>>().len();
        ensure!(
            listed.count() == self.expected && different == self.expected,
            "no result, because a list does not have {} different conversations",
            self.expected
        );
        Ok(Done::Yes)
    }
}
