//! Several Redis servers: a master and a replica with a Sentinel, or a Redis Cluster.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::{Doing as _, TestbedError};
use crate::leash::Leash;
use crate::process::Process;
use crate::redis::free_port;
use crate::tools;

const ADDRESS: Ipv4Addr = Ipv4Addr::LOCALHOST;
const START_WAIT_MAX: Duration = Duration::from_secs(60);
const STEP: Duration = Duration::from_millis(50);
const MASTER: &str = "mymaster";
const SLOTS: u32 = 16_384;

/// Keys for tests only: a certificate for this machine, and that of the authority that signed it.
const KEYS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/keys");

/// The certificate, as PEM, of the authority that signs for Redis with TLS.
pub fn redis_authority() -> PathBuf {
    Path::new(KEYS).join("redis-ca.pem")
}

/// Whether clients and servers connect with TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wire {
    Plain,
    Encrypted,
}

impl Wire {
    /// The settings of a server, for its command line or its file.
    fn settings(self, port: u16) -> Vec<(&'static str, String)> {
        let key = |name: &str| Path::new(KEYS).join(name).to_string_lossy().into_owned();
        match self {
            Self::Plain => Vec::new(),
            Self::Encrypted => vec![
                ("tls-port", port.to_string()),
                ("tls-cert-file", key("redis.pem")),
                ("tls-key-file", key("redis.key")),
                ("tls-ca-cert-file", key("redis-ca.pem")),
                ("tls-auth-clients", "no".to_owned()),
                ("tls-replication", "yes".to_owned()),
            ],
        }
    }

    const fn scheme(self) -> &'static str {
        match self {
            Self::Plain => "redis",
            Self::Encrypted => "rediss",
        }
    }
}

/// A server of a group.
#[derive(Debug)]
struct Server {
    process: Process,
    /// For this process, which does not use TLS.
    port: u16,
    /// For all other clients.
    client_port: u16,
}

impl Server {
    fn start(owner: &Path, name: &str, wire: Wire, more: &[&str]) -> Result<Self, TestbedError> {
        let port = free_port()?;
        let client_port = if wire == Wire::Plain { port } else { free_port()? };
        let folder = owner.join(name);
        std::fs::create_dir_all(&folder).doing(|| format!("create {}", folder.display()))?;
        let process = Process::new(format!("Redis ({name})"), folder.clone(), owner);
        let common = ["--port", &port.to_string(), "--bind", &ADDRESS.to_string()].map(str::to_owned);
        let kept =
            ["--save", "", "--appendonly", "no", "--dir", &folder.to_string_lossy()].map(str::to_owned);
        let encrypted = wire.settings(client_port).into_iter();
        let encrypted = encrypted.flat_map(|(name, value)| [format!("--{name}"), value]);
        let more = more.iter().map(|arg| (*arg).to_owned());
        let arguments: Vec<String> = common.into_iter().chain(kept).chain(encrypted).chain(more).collect();
        process.start(&tools::redis_server()?, &arguments)?;
        process.wait_for("up", START_WAIT_MAX, |log| log.contains("Ready to accept connections"))?;
        Ok(Self { process, port, client_port })
    }

    fn ask(&self, command: &str) -> Result<String, TestbedError> {
        ask(self.port, command)
    }
}

/// Sends a command, and returns the beginning of the answer.
fn ask(port: u16, command: &str) -> Result<String, TestbedError> {
    let doing = || format!("ask Redis for {command}");
    let mut connection = TcpStream::connect((ADDRESS, port)).doing(doing)?;
    connection.set_read_timeout(Some(START_WAIT_MAX)).doing(doing)?;
    connection.write_all(format!("{command}\r\n").as_bytes()).doing(doing)?;
    let mut answer = [0; 4_096];
    let length = connection.read(&mut answer).doing(doing)?;
    Ok(String::from_utf8_lossy(&answer[..length]).into_owned())
}

fn until(what: &str, is_so: impl Fn() -> Result<bool, TestbedError>) -> Result<(), TestbedError> {
    let end = Instant::now() + START_WAIT_MAX;
    while !is_so()? {
        if Instant::now() > end {
            return Err(std::io::Error::from(std::io::ErrorKind::TimedOut)).doing(|| what.to_owned());
        }
        std::thread::sleep(STEP);
    }
    Ok(())
}

/// A master, a replica, and a Sentinel that promotes the replica when the master fails.
#[derive(Debug)]
pub struct RedisSentinel {
    master: Server,
    replica: Server,
    sentinel: Process,
    sentinel_port: u16,
    wire: Wire,
    _leash: Leash,
}

impl RedisSentinel {
    pub fn start() -> Result<Self, TestbedError> {
        Self::start_with(Wire::Plain)
    }

    /// With TLS, signed by [`redis_authority`].
    pub fn start_encrypted() -> Result<Self, TestbedError> {
        Self::start_with(Wire::Encrypted)
    }

