//! Open files: every connection is one.

use anyhow::ensure;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that are not connections.
const OTHER_FILES: u64 = 64;

/// Raises the limit so that there can be so many connections. A server that is started inherits it.
pub(crate) fn allow_connections(count: usize) -> anyhow::Result<()> {
    let needed = count as u64 + OTHER_FILES;
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
    let current = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    ensure!(
        current >= needed,
        "{count} connections need {needed} open files, and the limit is {current}; raise it with ulimit -n"
    );
    Ok(())
}
