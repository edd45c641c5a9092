//! What can go wrong between a client and a server.

use std::error::Error as StdError;

use godwit_protocol::{ErrorCode, Problem};

use crate::live::StopReason;
use crate::socket::Closed;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server refused, and said why.
    #[error("{}", describe(.0))]
    Api(Box<Problem>),
    /// No answer came: the server could not be reached, or the connection broke.
    #[error("{operation}: the server cannot be reached")]
    Transport { operation: String, source: Box<dyn StdError + Send + Sync> },
    /// The answer is not what the protocol says.
    #[error("{operation}: the answer cannot be read")]
    Decode { operation: String, source: Box<dyn StdError + Send + Sync> },
    /// The answer has a status of failure and no problem document: something between here and the server speaks.
    #[error("{operation}: status {status}")]
    Status { operation: String, status: u16 },
    /// The server did not answer in time. What was asked for may have been done.
    #[error("{operation}: no answer in time")]
    Timeout { operation: String },
    /// The socket is closed. What was asked for may have been done.
    #[error("{0}")]
    Closed(Closed),
    /// The frame is larger than the server takes; it was not sent.
    #[error("a frame of {bytes} bytes is larger than the {bytes_max} that the server takes")]
    FrameTooLarge { bytes: usize, bytes_max: usize },
    /// There is no token to sign in with.
    #[error("nobody is signed in")]
    NotSignedIn,
    /// The live session has ended.
    #[error("the session has ended: {0}")]
    Stopped(StopReason),
}

impl Error {
    /// What the server said, if it said something.
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Api(problem) => Some(problem),
            _ => None,
        }
    }

    /// The code with which the server refused.
    pub fn code(&self) -> Option<ErrorCode> {
        self.problem().map(|problem| problem.code)
    }

    /// Whether the same request may succeed later.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Api(problem) => problem.temporary,
            Self::Transport { .. } | Self::Timeout { .. } | Self::Closed(_) => true,
            Self::Status { status, .. } => *status >= 500 || *status == 429,
            Self::Decode { .. } | Self::FrameTooLarge { .. } | Self::NotSignedIn | Self::Stopped(_) => false,
        }
    }

    /// Whether the server will not take these credentials again, whatever is asked.
    pub(crate) fn ends_session(&self) -> bool {
        match self {
            Self::NotSignedIn => true,
            _ => matches!(
                self.code(),
                Some(
                    ErrorCode::Unauthenticated
                        | ErrorCode::TokenExpired
                        | ErrorCode::RefreshReused
                        | ErrorCode::AccountDisabled
                )
            ),
        }
    }

    pub(crate) fn transport(
        operation: impl Into<String>,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self::Transport { operation: operation.into(), source: source.into() }
    }

    pub(crate) fn decode(
        operation: impl Into<String>,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self::Decode { operation: operation.into(), source: source.into() }
    }

    /// The failure that a response with this status and body stands for.
    pub(crate) fn of_response(operation: impl Into<String>, status: u16, body: &[u8]) -> Self {
        match serde_json::from_slice(body) {
            Ok(problem) => Self::Api(Box::new(problem)),
            Err(_) => Self::Status { operation: operation.into(), status },
        }
    }
}

fn describe(problem: &Problem) -> String {
    let text = problem.detail.as_deref().unwrap_or(&problem.title);
    match &problem.field {
        Some(field) => format!("{} ({field}): {text}", problem.code),
        None => format!("{}: {text}", problem.code),
    }
}
