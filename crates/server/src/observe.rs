//! Logs and metrics.
//!
//! Logs go to stderr, so that stdout stays for what was asked for. Metrics are kept in memory and read at `metrics.listen`.

use std::io::IsTerminal;

use metrics::{Unit, describe_counter, describe_gauge, describe_histogram, gauge};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use rustix::param::{clock_ticks_per_second, page_size};
use tracing_subscriber::EnvFilter;

use crate::config::{LogConfig, LogFormat};

/// From a read in memory to a request that is given up, in seconds.
const LATENCY_BUCKETS: &[f64] = &[
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];
/// How many things were done at once.
const COUNT_BUCKETS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1_024.0];

/// The engines of the stores tell more than an operator wants to know. Who wants it asks for it by name.
const QUIET: &str = "lsm_tree=warn,scylla=off";

/// Starts to write logs. A second call changes nothing.
pub fn start_log(config: &LogConfig) {
    // A level that is not one has been refused before; what is left is better than silence.
    let filter =
        EnvFilter::try_new(format!("{QUIET},{}", config.level)).unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        // It would report a closed stderr on stderr, and panic.
        .log_internal_errors(false);
    let started = match config.format {
        LogFormat::Text => log.try_init(),
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    };
    if let Err(error) = started {
        tracing::debug!(error, "the log was started before");
    }
}

/// Starts to count. Once in a process.
pub fn start_metrics() -> Result<PrometheusHandle, BuildError> {
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), LATENCY_BUCKETS)?
        .set_buckets(COUNT_BUCKETS)?
        .install_recorder()?;
    describe();
    gauge!("godwit_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    Ok(handle)
}

/// Brings up to date what nobody else measures, and tidies up. For a timer.
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
    describe_gauge!("godwit_info", "The version that runs.");
    describe_histogram!(
        "godwit_admission_wait_seconds",
        Unit::Seconds,
        "How long those waited for whom there was no place at once: for a socket's sign-in, a sync, a password."
    );
    describe_counter!(
        "godwit_admission_refused_total",
        "Those who waited too long, or would have, and were told to come back."
    );
    describe_gauge!("godwit_ready", "Whether the server is ready for traffic, as /readyz says.");

    describe_histogram!(
        "godwit_action_seconds",
        Unit::Seconds,
        "From an action in a conversation, such as sending, to its acknowledgement."
    );
    describe_counter!("godwit_actions_total", "What people did in conversations, by action and outcome.");
    describe_histogram!("godwit_append_messages", "Messages that went into a log with one append.");
    describe_counter!("godwit_append_conflicts_total", "Appends that found the log longer than expected.");
    describe_histogram!(
        "godwit_delivery_lag_seconds",
        Unit::Seconds,
        "From the acknowledgement to the queues of sockets."
    );

    describe_counter!("godwit_deliveries_total", "Events that were put into the queue of a socket.");
    describe_counter!(
        "godwit_sockets_replaced_total",
        "Sockets that made room for another one of their user."
    );
    describe_counter!("godwit_slow_readers_total", "Sockets that were closed because they were not read.");
    describe_gauge!("godwit_sockets", "Open sockets, by whether they are signed in.");
    describe_gauge!("godwit_socket_queue_bytes", Unit::Bytes, "What waits in the queues of all sockets.");

    describe_counter!("godwit_sign_ins_total", "Attempts to sign in, by what and by outcome.");
    describe_histogram!("godwit_http_seconds", Unit::Seconds, "Requests, by route and status.");
    describe_counter!("godwit_rate_limited_total", "Requests and commands that were too many, by limit.");

    describe_gauge!("godwit_connections", "Open connections, sockets included.");
    describe_counter!("godwit_connections_refused_total", "Connections beyond the limit.");
    describe_gauge!("godwit_anonymous_connections", "Connections on which no valid token was seen.");
    describe_counter!(
        "godwit_connections_evicted_total",
        "Anonymous connections that made room for others, or were idle for too long, by reason."
    );
    describe_counter!(
        "godwit_bodies_given_up_total",
        "Bodies of anonymous requests that were given up, by the limit that they exceeded."
    );

    describe_gauge!("process_resident_memory_bytes", Unit::Bytes, "Memory in use.");
    describe_gauge!("process_cpu_seconds_total", Unit::Seconds, "Processor time used.");
}

/// Only where there is a `/proc`.
fn resident_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * page_size() as u64)
}

/// Time in user and in system mode.
fn cpu_ticks() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program stands in brackets and may contain anything; what follows is numbers.
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
