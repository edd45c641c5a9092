//! The metrics of the store.

use super::unlimited;
use crate::operations::metrics::{families, value};
use crate::people::Person;

/// Families that must exist after the first write, with their types.
const FAMILIES: &[(&str, &str)] = &[
    ("godwit_store_commit_seconds", "histogram"),
    ("godwit_store_queue_depth", "gauge"),
    ("godwit_store_fsyncs_total", "counter"),
    ("godwit_store_table_bytes", "gauge"),
    ("godwit_store_journal_files", "gauge"),
];

#[tokio::test]
async fn metrics_report_the_state_of_the_store() {
    let server = unlimited().await;
    Person::register(&server.url(), "ada").await;
    let metrics = server.metrics().await;
    let families = families(&metrics);
    for (name, kind) in FAMILIES {
        assert_eq!(families.get(name), Some(kind), "{name} in\n{metrics}");
    }
    assert!(value(&metrics, "godwit_store_fsyncs_total") >= 1.0);
}
