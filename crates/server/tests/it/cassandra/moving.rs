//! From one machine to many and back, while people talk: `godwit move` and the server are interrupted on the way, and nobody
//! misses, repeats or loses anything.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStderr, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, TryStreamExt, stream};
use godwit_client::Draft;
use godwit_testkit::cluster::{Cluster, Shared};
use rand::RngExt;
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::sleep;

use super::talkers::Talkers;
use super::talking;
use crate::balancer::Balancer;
use crate::people::{Person, unique};
use crate::process::{ServerProcess, godwit};
use crate::store::url;

/// How long a move may take, on a machine that is busy with three nodes of Cassandra.
const MOVE_MAX: Duration = Duration::from_secs(300);
const STEP: Duration = Duration::from_millis(50);
/// Groups besides those of the people who talk, so that it takes a while to copy them: a move keeps its place after every 64
/// conversations, and is interrupted between two such places.
const GROUPS: usize = 256;
/// Groups that are made at once.
const AT_ONCE: usize = 32;
/// Between two messages of one person: together they write less than can be copied in the same time, or it takes for ever.
const PAUSE: Duration = Duration::from_millis(500);
/// The nodes share a machine, and one that is slow has not gone.
const PATIENCE: &str = "[store.cassandra]\nsilence_max_ms = 30000\nrequest_timeout_ms = 20000\n";

/// What happens to a move on its way.
#[derive(Debug, Clone, Copy)]
enum Interruption {
    /// Ctrl-C: it stops where it can go on.
    CommandStopped,
    /// The command goes, and the server goes on with it.
    CommandKilled,
    ServerKilled,
}

async fn shared() -> Shared {
    tokio::task::spawn_blocking(|| Cluster::shared().unwrap_or_else(|error| panic!("{error}"))).await.unwrap()
}

/// A keyspace with its tables, empty. One whose data was moved away is of no use any more.
async fn new_keyspace(cluster: &Shared) -> String {
    let url = url(&cluster.contact_points(), &unique("move"));
    let folder = tempfile::tempdir().unwrap();
    let mut create = godwit(&folder.path().join("data"));
    create.args(["schema", "create", "--store", &url]);
    let created = tokio::task::spawn_blocking(move || create.output()).await.unwrap().unwrap();
    assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stderr));
    url
}

/// Makes so many conversations that it takes a while to move them.
async fn fill(url: &str) {
    let ada = Person::register(url, "ada").await;
    let made = stream::iter(0..GROUPS).map(|number| {
        let http = &ada.http;
        async move {
            let group = http.group(&format!("group {number}"), &[]).await?.conversation.id;
            http.send_message(group, Draft::text("a message that is moved too")).await
        }
    });
    made.buffer_unordered(AT_ONCE).try_for_each(async |_| Ok(())).await.unwrap();
}

/// A command that runs.
struct Move {
    child: Child,
    /// What it has said so far of how it goes.
    said: Arc<Mutex<String>>,
    listening: JoinHandle<()>,
}

impl Move {
    fn start(folder: &Path, from: &str, to: &str) -> Self {
        let config = folder.join("test.toml");
        let mut child = godwit(&folder.join("data"))
            .args(["move", "--from", from, "--to", to, "--config"])
            .arg(config)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let said = Arc::new(Mutex::default());
        let listening = listen(child.stderr.take().unwrap(), said.clone());
        Self { child, said, listening }
    }

    fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// Waits until it copies conversations, and then for a moment.
    async fn is_under_way(&mut self) {
        let began = Instant::now();
        while !self.said().contains("copying conversations:") {
            assert!(began.elapsed() < MOVE_MAX, "the move does not begin: {}", self.said());
            assert!(self.child.try_wait().unwrap().is_none(), "the move has ended: {}", self.said());
            sleep(STEP).await;
        }
        sleep(Duration::from_millis(rand::rng().random_range(0..200))).await;
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the move is under way");
    }

    /// Whether it ended within this time.
    async fn ends_within(&mut self, time: Duration) -> bool {
        let began = Instant::now();
        while began.elapsed() < time {
            if self.child.try_wait().unwrap().is_some() {
                return true;
            }
            sleep(STEP).await;
        }
        false
    }

