//! Descriptions of the metrics.

use ::metrics::{describe_counter, describe_gauge};

pub fn describe_metrics() {
    describe_gauge!("godwit_cluster_nodes", "Servers that are present.");
    describe_gauge!("godwit_cluster_redis_up", "Whether Redis answers.");
    describe_gauge!(
        "godwit_cluster_trusted",
        "Whether this server hears everything that the others publish."
    );
    describe_gauge!("godwit_cluster_lag_seconds", "Time until a published frame comes back from Redis.");
    describe_gauge!("godwit_cluster_queue_bytes", "Bytes that wait to be published.");
    describe_counter!("godwit_cluster_published_total", "Frames published for other servers.");
    describe_counter!("godwit_cluster_published_bytes_total", "Bytes of these frames.");
    describe_counter!("godwit_cluster_received_bytes_total", "Bytes received from Redis.");
    describe_counter!("godwit_cluster_dropped_total", "Frames dropped instead of published.");
    describe_counter!("godwit_cluster_missed_total", "Gaps in the frames from other servers.");
    describe_counter!("godwit_cluster_catch_ups_total", "Sockets told to catch up.");
    describe_counter!("godwit_cluster_forwarded_total", "Actions forwarded to other servers.");
    describe_counter!("godwit_cluster_served_total", "Actions done for other servers.");
    describe_counter!("godwit_cluster_links_lost_total", "Connections to other servers that ended.");
    describe_counter!("godwit_cluster_refused_total", "Refused connections to the internal port.");
    describe_counter!(
        "godwit_cluster_frames_refused_total",
        "Frames from Redis that were unsigned or repeated, by reason."
    );
    describe_gauge!(
        "godwit_cluster_strangers",
        "Servers on this Redis and store with another cluster.secret."
    );
    describe_counter!("godwit_cluster_untold_total", "Servers that did not answer in time.");
}
