//! The configuration files of a node, and the options of its Java virtual machine.

use std::net::Ipv4Addr;
use std::path::Path;

use crate::net::{CQL_PORT, Net, STORAGE_PORT};
use crate::nodes::Purpose;

pub(super) const YAML: &str = "cassandra.yaml";
pub(super) const RACK: &str = "rackdc.properties";
pub(super) const LOGBACK: &str = "logback.xml";

/// Request timeouts of a node whose peers are never killed: as long as a server may wait for it.
const PATIENCE_UNDISTURBED: &str = "20s";
const PATIENCE: &str = "10s";
const TOKENS_PER_NODE: u8 = 16;

/// The differences between nodes.
#[derive(Debug)]
pub(super) struct NodeConfig<'a> {
    pub(super) folder: &'a Path,
    pub(super) net: Net,
    pub(super) number: u8,
    /// The number of nodes in the cluster.
    pub(super) size: u8,
    pub(super) purpose: Purpose,
    pub(super) security: Option<Security<'a>>,
}

/// Passwords and TLS for clients.
#[derive(Debug, Clone, Copy)]
pub(super) struct Security<'a> {
    pub(super) keystore: &'a Path,
    pub(super) keystore_password: &'a str,
}

impl NodeConfig<'_> {
    pub(super) fn address(&self) -> Ipv4Addr {
        self.net.address(self.number)
    }

    /// Tuned for several nodes on few cores. All nodes are seeds, so that they can start at the same time: a
    /// seed that finds no other node continues alone, and the nodes meet when all are there. For this their
    /// tokens must be given.
    pub(super) fn yaml(&self) -> String {
        let Self { net, size, .. } = self;
        let address = self.address();
        let data = self.folder.join("data");
        let data = data.display();
        let seeds = (1..=*size).map(|node| net.address(node).to_string()).collect::<Vec<_>>().join(",");
        let tokens = self.tokens();
        let patience = if self.purpose == Purpose::Test { PATIENCE_UNDISTURBED } else { PATIENCE };
        let security = self.security.map(Security::yaml).unwrap_or_default();
        format!(
            r#"cluster_name: godwit-{net}
num_tokens: {TOKENS_PER_NODE}
initial_token: "{tokens}"
auto_bootstrap: false
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: GossipingPropertyFileSnitch
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters:
      - seeds: "{seeds}"
listen_address: {address}
rpc_address: {address}
native_transport_port: {CQL_PORT}
storage_port: {STORAGE_PORT}

data_file_directories: ["{data}/data"]
commitlog_directory: "{data}/commitlog"
hints_directory: "{data}/hints"
saved_caches_directory: "{data}/saved_caches"
cdc_raw_directory: "{data}/cdc_raw"

# An acknowledged write is on the disk. In groups of some milliseconds it would be no faster here, and each alone slower.
commitlog_sync: batch
paxos_variant: v2
hinted_handoff_enabled: true
hints_flush_period: 1s
auto_snapshot: false
materialized_views_enabled: false
user_defined_functions_enabled: false

# A busy machine is not a fault.
read_request_timeout: {patience}
range_request_timeout: {patience}
write_request_timeout: {patience}
cas_contention_timeout: {patience}
truncate_request_timeout: 60s
request_timeout: {patience}
slow_query_log_timeout: 5s
phi_convict_threshold: 5

commitlog_segment_size: 8MiB
commitlog_total_space: 512MiB
memtable_heap_space: 128MiB
memtable_offheap_space: 128MiB
memtable_flush_writers: 1
concurrent_reads: 8
concurrent_writes: 16
concurrent_counter_writes: 2
concurrent_materialized_view_writes: 2
concurrent_compactors: 1
native_transport_max_threads: 16
file_cache_size: 32MiB
networking_cache_size: 16MiB
key_cache_size: 8MiB
counter_cache_size: 0MiB
{security}"#,
            net = net.0,
        )
    }

    /// Tokens evenly around the ring, alternating between the nodes.
    fn tokens(&self) -> String {
        let all = i128::from(TOKENS_PER_NODE) * i128::from(self.size);
        let step = (1_i128 << 64) / all;
        let mine = (0..i128::from(TOKENS_PER_NODE)).map(|turn| {
            let place = turn * i128::from(self.size) + i128::from(self.number) - 1;
            (i128::from(i64::MIN) + 1 + place * step).to_string()
        });
        mine.collect::<Vec<_>>().join(",")
    }

    pub(super) fn rack(&self) -> String {
        format!("dc=dc1\nrack=r{}\n", self.number)
    }

    /// The arguments of `java`.
    pub(super) fn arguments(&self, jars: &Path) -> Vec<String> {
        let Self { purpose, .. } = *self;
        let file = |name: &str| format!("file://{}", self.folder.join(name).display());
        let path = |name: &str| self.folder.join(name).display().to_string();
        let mut arguments = vec!["-Xms128m".to_owned(), "-Xmx1g".to_owned()];
        arguments.extend(OPTIONS.iter().map(|&option| option.to_owned()));
        if purpose != Purpose::Development {
            arguments.extend(QUICK_START.iter().map(|&option| option.to_owned()));
        }
        if purpose == Purpose::Test {
            arguments.push(SCHEMA_IN_MEMORY.to_owned());
        }
        let heartbeat = if purpose == Purpose::Test { HEARTBEAT_UNDISTURBED_MS } else { HEARTBEAT_MS };
        arguments.push(format!("-Dcassandra.fd_initial_value_ms={heartbeat}"));
        arguments.extend(opened_packages());
        arguments.extend([
            format!("-Dcassandra.config={}", file(YAML)),
            format!("-Dcassandra-rackdc.properties={}", file(RACK)),
            format!("-Dlogback.configurationFile={}", file(LOGBACK)),
            format!("-Dcassandra.storagedir={}", path("data")),
            format!("-Dcassandra.logdir={}", path("")),
            format!("-Djava.io.tmpdir={}", path("tmp")),
            format!("-Djna.tmpdir={}", path("tmp")),
            "-classpath".to_owned(),
            format!("{}/*", jars.display()),
            "org.apache.cassandra.service.CassandraDaemon".to_owned(),
        ]);
        arguments
    }
}

