//! Settings for tests that send more requests, and faster, than people do.

use std::fmt::Write;

use crate::process::ServerProcess;
use crate::store::TestStore;

/// All rate limits.
const LIMITS: &[&str] = &[
    "sign_in_per_address",
    "sign_in_per_network",
    "sign_in_per_user_and_network",
    "sign_in_per_user",
    "sign_in_per_device",
    "known_sign_in_per_user",
    "known_sign_in_per_address",
    "register_per_address",
    "register_per_network",
    "refresh_per_device",
    "refresh_per_address",
    "socket_sign_in_per_user",
    "socket_sign_in_per_address",
    "send_per_user",
    "send_per_address",
    "written_kib_per_user",
    "search_per_user",
    "search_per_address",
    "changes_per_user",
    "commands_per_user",
    "pings_per_user",
    "pages_per_address",
];

/// A server without rate limits and with fast password hashes.
pub(crate) async fn unlimited() -> ServerProcess {
    unlimited_with("").await
}

/// With additional settings, in their own sections.
pub(crate) async fn unlimited_with(more: &str) -> ServerProcess {
    limited_with("", 0, more).await
}

/// With one limit: this burst, and then one per minute.
pub(crate) async fn limited_with(limit: &str, burst: usize, more: &str) -> ServerProcess {
    ServerProcess::with_config(&settings(limit, burst, more)).await
}

/// Without limits, on another store than that of this run.
pub(crate) async fn unlimited_on(store: TestStore) -> ServerProcess {
    ServerProcess::configured(store, &settings("", 0, "")).await
}

/// The settings, for tests that put others before them.
pub(crate) fn without_limits() -> String {
    settings("", 0, "")
}

fn settings(limit: &str, burst: usize, more: &str) -> String {
    let mut settings = "[auth.passwords]\nmemory_kib = 64\niterations = 1\n[rates]\n".to_owned();
    for name in LIMITS {
        let (per_minute, burst) = if *name == limit { (1, burst) } else { (0, 0) };
        writeln!(settings, "{name} = {{ per_minute = {per_minute}, burst = {burst} }}").unwrap();
    }
    settings += "[groups]\nadded_per_day_max = 0\nstrangers_added_per_day_max = 0\nmade_per_day_max = 0\n";
    format!("{settings}{more}")
}
