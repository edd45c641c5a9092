//! What can go wrong before a test has its cluster.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Why there is no cluster, and what to do about it.
#[derive(Clone, thiserror::Error)]
pub enum ClusterError {
    /// A program that must be installed, or is too old.
    #[error("{what}. {remedy}")]
    Missing { what: String, remedy: &'static str },

    #[error("Cassandra {version} could not be fetched by Maven. Is the network there? It said:\n{output}")]
    Fetch { version: &'static str, output: String },

    #[error("{who} {what}. The end of its log:\n{log}")]
    Process { who: String, what: String, log: String },

    #[error("there is no cluster in {}: it was stopped, or never started", .folder.display())]
    NotThere { folder: PathBuf },

    #[error("{0}")]
    Refused(String),

    #[error("cannot {doing}: {source}")]
    Io { doing: String, source: Arc<io::Error> },
}

impl ClusterError {
    /// Whether Cassandra cannot be had here at all, which is not a fault of this code or its tests.
    pub fn is_absence(&self) -> bool {
        matches!(self, Self::Missing { .. } | Self::Fetch { .. })
    }
}

/// As for people: a test that calls `expect` then says what is missing.
impl fmt::Debug for ClusterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Names what was being done when an operation on a file or process failed.
pub(super) trait Doing<T> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, ClusterError>;
}

impl<T, E: Into<io::Error>> Doing<T> for Result<T, E> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, ClusterError> {
        self.map_err(|error| ClusterError::Io { doing: what(), source: Arc::new(error.into()) })
    }
}