impl Security<'_> {
    fn yaml(self) -> String {
        let Self { keystore, keystore_password } = self;
        format!(
            r#"
authenticator: PasswordAuthenticator
authorizer: CassandraAuthorizer
client_encryption_options:
  enabled: true
  optional: false
  keystore: "{}"
  keystore_password: {keystore_password}
  store_type: PKCS12
"#,
            keystore.display()
        )
    }
}

/// Logs little, but everything that this crate reads: whether a node is up, and which nodes it sees.
pub(super) fn logback() -> &'static str {
    r#"<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%-5level %date{ISO8601} [%thread] %logger{0} %msg%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="OUT"/></root>
  <logger name="org.apache.cassandra.gms" level="INFO"/>
  <logger name="org.apache.cassandra.service" level="INFO"/>
  <logger name="org.apache.cassandra.auth" level="INFO"/>
</configuration>
"#
}

/// The mean time between heartbeats that the failure detector assumes, in milliseconds. With a threshold of 5,
/// a node counts as down after a silence of 5 × 0.6 s × ln 10 = 6.9 s. With 5.2 s, a node on an overloaded
/// machine was taken for dead once or twice an hour.
const HEARTBEAT_MS: u32 = 600;
/// Where no node is ever killed, none should count as down: 115 s.
const HEARTBEAT_UNDISTURBED_MS: u32 = 10_000;

/// Otherwise every node flushes the schema tables after every schema change.
const SCHEMA_IN_MEMORY: &str = "-Dcassandra.test.flush_local_schema_changes=false";

/// With these a node needs nine seconds of CPU time to start, and fourteen without.
const QUICK_START: &[&str] =
    &["-XX:TieredStopAtLevel=1", "-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"];

const OPTIONS: &[&str] = &[
    "-XX:+UseSerialGC",
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:-UsePerfData",
    "-Xshare:auto",
    "-Djava.net.preferIPv4Stack=true",
    // Java 18 and later would reject Cassandra's security manager.
    "-Djava.security.manager=allow",
    "-Dcassandra-foreground=yes",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Djdk.attach.allowAttachSelf=true",
    // No need to wait: all nodes start at the same time, and none has data yet.
    "-Dcassandra.skip_wait_for_gossip_to_settle=0",
    "-Dcassandra.ring_delay_ms=3000",
    "-Dcassandra.superuser_setup_delay_ms=500",
    // Makes the failure detector use the configured mean instead of a measured one.
    "-Dcassandra.fd_max_interval_ms=1",
    // A busy node may miss a schema change and then asks for it, by default after a minute.
    "-Dcassandra.migration_delay_ms=3000",
    "-Dcassandra.schema_pull_interval_ms=3000",
];

/// The packages that Cassandra accesses, from its own `jvm17-server.options`.
fn opened_packages() -> impl Iterator<Item = String> {
    let of_base = BASE_PACKAGES.iter().map(|package| format!("java.base/{package}"));
    let all = of_base.chain(OTHER_PACKAGES.iter().map(|&package| package.to_owned()));
    let opened = all.flat_map(|package| {
        [format!("--add-exports={package}=ALL-UNNAMED"), format!("--add-opens={package}=ALL-UNNAMED")]
    });
    std::iter::once("--add-modules=jdk.attach".to_owned()).chain(opened)
}

const BASE_PACKAGES: &[&str] = &[
    "java.io",
    "java.lang",
    "java.lang.module",
    "java.lang.reflect",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "jdk.internal.loader",
    "jdk.internal.math",
    "jdk.internal.misc",
    "jdk.internal.module",
    "jdk.internal.ref",
    "jdk.internal.reflect",
    "jdk.internal.util.jar",
    "sun.nio.ch",
];

const OTHER_PACKAGES: &[&str] = &[
    "java.management.rmi/com.sun.jmx.remote.internal.rmi",
    "java.rmi/sun.rmi.registry",
    "java.rmi/sun.rmi.server",
    "java.sql/java.sql",
    "jdk.attach/sun.tools.attach",
    "jdk.management/com.sun.management.internal",
    "jdk.unsupported/sun.misc",
];