    async fn end(mut self) -> Output {
        assert!(self.ends_within(MOVE_MAX).await, "the move does not end: {}", self.said());
        let output = self.child.wait_with_output().unwrap();
        self.listening.join().unwrap();
        let stderr = std::mem::take(&mut *self.said.lock().unwrap()).into_bytes();
        Output { stderr, ..output }
    }

    async fn succeeds(self) -> String {
        let output = self.end().await;
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{out}\n{err}");
        assert!(out.contains("the same on both sides"), "{out}");
        out.into_owned()
    }
}

/// Reads all that it says, so that it never waits for us.
fn listen(stderr: ChildStderr, said: Arc<Mutex<String>>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            let mut said = said.lock().unwrap();
            said.push_str(&line);
            said.push('\n');
        }
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_is_moved_to_a_cluster_and_back_while_people_talk() {
    let cluster = shared().await;
    let keyspace = new_keyspace(&cluster).await;
    let settings = format!("{PATIENCE}{}", talking());
    let mut server = ServerProcess::started_with(&settings).await;
    let folder = server.data_dir().parent().unwrap().to_owned();
    let balancer = Balancer::start([server.address()].into_iter()).await;
    fill(&server.url()).await;
    let talkers = Talkers::start(&balancer.url(), PAUSE).await;
    let from = format!("embedded:{}", server.data_dir().display());

    for interruption in
        [Interruption::CommandStopped, Interruption::ServerKilled, Interruption::CommandKilled]
    {
        let mut moving = Move::start(&folder, &from, &keyspace);
        moving.is_under_way().await;
        assert!(is_at(&folder, &from), "{interruption:?} comes too late: {}", moving.said());
        println!("{interruption:?} after {}", moving.said());
        interrupt(interruption, moving, &mut server, &balancer).await;
        assert!(is_at(&folder, &from), "after {interruption:?} the data is where it was");
    }
    // The server has gone on since the last command was killed, and the next one waits for it.
    println!("{}", Move::start(&folder, &from, &keyspace).succeeds().await);
    // The server goes on by itself, at the same address, and what is left behind is of no use to anybody.
    sleep(Duration::from_secs(2)).await;
    assert!(server.stderr().contains("the data was moved; the server goes on there"), "{}", server.stderr());

    // And back. A server on a cluster stops when its data has gone, and another one is started.
    let back = folder.join("back");
    let mut moving = Move::start(&folder, &keyspace, &format!("embedded:{}", back.display()));
    moving.is_under_way().await;
    // What comes over must be seen without anything more being said.
    talkers.fall_silent();
    println!("{}", moving.succeeds().await);
    let status = server.wait().await;
    assert!(!status.success());
    assert!(server.stderr().contains("the data was moved to embedded:"), "{}", server.stderr());
    let config = folder.join("test.toml");
    let mut again = ServerProcess::on(&back, &["--config", config.to_str().unwrap()]).await;
    balancer.moved(0, again.address());
    println!("{}", talkers.check(&[again.url()]).await);
    again.stop().await;
}

async fn interrupt(
    interruption: Interruption,
    moving: Move,
    server: &mut ServerProcess,
    balancer: &Arc<Balancer>,
) {
    match interruption {
        Interruption::CommandStopped => {
            moving.signal(Signal::INT);
            let output = moving.end().await;
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success() && error.contains("can go on later"), "{error}");
        }
        Interruption::CommandKilled => {
            moving.signal(Signal::KILL);
            assert_eq!(moving.end().await.status.signal(), Some(Signal::KILL.as_raw()));
        }
        Interruption::ServerKilled => {
            server.kill().await;
            moving.signal(Signal::KILL);
            assert!(!moving.end().await.status.success());
            server.start_again().await;
            balancer.moved(0, server.address());
        }
    }
}

/// Whether a server would have its data there.
fn is_at(folder: &Path, from: &str) -> bool {
    let output = godwit(&folder.join("data")).args(["user", "list", "--store", from]).output().unwrap();
    output.status.success()
}
