//! What the metrics mean.

use ::metrics::{describe_counter, describe_gauge};

pub fn describe_metrics() {
    describe_gauge!("godwit_cluster_nodes", "Servers that are there.");
    describe_gauge!("godwit_cluster_redis_up", "Whether Redis answers.");
    describe_gauge!("godwit_cluster_trusted", "Whether everything that other servers tell is heard.");
    describe_gauge!("godwit_cluster_lag_seconds", "How long what is published takes to come back.");
    describe_gauge!("godwit_cluster_queue_bytes", "What waits to be published.");
    describe_counter!("godwit_cluster_published_total", "Frames that were published for other servers.");
    describe_counter!("godwit_cluster_published_bytes_total", "Bytes of these frames.");
    describe_counter!("godwit_cluster_received_bytes_total", "Bytes that came from Redis.");
    describe_counter!("godwit_cluster_dropped_total", "What should have been published and was not.");
    describe_counter!("godwit_cluster_missed_total", "How often something from another server was missing.");
    describe_counter!("godwit_cluster_catch_ups_total", "Sockets that were told to catch up.");
    describe_counter!("godwit_cluster_forwarded_total", "Actions that were given to other servers.");
    describe_counter!("godwit_cluster_served_total", "Actions that were done for other servers.");
    describe_counter!("godwit_cluster_links_lost_total", "Connections to other servers that ended.");
    describe_counter!(
        "godwit_cluster_refused_total",
        "Connections to the internal port that were not of servers."
    );
    describe_counter!(
        "godwit_cluster_frames_refused_total",
        "Frames that came through Redis and were not of servers, or came twice, by reason."
    );
    describe_gauge!(
        "godwit_cluster_strangers",
        "Servers on this Redis and store whose signature is not of this cluster.secret."
    );
    describe_counter!("godwit_cluster_untold_total", "Servers that did not answer in time.");
}