    fn start_with(wire: Wire) -> Result<Self, TestbedError> {
        let leash = Leash::on_new_folder("godwit-sentinel-")?;
        let owner = leash.folder();
        let master = Server::start(owner, "master", wire, &[])?;
        let port = master.client_port.to_string();
        let replica = Server::start(owner, "replica", wire, &["--replicaof", &ADDRESS.to_string(), &port])?;
        until("the replica to follow", || {
            Ok(replica.ask("INFO replication")?.contains("master_link_status:up"))
        })?;
        let plain_port = free_port()?;
        let sentinel_port = if wire == Wire::Plain { plain_port } else { free_port()? };
        let encrypted: String =
            wire.settings(sentinel_port).iter().map(|(name, value)| format!("{name} {value}\n")).collect();
        let folder = owner.join("sentinel");
        std::fs::create_dir_all(&folder).doing(|| format!("create {}", folder.display()))?;
        let file = folder.join("sentinel.conf");
        let config = format!(
            "port {plain_port}\n{encrypted}bind {ADDRESS}\ndir {}\nsentinel monitor {MASTER} {ADDRESS} {port} 1\n\
             sentinel down-after-milliseconds {MASTER} 500\nsentinel failover-timeout {MASTER} 2000\n",
            folder.display()
        );
        std::fs::write(&file, config).doing(|| format!("write {}", file.display()))?;
        let sentinel = Process::new("Redis (sentinel)".to_owned(), folder, owner);
        let arguments = [file.to_string_lossy().into_owned(), "--sentinel".to_owned()];
        sentinel.start(&tools::redis_server()?, &arguments)?;
        sentinel.wait_for("up", START_WAIT_MAX, |log| log.contains("+monitor"))?;
        until("the Sentinel to know the replica", || {
            Ok(ask(plain_port, &format!("SENTINEL replicas {MASTER}"))?
                .contains(&replica.client_port.to_string()))
        })?;
        Ok(Self { master, replica, sentinel, sentinel_port, wire, _leash: leash })
    }

    pub fn url(&self) -> String {
        format!("{}+sentinel://{ADDRESS}:{}/{MASTER}", self.wire.scheme(), self.sentinel_port)
    }

    /// Kills the master, and waits until the replica is promoted.
    pub fn kill_master(&self) -> Result<(), TestbedError> {
        self.master.process.kill()?;
        until("the replica to be the master", || Ok(self.replica.ask("ROLE")?.contains("master")))
    }
}

impl Drop for RedisSentinel {
    fn drop(&mut self) {
        // The leash would end them too. Some may already have been killed.
        for process in [&self.sentinel, &self.replica.process, &self.master.process] {
            let _ = process.kill();
        }
    }
}

/// Three masters that share the slots.
#[derive(Debug)]
pub struct RedisCluster {
    masters: Vec<Server>,
    wire: Wire,
    _leash: Leash,
}

impl RedisCluster {
    const MASTERS: u32 = 3;

    pub fn start() -> Result<Self, TestbedError> {
        Self::start_with(Wire::Plain)
    }

    /// With TLS, signed by [`redis_authority`].
    pub fn start_encrypted() -> Result<Self, TestbedError> {
        Self::start_with(Wire::Encrypted)
    }

    fn start_with(wire: Wire) -> Result<Self, TestbedError> {
        let leash = Leash::on_new_folder("godwit-redis-cluster-")?;
        let mut masters = Vec::new();
        for number in 0..Self::MASTERS {
            let bus = free_port()?.to_string();
            let mut more = vec!["--cluster-enabled", "yes", "--cluster-port", &bus];
            if wire == Wire::Encrypted {
                more.extend(["--tls-cluster", "yes"]);
            }
            let master = Server::start(leash.folder(), &format!("master-{number}"), wire, &more)?;
            let share = SLOTS.div_ceil(Self::MASTERS);
            let (first, last) = (number * share, ((number + 1) * share).min(SLOTS) - 1);
            master.ask(&format!("CLUSTER ADDSLOTSRANGE {first} {last}"))?;
            masters.push((master, bus));
        }
        for (other, bus) in &masters[1..] {
            masters[0].0.ask(&format!("CLUSTER MEET {ADDRESS} {} {bus}", other.client_port))?;
        }
        let masters: Vec<Server> = masters.into_iter().map(|(master, _)| master).collect();
        for master in &masters {
            until("the masters to meet", || Ok(master.ask("CLUSTER INFO")?.contains("cluster_state:ok")))?;
        }
        Ok(Self { masters, wire, _leash: leash })
    }

    pub fn url(&self) -> String {
        let hosts: Vec<String> =
            self.masters.iter().map(|master| format!("{ADDRESS}:{}", master.client_port)).collect();
        format!("{}+cluster://{}", self.wire.scheme(), hosts.join(","))
    }
}

impl Drop for RedisCluster {
    fn drop(&mut self) {
        for master in &self.masters {
            let _ = master.process.kill();
        }
    }
}
