//! File descriptors: every connection needs one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files other than connections: the store's, the log, the admin socket. At most half of the limit.
const OTHER_FILES_MAX: u64 = 512;

/// The maximum number of connections: the configured one, or less if the system allows fewer files.
pub(super) fn connections_max(wanted: usize) -> usize {
    let Some(files) = raise_file_limit() else { return wanted };
    let possible = usize::try_from(files - OTHER_FILES_MAX.min(files / 2)).unwrap_or(usize::MAX);
    if possible < wanted {
        tracing::info!(
            connections = possible,
            wanted,
            "the limit of open files allows fewer connections than configured; raise it (ulimit -n, LimitNOFILE)"
        );
    }
    wanted.min(possible)
}

/// Raises the soft limit to the hard one, as far as allowed. `None` if there is no limit.
fn raise_file_limit() -> Option<u64> {
    let before = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: before.maximum, maximum: before.maximum };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::debug!(%error, "could not raise the limit of open files");
    }
    getrlimit(Resource::Nofile).current
}
