//! File descriptors: every connection needs one.

use anyhow::ensure;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files other than connections.
const OTHER_FILES: u64 = 64;

/// Raises the limit for this many connections. A started server inherits it.
pub(crate) fn allow_connections(count: usize) -> anyhow::Result<()> {
    let needed = count as u64 + OTHER_FILES;
    let current = raise(needed);
    ensure!(
        current >= needed,
        "{count} connections need {needed} open files, and the limit is {current}; raise it with ulimit -n"
    );
    Ok(())
}

/// The number of possible connections, at most `count`, if a server needs some files too.
pub(crate) fn connections_possible(count: u32) -> u32 {
    const SERVER_FILES: u64 = 1_024;
    let possible = raise(u64::from(count) + SERVER_FILES).saturating_sub(SERVER_FILES);
    u32::try_from(possible).unwrap_or(u32::MAX).min(count)
}

/// Raises the limit as far as allowed, and returns the new one.
fn raise(needed: u64) -> u64 {
    let before = getrlimit(Resource::Nofile);
    // Only root may raise the hard limit, and not everywhere.
    let wanted = Rlimit { current: Some(needed), maximum: before.maximum.map(|maximum| maximum.max(needed)) };
    let raised = Rlimit { current: before.maximum, maximum: before.maximum };
    for limit in [wanted, raised] {
        if getrlimit(Resource::Nofile).current.is_some_and(|current| current < needed) {
            // The check below shows whether it worked.
            let _ = setrlimit(Resource::Nofile, limit);
        }
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}
