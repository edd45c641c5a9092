//! Close codes.

/// Why the server closed a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseCode {
    /// The server is restarting.
    ServiceRestart,
    /// The frame violated the WebSocket protocol.
    Protocol,
    /// The frame was larger than allowed.
    TooLarge,
    /// A text frame was not valid UTF-8.
    NotUtf8,
    /// An internal error of the server.
    Internal,
    /// The session has ended or the account was disabled: sign in again.
    SignedOut,
    /// The access token expired and the client did not sign in with a new one.
    TokenExpired,
    /// The client did not sign in in time.
    SignInTimeout,
    /// The client read too slowly, and its send queue was full: reconnect and resume.
    TooSlow,
    /// The client sent nothing for two heartbeat intervals.
    HeartbeatTimeout,
    /// The client sent too many invalid frames.
    Flood,
    /// A newer socket replaced this one, because the device or the user had reached the limit of open sockets.
    Replaced,
}

impl CloseCode {
    pub const ALL: &[Self] = &[
        Self::ServiceRestart,
        Self::Protocol,
        Self::TooLarge,
        Self::NotUtf8,
        Self::Internal,
        Self::SignedOut,
        Self::TokenExpired,
        Self::SignInTimeout,
        Self::TooSlow,
        Self::HeartbeatTimeout,
        Self::Flood,
        Self::Replaced,
    ];

    pub const fn code(self) -> u16 {
        match self {
            Self::Protocol => 1002,
            Self::NotUtf8 => 1007,
            Self::TooLarge => 1009,
            Self::Internal => 1011,
            Self::ServiceRestart => 1012,
            Self::SignedOut => 4001,
            Self::TokenExpired => 4002,
            Self::SignInTimeout => 4003,
            Self::TooSlow => 4004,
            Self::HeartbeatTimeout => 4005,
            Self::Flood => 4006,
            Self::Replaced => 4007,
        }
    }

    pub fn from_code(code: u16) -> Option<Self> {
        Self::ALL.iter().copied().find(|c| c.code() == code)
    }

    /// Whether the client should reconnect with the same credentials.
    pub const fn reconnect(self) -> bool {
        match self {
            Self::ServiceRestart
            | Self::Internal
            | Self::TooSlow
            | Self::HeartbeatTimeout
            | Self::SignInTimeout
            | Self::TokenExpired => true,
            Self::Protocol
            | Self::TooLarge
            | Self::NotUtf8
            | Self::SignedOut
            | Self::Flood
            | Self::Replaced => false,
        }
    }

    pub const fn reason(self) -> &'static str {
        match self {
            Self::ServiceRestart => "the server is restarting",
            Self::Protocol => "WebSocket protocol error",
            Self::TooLarge => "the frame is too large",
            Self::NotUtf8 => "the frame is not valid UTF-8",
            Self::Internal => "internal error",
            Self::SignedOut => "the session has ended",
            Self::TokenExpired => "the access token has expired",
            Self::SignInTimeout => "the client did not sign in in time",
            Self::TooSlow => "the client reads too slowly",
            Self::HeartbeatTimeout => "the client did not answer heartbeats",
            Self::Flood => "too many invalid frames",
            Self::Replaced => "replaced by a newer socket of the user",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_codes_are_distinct() {
        for code in CloseCode::ALL {
            assert_eq!(CloseCode::from_code(code.code()), Some(*code));
        }
    }
}
