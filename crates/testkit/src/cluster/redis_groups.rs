//! Several Redis servers: a master and a replica that Sentinels watch, or a Redis Cluster.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use super::error::{ClusterError, Doing as _};
use super::leash::Leash;
use super::process::Process;
use super::redis::free_port;
use super::tools;

const ADDRESS: Ipv4Addr = Ipv4Addr::LOCALHOST;
const START_WAIT_MAX: Duration = Duration::from_secs(120);
const STEP: Duration = Duration::from_millis(50);
const MASTER: &str = "mymaster";
const SLOTS: u32 = 16_384;

/// A server of a group.
#[derive(Debug)]
struct Server {
    process: Process,
    port: u16,
}

impl Server {
    fn start(owner: &Path, name: &str, port: u16, more: &[&str]) -> Result<Self, ClusterError> {
        let folder = owner.join(name);
        std::fs::create_dir_all(&folder).doing(|| format!("create {}", folder.display()))?;
        let process = Process::new(format!("Redis ({name})"), folder.clone(), owner);
        let common = ["--port", &port.to_string(), "--bind", &ADDRESS.to_string()].map(str::to_owned);
        let kept =
            ["--save", "", "--appendonly", "no", "--dir", &folder.to_string_lossy()].map(str::to_owned);
        let arguments: Vec<String> =
            common.into_iter().chain(kept).chain(more.iter().map(|arg| (*arg).to_owned())).collect();
        process.start(&tools::redis_server()?, &arguments)?;
        process.wait_for("up", START_WAIT_MAX, |log| log.contains("Ready to accept connections"))?;
        Ok(Self { process, port })
    }

    fn ask(&self, command: &str) -> Result<String, ClusterError> {
        ask(self.port, command)
    }
}

/// The beginning of what a server answers.
fn ask(port: u16, command: &str) -> Result<String, ClusterError> {
    let doing = || format!("ask Redis for {command}");
    let mut connection = TcpStream::connect((ADDRESS, port)).doing(doing)?;
    connection.set_read_timeout(Some(START_WAIT_MAX)).doing(doing)?;
    connection.write_all(format!("{command}\r\n").as_bytes()).doing(doing)?;
    let mut answer = [0; 4_096];
    let length = connection.read(&mut answer).doing(doing)?;
    Ok(String::from_utf8_lossy(&answer[..length]).into_owned())
}

fn until(what: &str, is_so: impl Fn() -> Result<bool, ClusterError>) -> Result<(), ClusterError> {
    let end = Instant::now() + START_WAIT_MAX;
    while !is_so()? {
        if Instant::now() > end {
            return Err(std::io::Error::from(std::io::ErrorKind::TimedOut)).doing(|| what.to_owned());
        }
        std::thread::sleep(STEP);
    }
    Ok(())
}

/// A master, a replica and a Sentinel, which makes the replica the master when the master is gone.
#[derive(Debug)]
pub struct RedisSentinel {
    master: Server,
    replica: Server,
    sentinel: Process,
    sentinel_port: u16,
    _leash: Leash,
}

impl RedisSentinel {
    pub fn start() -> Result<Self, ClusterError> {
        let leash = Leash::on_new_folder("godwit-sentinel-")?;
        let owner = leash.folder();
        let master = Server::start(owner, "master", free_port()?, &[])?;
        let port = master.port.to_string();
        let replica =
            Server::start(owner, "replica", free_port()?, &["--replicaof", &ADDRESS.to_string(), &port])?;
        until("the replica to follow", || {
            Ok(replica.ask("INFO replication")?.contains("master_link_status:up"))
        })?;
        let sentinel_port = free_port()?;
        let folder = owner.join("sentinel");
        std::fs::create_dir_all(&folder).doing(|| format!("create {}", folder.display()))?;
        let file = folder.join("sentinel.conf");
        let config = format!(
            "port {sentinel_port}\nbind {ADDRESS}\ndir {}\nsentinel monitor {MASTER} {ADDRESS} {port} 1\n\
             sentinel down-after-milliseconds {MASTER} 500\nsentinel failover-timeout {MASTER} 2000\n",
            folder.display()
        );
        std::fs::write(&file, config).doing(|| format!("write {}", file.display()))?;
        let sentinel = Process::new("Redis (sentinel)".to_owned(), folder, owner);
        let arguments = [file.to_string_lossy().into_owned(), "--sentinel".to_owned()];
        sentinel.start(&tools::redis_server()?, &arguments)?;
        sentinel.wait_for("up", START_WAIT_MAX, |log| log.contains("+monitor"))?;
        until("the Sentinel to know the replica", || {
            Ok(ask(sentinel_port, &format!("SENTINEL replicas {MASTER}"))?
                .contains(&replica.port.to_string()))
        })?;
        Ok(Self { master, replica, sentinel, sentinel_port, _leash: leash })
    }

    pub fn url(&self) -> String {
        format!("redis+sentinel://{ADDRESS}:{}/{MASTER}", self.sentinel_port)
    }

    /// Ends the master, and waits until the replica is the master.
    pub fn kill_master(&self) -> Result<(), ClusterError> {
        self.master.process.kill()?;
        until("the replica to be the master", || Ok(self.replica.ask("ROLE")?.contains("master")))
    }
}

impl Drop for RedisSentinel {
    fn drop(&mut self) {
        // They end with the leash; those that were killed are gone already.
        for process in [&self.sentinel, &self.replica.process, &self.master.process] {
            let _ = process.kill();
        }
    }
}

/// Three masters that share the slots.
#[derive(Debug)]
pub struct RedisCluster {
    masters: Vec<Server>,
    _leash: Leash,
}

impl RedisCluster {
    const MASTERS: u32 = 3;

    pub fn start() -> Result<Self, ClusterError> {
        let leash = Leash::on_new_folder("godwit-redis-cluster-")?;
        let mut masters = Vec::new();
        for number in 0..Self::MASTERS {
            let bus = free_port()?.to_string();
            let more = ["--cluster-enabled", "yes", "--cluster-port", &bus];
            let master = Server::start(leash.folder(), &format!("master-{number}"), free_port()?, &more)?;
            let share = SLOTS.div_ceil(Self::MASTERS);
            let (first, last) = (number * share, ((number + 1) * share).min(SLOTS) - 1);
            master.ask(&format!("CLUSTER ADDSLOTSRANGE {first} {last}"))?;
            masters.push((master, bus));
        }
        for (other, bus) in &masters[1..] {
            masters[0].0.ask(&format!("CLUSTER MEET {ADDRESS} {} {bus}", other.port))?;
        }
        let masters: Vec<Server> = masters.into_iter().map(|(master, _)| master).collect();
        for master in &masters {
            until("the masters to meet", || Ok(master.ask("CLUSTER INFO")?.contains("cluster_state:ok")))?;
        }
        Ok(Self { masters, _leash: leash })
    }

    pub fn url(&self) -> String {
        let hosts: Vec<String> =
            self.masters.iter().map(|master| format!("{ADDRESS}:{}", master.port)).collect();
        format!("redis+cluster://{}", hosts.join(","))
    }
}

impl Drop for RedisCluster {
    fn drop(&mut self) {
        for master in &self.masters {
            let _ = master.process.kill();
        }
    }
}
