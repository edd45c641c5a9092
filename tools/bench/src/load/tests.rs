//! Every scenario, for a moment, on a real server. The figures are ignored.

use std::net::SocketAddr;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

use clap::Args;
use godwit_server::config::Config;
use godwit_server::{observe, serve};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use super::report::Report;
use super::run::{self, Common, Stage};
use super::{group, growth, history, idle, inbox, mixed, pairs, rate, resume};
use crate::messenger::godwit::Godwit;
use crate::messenger::{Done, Incoming, Messenger};
use crate::progress::Progress;
use crate::server::process::{CONFIG, KEY};

/// A server in this process. There can be only one, because its metrics are per process.
struct InProcess {
    address: SocketAddr,
    metrics: SocketAddr,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
    _folder: TempDir,
}

impl InProcess {
    fn start() -> Self {
        // In memory if possible: the disk does not matter here.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let mut config: Config = toml::from_str(CONFIG).unwrap();
        config.server.listen = "127.0.0.1:0".parse().unwrap();
        config.server.data = Some(folder.path().to_owned());
        config.metrics.listen = Some("127.0.0.1:0".parse().unwrap());
        let (stop, stopped) = oneshot::channel();
        let (listens, addresses) = channel();
        let thread = thread::spawn(move || Runtime::new().unwrap().block_on(serve(config, listens, stopped)));
        let (address, metrics) = addresses.recv().unwrap();
        Self { address, metrics, stop, thread, _folder: folder }
    }

    fn stop(self) {
        self.stop.send(()).unwrap();
        self.thread.join().unwrap();
    }

    /// The arguments of a scenario, for a moment on this server.
    fn arguments<A: Args>(&self, more: &str) -> A {
        let (url, metrics) = (format!("http://{}", self.address), format!("http://{}", self.metrics));
        let pid = std::process::id();
        let line = format!(
            "bench --url {url} --metrics-url {metrics} --key {KEY} --pid {pid} --seconds 0.2 --warm-up 0 {more}"
        );
        let command = A::augment_args(clap::Command::new("bench"));
        A::from_arg_matches(&command.get_matches_from(line.split_whitespace())).unwrap()
    }

    fn common(&self) -> Common {
        #[derive(Debug, Args)]
        struct Only {
            #[command(flatten)]
            common: Common,
        }

        self.arguments::<Only>("").common
    }

    fn measure(&self, scenario: impl FnOnce(&mut Stage) -> anyhow::Result<Vec<Report>>) -> Vec<Value> {
        let reports = run::measure(&self.common(), Progress::Silent, scenario).unwrap();
        reports.iter().map(|report| report.json("today")).collect()
    }
}

async fn serve(config: Config, listens: Sender<(SocketAddr, SocketAddr)>, stopped: oneshot::Receiver<()>) {
    let server = serve::Server::start(config, observe::start_metrics().unwrap()).await.unwrap();
    listens.send((server.address(), server.metrics_address().unwrap())).unwrap();
    let stopped = async {
        let _ = stopped.await;
    };
    server.run(stopped).await.unwrap();
}

#[track_caller]
fn has_more_than_nothing(result: &Value, figures: &[&str]) {
    for figure in figures {
        assert!(result["figures"][figure].as_f64() > Some(0.0), "{figure} in {result}");
    }
}

