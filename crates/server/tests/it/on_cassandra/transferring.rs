//! A transfer from a folder to a Cassandra cluster and back, under load: `godwit transfer` and the server are interrupted on the
//! way, and no message is lost, repeated or missed.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStderr, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, TryStreamExt, stream};
use godwit_client::Draft;
use godwit_testbed::{Cassandra, Shared};
use rand::RngExt;
use rand::rngs::StdRng;
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::sleep;

use super::talkers::{Talkers, impatient};
use super::talking;
use crate::balancer::Balancer;
use crate::changes::Changes;
use crate::follower::Follower;
use crate::people::{Person, patience, same_session, unique};
use crate::process::{ServerProcess, godwit};
use crate::seed::seeded;
use crate::store::url;

/// The time limit of a transfer, on a machine that is busy with three Cassandra nodes.
const TRANSFER_MAX: Duration = Duration::from_secs(180);
const STEP: Duration = Duration::from_millis(50);
/// Additional groups, so that copying takes a while: a transfer saves its progress after every 64 conversations, and is
/// interrupted between two such points.
const GROUPS: usize = 256;
/// Groups created concurrently.
const AT_ONCE: usize = 32;
/// The pause between two messages of one person: the write rate must be below the copy rate, or the transfer never ends.
const PAUSE: Duration = Duration::from_millis(500);
/// The time over which every kind of change happens, once: while the data is transferred for the first time.
const CHANGES_TAKE: Duration = Duration::from_secs(20);
/// The nodes share one machine, so a slow node is not a dead one.
const PATIENCE: &str = "[store.cassandra]\nsilence_max_ms = 30000\nrequest_timeout_ms = 20000\n";

/// An interruption of a transfer.
#[derive(Debug, Clone, Copy)]
enum Interruption {
    /// Ctrl-C: the transfer stops and can be resumed.
    CommandStopped,
    /// The command is killed, and the server continues the transfer.
    CommandKilled,
    ServerKilled,
}

async fn shared() -> Shared {
    tokio::task::spawn_blocking(|| Cassandra::shared().unwrap_or_else(|error| panic!("{error}")))
        .await
        .unwrap()
}

/// A new empty keyspace with tables. A keyspace cannot be used again after its data was transferred away.
async fn new_keyspace(cluster: &Shared) -> String {
    let url = url(&cluster.contact_points(), &unique("transfer"));
    let folder = tempfile::tempdir().unwrap();
    let mut create = godwit(&folder.path().join("data"));
    create.args(["schema", "create", "--store", &url]);
    let created = tokio::task::spawn_blocking(move || create.output()).await.unwrap().unwrap();
    assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stderr));
    url
}

/// Creates enough conversations that copying takes a while.
async fn fill(url: &str) {
    let ada = Person::register(url, "ada").await;
    let made = stream::iter(0..GROUPS).map(|number| {
        let http = &ada.http;
        async move {
            let group = http.group(&format!("group {number}"), &[]).await?.conversation.id;
            http.send_message(group, Draft::text("a message that is transferred too")).await
        }
    });
    made.buffer_unordered(AT_ONCE).try_for_each(async |_| Ok(())).await.unwrap();
}

/// A running command.
struct Transfer {
    child: Child,
    /// Its output so far.
    said: Arc<Mutex<String>>,
    listening: JoinHandle<()>,
}

impl Transfer {
    fn start(folder: &Path, from: &str, to: &str) -> Self {
        let config = folder.join("test.toml");
        let mut child = godwit(&folder.join("data"))
            .args(["transfer", "--from", from, "--to", to, "--config"])
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

    /// Waits until it copies conversations, and for another moment.
    async fn is_under_way(&mut self, random: &mut StdRng) {
        let began = Instant::now();
        while !self.said().contains("copying conversations:") {
            assert!(began.elapsed() < patience(), "the transfer does not begin: {}", self.said());
            assert!(self.child.try_wait().unwrap().is_none(), "the transfer has ended: {}", self.said());
            sleep(STEP).await;
        }
        sleep(Duration::from_millis(random.random_range(0..200))).await;
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the transfer is under way");
    }

    /// True if it ended within this time.
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
        assert!(self.ends_within(TRANSFER_MAX).await, "the transfer does not end: {}", self.said());
        let output = self.child.wait_with_output().unwrap();
        self.listening.join().unwrap();
        let stderr = std::mem::take(&mut *self.said.lock().unwrap()).into_bytes();
        Output { stderr, ..output }
    }

