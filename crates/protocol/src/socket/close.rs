//! Close codes.

/// Why the server closed a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseCode {
    /// The server restarts.
    ServiceRestart,
    /// The frame was not one of a WebSocket client.
    Protocol,
    /// The frame was larger than allowed.
    TooLarge,
    /// The frame was not UTF-8.
    NotUtf8,
    /// A fault of the server.
    Internal,
    /// The session has ended or the account was disabled: sign in again.
    SignedOut,
    /// The access token expired and no fresh one came.
    TokenExpired,
    /// No sign-in came in time.
    SignInTimeout,
    /// The client read too slowly and its queue was full: connect again and resume.
    TooSlow,
    /// Nothing came for two heartbeats.
    HeartbeatTimeout,
    /// Too many frames that the server could not accept.
    Flood,
    /// The user opened another socket, and had as many as one device or one user can have. This was the oldest.
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

    /// Whether connecting again with the same credentials makes sense.
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
            Self::ServiceRestart => "the server restarts",
            Self::Protocol => "the frame is not one of a WebSocket client",
            Self::TooLarge => "the frame is too large",
            Self::NotUtf8 => "the frame is not UTF-8",
            Self::Internal => "internal error",
            Self::SignedOut => "the session has ended",
            Self::TokenExpired => "the access token has expired",
            Self::SignInTimeout => "no sign-in in time",
            Self::TooSlow => "too slow to read",
            Self::HeartbeatTimeout => "no answer to heartbeats",
            Self::Flood => "too many bad frames",
            Self::Replaced => "another socket of the user took its place",
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
