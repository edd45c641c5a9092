//! Open files: every connection is one.

use anyhow::ensure;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that are not connections.
const OTHER_FILES: u64 = 64;

/// Raises the limit so that there can be so many connections. A server that is started inherits it.
pub(crate) fn allow_connections(count: usize) -> anyhow::Result<()> {
    let needed = count as u64 + OTHER_FILES;
    let current = raise(needed);
    ensure!(
        current >= needed,
        "{count} connections need {needed} open files, and the limit is {current}; raise it with ulimit -n"
    );
    Ok(())
}

/// As many connections of those as there can be, if a server needs some files of its own too.
pub(crate) fn connections_possible(count: u32) -> u32 {
    const SERVER_FILES: u64 = 1_024;
    let possible = raise(u64::from(count) + SERVER_FILES).saturating_sub(SERVER_FILES);
    u32::try_from(possible).unwrap_or(u32::MAX).min(count)
}

/// Raises the limit as far as it may be, and says where it is then.
fn raise(needed: u64) -> u64 {
    let before = getrlimit(Resource::Nofile);
    // Only the superuser may raise the upper limit, and not everywhere.
    let wanted = Rlimit { current: Some(needed), maximum: before.maximum.map(|maximum| maximum.max(needed)) };
    let raised = Rlimit { current: before.maximum, maximum: before.maximum };
    for limit in [wanted, raised] {
        if getrlimit(Resource::Nofile).current.is_some_and(|current| current < needed) {
            // Whether it worked is looked at below.
            let _ = setrlimit(Resource::Nofile, limit);
        }
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}
