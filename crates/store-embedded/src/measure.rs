//! Metrics of the store.

use std::time::Duration;

use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};

const COMMIT_SECONDS: &str = "godwit_store_commit_seconds";
const GROUP_SIZE: &str = "godwit_store_group_size";
const FSYNCS_TOTAL: &str = "godwit_store_fsyncs_total";
const QUEUE_DEPTH: &str = "godwit_store_queue_depth";

/// Describes the metrics. Called once, when the recorder is installed.
pub fn describe_metrics() {
    describe_histogram!(COMMIT_SECONDS, Unit::Seconds, "Time to make a group of writes durable");
    describe_histogram!(GROUP_SIZE, Unit::Count, "Writes made durable by one fsync");
    describe_counter!(FSYNCS_TOTAL, Unit::Count, "Groups of writes made durable");
    describe_gauge!(QUEUE_DEPTH, Unit::Count, "Writes that wait for the committer");
}

pub(crate) fn group(requests: usize, waiting: usize) {
    histogram!(GROUP_SIZE).record(requests as f64);
    gauge!(QUEUE_DEPTH).set(waiting as f64);
}

pub(crate) fn commit(took: Duration) {
    histogram!(COMMIT_SECONDS).record(took.as_secs_f64());
    counter!(FSYNCS_TOTAL).increment(1);
}
