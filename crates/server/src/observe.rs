//! Logs and metrics.
//!
//! Logs go to stderr, so that stdout contains only results. Metrics are kept in memory and served at `metrics.listen`.

use std::io::IsTerminal;

use metrics::{Unit, describe_counter, describe_gauge, describe_histogram, gauge};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use rustix::param::{clock_ticks_per_second, page_size};
use tracing_subscriber::EnvFilter;

use crate::config::{LogConfig, LogFormat};

/// From a read in memory to a request that times out, in seconds.
const LATENCY_BUCKETS: &[f64] = &[
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];
/// Batch sizes.
const COUNT_BUCKETS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1_024.0];

/// The storage engines log more than an operator needs. A filter that names them shows it.
const QUIET: &str = "lsm_tree=warn,scylla=off";

/// Starts logging. A second call changes nothing.
pub fn start_log(config: &LogConfig) {
    // An invalid level has been refused before; the fallback is better than silence.
    let filter =
        EnvFilter::try_new(format!("{QUIET},{}", config.level)).unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        // Otherwise it would report a closed stderr on stderr, and panic.
        .log_internal_errors(false);
    let started = match config.format {
        LogFormat::Text => log.try_init(),
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    };
    if let Err(error) = started {
        tracing::debug!(error, "the log was already started");
    }
}

/// Starts collecting metrics. Called once per process.
pub fn start_metrics() -> Result<PrometheusHandle, BuildError> {
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), LATENCY_BUCKETS)?
        .set_buckets(COUNT_BUCKETS)?
        .install_recorder()?;
    describe();
    gauge!("godwit_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    Ok(handle)
}

/// Updates the gauges that no other code updates, and runs upkeep. For a timer.
pub fn refresh_metrics(handle: &PrometheusHandle) {
    handle.run_upkeep();
    if let Some(bytes) = resident_bytes() {
        gauge!("process_resident_memory_bytes").set(bytes as f64);
    }
    if let Some(ticks) = cpu_ticks() {
        gauge!("process_cpu_seconds_total").set(ticks as f64 / clock_ticks_per_second() as f64);
    }
}

fn describe() {
    describe_gauge!("godwit_info", "The running version.");
    describe_histogram!(
        "godwit_admission_wait_seconds",
        Unit::Seconds,
        "Time in the admission queue, for socket sign-ins, syncs and passwords that had to wait."
    );
    describe_counter!(
        "godwit_admission_refused_total",
        "Requests refused because they waited too long or would have."
    );
    describe_gauge!("godwit_ready", "Whether the server is ready for traffic, as /readyz says.");

    describe_histogram!(
        "godwit_action_seconds",
        Unit::Seconds,
        "Time from an action in a conversation, such as a send, to its acknowledgement."
    );
    describe_counter!("godwit_actions_total", "Actions in conversations, by action and outcome.");
    describe_histogram!("godwit_append_messages", "Messages per append.");
    describe_counter!(
        "godwit_append_conflicts_total",
        "Appends that failed because another writer moved the head."
    );
    describe_histogram!(
        "godwit_delivery_lag_seconds",
        Unit::Seconds,
        "Time from the acknowledgement to the socket queues."
    );

    describe_counter!("godwit_deliveries_total", "Events added to socket queues.");
    describe_counter!(
        "godwit_sockets_replaced_total",
        "Sockets replaced by another socket of the same user."
    );
    describe_counter!("godwit_slow_readers_total", "Sockets closed because their client read too slowly.");
    describe_gauge!("godwit_sockets", "Open sockets, by whether they are signed in.");
    describe_gauge!("godwit_socket_queue_bytes", Unit::Bytes, "Bytes in the queues of all sockets.");

    describe_counter!("godwit_sign_ins_total", "Sign-in attempts, by method and outcome.");
    describe_histogram!("godwit_http_seconds", Unit::Seconds, "Requests, by route and status.");
    describe_counter!("godwit_rate_limited_total", "Requests and commands refused by rate limits, by limit.");

    describe_gauge!("godwit_connections", "Open connections, sockets included.");
    describe_counter!("godwit_connections_refused_total", "Connections beyond the limit.");
    describe_gauge!("godwit_anonymous_connections", "Connections without a valid token.");
    describe_counter!(
        "godwit_connections_evicted_total",
        "Connections evicted for others or closed as idle, by reason."
    );
    describe_gauge!(
        "godwit_http_answer_bytes",
        Unit::Bytes,
        "Bytes of answers that HTTP clients have not read yet."
    );
    describe_counter!(
        "godwit_bodies_given_up_total",
        "Dropped bodies of anonymous requests, by the limit that they exceeded."
    );

    describe_gauge!("process_resident_memory_bytes", Unit::Bytes, "Memory in use.");
    describe_gauge!("process_cpu_seconds_total", Unit::Seconds, "Processor time used.");
}

/// Available only with `/proc`.
fn resident_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * page_size() as u64)
}

/// CPU time in user and system mode, in ticks.
fn cpu_ticks() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The program name in parentheses may contain anything; only numbers follow it.
    let (_, numbers) = stat.rsplit_once(')')?;
    let mut times = numbers.split_whitespace().skip(11).map_while(|number| number.parse::<u64>().ok());
    Some(times.next()? + times.next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn the_process_knows_its_own_size_and_work() {
        assert!(resident_bytes().unwrap() > 100_000);
        let mut sum = 0_u64;
        while cpu_ticks().unwrap() == 0 {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
    }
}
