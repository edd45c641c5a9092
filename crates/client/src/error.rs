//! The errors of a client.

use std::error::Error as StdError;

use godwit_protocol::{ErrorCode, Problem};

use crate::live::StopReason;
use crate::socket::Closed;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server refused the request and returned a problem document.
    #[error("{}", describe(.0))]
    Api(Box<Problem>),
    /// No answer: the server was not reachable, or the connection broke.
    #[error("{operation}: cannot reach the server")]
    Transport { operation: String, source: Box<dyn StdError + Send + Sync> },
    /// The answer does not follow the protocol.
    #[error("{operation}: cannot read the response")]
    Decode { operation: String, source: Box<dyn StdError + Send + Sync> },
    /// The answer has an error status without a problem document: it comes from something between the client and the server,
    /// such as a proxy.
    #[error("{operation}: status {status}")]
    Status { operation: String, status: u16 },
    /// The server did not answer in time. It may have executed the request.
    #[error("{operation}: timed out")]
    Timeout { operation: String },
    /// The socket is closed. The server may have executed the request.
    #[error("{0}")]
    Closed(Closed),
    /// The frame is larger than the server accepts. It was not sent.
    #[error("a frame of {bytes} bytes exceeds the server's limit of {bytes_max}")]
    FrameTooLarge { bytes: usize, bytes_max: usize },
    /// The client has no token for the sign-in.
    #[error("not signed in")]
    NotSignedIn,
    /// The live session has ended.
    #[error("the session has ended: {0}")]
    Stopped(StopReason),
}

impl Error {
    /// The problem document, if the server returned one.
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Api(problem) => Some(problem),
            _ => None,
        }
    }

    /// The error code, if the server refused.
    pub fn code(&self) -> Option<ErrorCode> {
        self.problem().map(|problem| problem.code)
    }

    /// True if a retry of the same request may succeed later.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Api(problem) => problem.temporary,
            Self::Transport { .. } | Self::Timeout { .. } | Self::Closed(_) => true,
            Self::Status { status, .. } => *status >= 500 || *status == 429,
            Self::Decode { .. } | Self::FrameTooLarge { .. } | Self::NotSignedIn | Self::Stopped(_) => false,
        }
    }

    /// True if the server will never accept these credentials again.
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

    /// The error for a response with this status and body.
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