#[test]
fn scenarios_run_on_a_real_server() {
    let server = InProcess::start();

    let one_way: pairs::Arguments = server.arguments("--pairs 3");
    let both_ways: pairs::Arguments = server.arguments("--pairs 2 --window 3 --both --text-bytes 36");
    for arguments in [one_way, both_ways] {
        let results = server.measure(|stage| arguments.measure_on_godwit(stage));
        has_more_than_nothing(
            &results[0],
            &["sends_per_s", "deliveries_per_s", "delivery_p50_us", "ack_max_us"],
        );
        has_more_than_nothing(&results[0], &["server_memory_bytes", "fsyncs_a_message"]);
        assert_eq!(results[0]["parameters"]["seconds"], 0.2);
    }

    let groups: group::Arguments = server.arguments("--members 2,5 --groups 2 --window 2");
    let results = server.measure(|stage| groups.measure(stage));
    assert_eq!([&results[0]["parameters"]["members"], &results[1]["parameters"]["members"]], [2, 5]);
    has_more_than_nothing(&results[1], &["deliveries_per_s", "last_member_p50_us"]);

    let rates: rate::Arguments = server.arguments("--rate 200 --pairs 3");
    has_more_than_nothing(
        &server.measure(|stage| rates.measure(stage))[0],
        &["sends_per_s", "delivery_p50_us"],
    );

    let idle: idle::Arguments = server.arguments("--connections 4,20");
    let results = server.measure(|stage| idle.measure_on_godwit(stage));
    has_more_than_nothing(&results[1], &["connections", "sign-ins_per_s", "new_users_per_s"]);

    let pages: history::Arguments = server.arguments("--messages 120,160 --conversations 2 --connections 2");
    let results = server.measure(|stage| pages.measure_on_godwit(stage));
    has_more_than_nothing(&results[1], &["messages", "pages_per_s", "page_p50_us"]);
    let newest: history::Arguments = server.arguments("--messages 51 --conversations 1 --newest");
    has_more_than_nothing(&server.measure(|stage| newest.measure_on_godwit(stage))[0], &["pages_per_s"]);

    let lists: inbox::Arguments = server.arguments("--conversations 3,70 --readers 2 --connections 3");
    let results = server.measure(|stage| lists.measure(stage));
    has_more_than_nothing(&results[1], &["conversations", "lists_per_s", "list_p50_us"]);

    // More than one conversation per writer, and more than one page of the log.
    let herd: resume::Arguments = server.arguments("--clients 70 --missed 52 --at-once 30");
    let results = server.measure(|stage| herd.measure(stage));
    has_more_than_nothing(&results[0], &["clients_per_s", "back_p50_us", "all_are_back_after_us"]);

    let day: mixed::Arguments = server.arguments("--users 12 --conversations 8 --peak 200");
    let results = server.measure(|stage| day.measure(stage));
    has_more_than_nothing(&results[0], &["sends_per_s", "other_commands_per_s", "last_member_p50_us"]);

    let growing: growth::Arguments = server.arguments(
        "--messages 1000,1200 --conversations 10,20 --users 250 --connections 40,50 --rate 500 --rest 0",
    );
    let results = growth::Part::ALL.map(|part| server.measure(|stage| growing.measure(part, stage)));
    let [history, conversations, users, connections, stalls] = &results;
    let costs = ["server_CPU_a_send_us", "send_p50_us", "list_p50_us"];
    has_more_than_nothing(&history[1], &[&costs[..], &["messages", "page_p50_us", "resume_p50_us"]].concat());
    has_more_than_nothing(&history[2], &["there_after_the_crash", "ready_again_after_us"]);
    has_more_than_nothing(&conversations[1], &[&costs[..], &["conversations", "resume_p50_us"]].concat());
    has_more_than_nothing(&users[0], &[&costs[..], &["users", "page_p50_us", "sign-in_p50_us"]].concat());
    has_more_than_nothing(&connections[1], &["connections", "server_CPU_a_send_us", "send_p50_us"]);
    has_more_than_nothing(&stalls[0], &["saturated_sends_per_s", "sends_per_s", "ack_p50_us"]);

    let twice: pairs::Arguments = server.arguments("--pairs 1");
    let progress = Progress::Silent;
    let measured = run::measure(&server.common(), progress, |stage| {
        Ok(vec![twice.measure(stage, Twice(stage.godwit(2)))?])
    });
    let error = measured.unwrap_err().to_string();
    assert!(
        error.starts_with("no result, because something was wrong") && error.ends_with("came twice"),
        "{error}"
    );

    server.stop();
}

/// Godwit with every delivery duplicated.
struct Twice(Godwit);

impl Messenger for Twice {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn address(&self) -> SocketAddr {
        self.0.address()
    }

    fn move_to(&mut self, address: SocketAddr) {
        self.0.move_to(address);
    }

    fn handshake(&mut self, user: u32) -> anyhow::Result<(String, String)> {
        self.0.handshake(user)
    }

    fn sign_in(&mut self, user: u32, frame: Option<&[u8]>, out: &mut Vec<u8>) -> anyhow::Result<Done> {
        self.0.sign_in(user, frame, out)
    }

    fn plan_conversation(&mut self, members: &[u32]) -> u32 {
        self.0.plan_conversation(members)
    }

    fn join(
        &mut self,
        conversation: u32,
        user: u32,
        frame: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> anyhow::Result<Done> {
        self.0.join(conversation, user, frame, out)
    }

    fn send(&mut self, conversation: u32, user: u32, ticket: u32, text: &[u8], out: &mut Vec<u8>) {
        self.0.send(conversation, user, ticket, text, out);
    }

    fn read(
        &mut self,
        user: u32,
        frame: &[u8],
        out: &mut Vec<u8>,
        each: &mut impl FnMut(Incoming),
    ) -> anyhow::Result<()> {
        self.0.read(user, frame, out, &mut |incoming| {
            if let Incoming::Delivered { stamp, .. } = incoming {
                each(Incoming::Delivered { stamp, place: None });
            }
            each(incoming);
        })
    }
}
