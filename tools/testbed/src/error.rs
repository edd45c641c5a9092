//! Errors before a test has its Cassandra cluster.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Why there is no Cassandra cluster, and what to do about it.
#[derive(Clone, thiserror::Error)]
pub enum TestbedError {
    /// A program is not installed, or is too old.
    #[error("{what}. {remedy}")]
    Missing { what: String, remedy: &'static str },

    #[error("Cassandra {version} could not be fetched by Maven. Check the network. Its output:\n{output}")]
    Fetch { version: &'static str, output: String },

    #[error("{who} {what}. The end of its log:\n{log}")]
    Process { who: String, what: String, log: String },

    #[error("there is no Cassandra cluster in {}: it was stopped, or never started", .folder.display())]
    NotThere { folder: PathBuf },

    #[error("{0}")]
    Refused(String),

    #[error("cannot {doing}: {source}")]
    Io { doing: String, source: Arc<io::Error> },
}

impl TestbedError {
    /// Whether Cassandra cannot run on this machine at all, which is not a fault of this code or its tests.
    pub fn is_absence(&self) -> bool {
        matches!(self, Self::Missing { .. } | Self::Fetch { .. })
    }
}

/// The same text as for people, so that a test that calls `expect` prints what is missing.
impl fmt::Debug for TestbedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Adds the operation that was under way to an error about a file or process.
pub(super) trait Doing<T> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, TestbedError>;
}

impl<T, E: Into<io::Error>> Doing<T> for Result<T, E> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, TestbedError> {
        self.map_err(|error| TestbedError::Io { doing: what(), source: Arc::new(error.into()) })
    }
}
