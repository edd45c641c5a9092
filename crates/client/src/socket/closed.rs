//! Why a socket closed.

use std::fmt;

use godwit_protocol::socket::CloseCode;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Closed {
    /// The server closed it and gave a reason.
    ByServer { code: u16, reason: String },
    /// The client closed it.
    ByClient,
    /// The connection broke.
    Lost { cause: String },
    /// The server was silent for two heartbeats.
    Silent,
}

impl Closed {
    /// The server's reason, if this library knows its code.
    pub fn code(&self) -> Option<CloseCode> {
        match self {
            Self::ByServer { code, .. } => CloseCode::from_code(*code),
            _ => None,
        }
    }
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByServer { code, reason } => {
                write!(f, "the server closed the socket with code {code}: {reason}")
            }
            Self::ByClient => f.write_str("the client closed the socket"),
            Self::Lost { cause } => write!(f, "the connection was lost: {cause}"),
            Self::Silent => f.write_str("the server has been silent for too long"),
        }
    }
}
