//! Why a socket ended.

use std::fmt;

use godwit_protocol::socket::CloseCode;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Closed {
    /// The server closed it and said why.
    ByServer { code: u16, reason: String },
    /// It was closed from here.
    ByClient,
    /// The connection broke.
    Lost { cause: String },
    /// Nothing came from the server for two heartbeats.
    Silent,
}

impl Closed {
    /// The server's reason, where this library knows it.
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
            Self::ByClient => f.write_str("the socket was closed from here"),
            Self::Lost { cause } => write!(f, "the connection was lost: {cause}"),
            Self::Silent => f.write_str("the server has been silent for too long"),
        }
    }
}