    async fn succeeds(self) -> String {
        let output = self.end().await;
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{out}\n{err}");
        assert!(out.contains("both stores are equal"), "{out}");
        out.into_owned()
    }
}

/// Reads all output, so that the process never blocks.
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
async fn a_server_is_transferred_to_cassandra_and_back_under_load() {
    let mut random = seeded(rand::random());
    let cluster = shared().await;
    let keyspace = new_keyspace(&cluster).await;
    let settings = format!("{PATIENCE}{}", talking());
    let mut server = ServerProcess::started_with(&settings).await;
    let folder = server.data_dir().parent().unwrap().to_owned();
    let balancer = Balancer::start([server.address()].into_iter()).await;
    fill(&server.url()).await;
    let talkers = Talkers::start(&balancer.url(), PAUSE).await;
    let [ada, eve, bob] = Person::register_all(&balancer.url(), ["ada", "eve", "bob"])
        .await
        .map(|person| Person { http: impatient(&person.http, &balancer.url()), ..person });
    let changes = Changes::prepare(&ada, &eve, &bob, Some(CHANGES_TAKE)).await;
    let watcher = Follower::restless("bob", bob.http.clone());
    watcher.catches_up().await;
    let changing = tokio::spawn(async move {
        changes.happen_despite_faults(CHANGES_TAKE).await;
        changes
    });
    let from = format!("embedded:{}", server.data_dir().display());

    for interruption in
        [Interruption::CommandStopped, Interruption::ServerKilled, Interruption::CommandKilled]
    {
        let mut transfer = Transfer::start(&folder, &from, &keyspace);
        transfer.is_under_way(&mut random).await;
        assert!(is_at(&folder, &from), "{interruption:?} comes too late: {}", transfer.said());
        println!("{interruption:?} after {}", transfer.said());
        interrupt(interruption, transfer, &mut server, &balancer).await;
        assert!(is_at(&folder, &from), "after {interruption:?} the data is where it was");
    }
    // The server has continued since the last command was killed, and the next one waits for it.
    println!("{}", Transfer::start(&folder, &from, &keyspace).succeeds().await);
    // The server continues on its own at the same address, and the source is unusable.
    sleep(Duration::from_secs(2)).await;
    assert!(
        server.stderr().contains("transferred the data; the server continues on the new store"),
        "{}",
        server.stderr()
    );

    let changes = changing.await.unwrap();
    // And back. A server on a cluster stops after the transfer, and another one is started.
    let back = folder.join("back");
    let mut transfer = Transfer::start(&folder, &keyspace, &format!("embedded:{}", back.display()));
    transfer.is_under_way(&mut random).await;
    // Transferred data must be visible without any later event.
    talkers.fall_silent();
    println!("{}", transfer.succeeds().await);
    let status = server.wait().await;
    assert!(!status.success());
    assert!(server.stderr().contains("the data was transferred to embedded:"), "{}", server.stderr());
    let config = folder.join("test.toml");
    let mut again = ServerProcess::on(&back, &["--config", config.to_str().unwrap()]).await;
    balancer.moved(0, again.address());
    changes.have_reached(&same_session(&bob.http, &again.url()), watcher).await;
    println!("{}", talkers.check(&[again.url()]).await);
    again.stop().await;
}

async fn interrupt(
    interruption: Interruption,
    transfer: Transfer,
    server: &mut ServerProcess,
    balancer: &Arc<Balancer>,
) {
    match interruption {
        Interruption::CommandStopped => {
            transfer.signal(Signal::INT);
            let output = transfer.end().await;
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success() && error.contains("to resume it"), "{error}");
        }
        Interruption::CommandKilled => {
            transfer.signal(Signal::KILL);
            assert_eq!(transfer.end().await.status.signal(), Some(Signal::KILL.as_raw()));
        }
        Interruption::ServerKilled => {
            server.kill().await;
            transfer.signal(Signal::KILL);
            assert!(!transfer.end().await.status.success());
            server.start_again().await;
            balancer.moved(0, server.address());
        }
    }
}

/// True if a server would find its data there.
fn is_at(folder: &Path, from: &str) -> bool {
    let output = godwit(&folder.join("data")).args(["user", "list", "--store", from]).output().unwrap();
    output.status.success()
}
