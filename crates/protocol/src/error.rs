//! Stable error codes and the problem document.

use serde::{Deserialize, Serialize};

macro_rules! error_codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal,)+) => {
        /// What went wrong. A code never changes its meaning; new ones may be added.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum ErrorCode {
            $($(#[doc = $doc])+ #[serde(rename = $text)] $name,)+
            /// A code that this version of the library does not know.
            #[serde(other, rename = "unknown")]
            Unknown,
        }

        impl ErrorCode {
            /// Every code with its meaning, for the documentation.
            pub const ALL: &[(Self, &str)] = &[$((Self::$name, concat!($($doc),+)),)+];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                    Self::Unknown => "unknown",
                }
            }
        }
    };
}

error_codes! {
    // The request
    /// The body or frame is not the JSON that is expected here: wrong syntax, type, or an unknown or missing field.
    InvalidRequest = "invalid_request",
    /// A field has the right type and a value that is not allowed; `field` names it.
    InvalidField = "invalid_field",
    /// The body or the frame is larger than allowed.
    TooLarge = "too_large",
    /// The content type is not `application/json`.
    UnsupportedMediaType = "unsupported_media_type",
    /// The cursor or token of a page is not one that the server gave for this list.
    InvalidCursor = "invalid_cursor",
    /// The path and the body name different things.
    PathBodyMismatch = "path_body_mismatch",
    /// There is no such route.
    NoSuchRoute = "no_such_route",
    /// The route exists, but not for this method.
    MethodNotAllowed = "method_not_allowed",
    /// Too many requests; try again after `retry_after` seconds.
    RateLimited = "rate_limited",

    // Who is asking
    /// No token, or one that is malformed, tampered with or of a session that has ended.
    Unauthenticated = "unauthenticated",
    /// The access token has expired: refresh it.
    TokenExpired = "token_expired",
    /// A refresh token was used twice: the session has been ended, sign in again.
    RefreshReused = "refresh_reused",
    /// Handle or password is wrong.
    WrongCredentials = "wrong_credentials",
    /// The account has been disabled by the operator.
    AccountDisabled = "account_disabled",
    /// This server does not let people register.
    RegistrationClosed = "registration_closed",
    /// This server does not use passwords: sign in with a token of the application.
    PasswordsDisabled = "passwords_disabled",
    /// The handle belongs to somebody else, or did until recently.
    HandleTaken = "handle_taken",
    /// The operator of the server keeps this handle for itself.
    HandleReserved = "handle_reserved",

    // What is asked for
    /// It does not exist, or you may not see it.
    NotFound = "not_found",
    /// One of you has blocked the other.
    Blocked = "blocked",
    /// This cannot be done with oneself.
    NotWithSelf = "not_with_self",
    /// The list of blocked users is full.
    TooManyBlocks = "too_many_blocks",
    /// The message that is replied to is not in this conversation.
    ReplyNotFound = "reply_not_found",
    /// The message that is forwarded does not exist, you may not see it, or it is not for forwarding: it was deleted, it
    /// disappears, or it is of kind `system`.
    ForwardNotFound = "forward_not_found",
    /// The position is after the end of the conversation's log.
    SeqAheadOfLog = "seq_ahead_of_log",
    /// You are a member, and your role or the permissions of the conversation do not allow it.
    Forbidden = "forbidden",
    /// This kind of conversation does not support that.
    WrongKind = "wrong_kind",
    /// The message has been deleted, or has disappeared.
    MessageGone = "message_gone",
    /// The message is too old to be edited.
    EditWindowOver = "edit_window_over",
    /// Messages of this kind cannot be changed like that.
    NotEditable = "not_editable",
    /// The message has been edited too often.
    TooManyEdits = "too_many_edits",
    /// The message has too many different reactions.
    TooManyReactions = "too_many_reactions",
    /// A conversation needs an owner: hand over first, or delete it.
    LastOwner = "last_owner",
    /// The user does not let you add them: send them an invite link.
    NeedsInvite = "needs_invite",
    /// The user is a member already.
    AlreadyMember = "already_member",
    /// The conversation has as many members as it can have.
    TooManyMembers = "too_many_members",
    /// The conversation has as many owners and admins as it can have.
    TooManyStaff = "too_many_staff",
    /// The user is in as many large conversations as anybody can be.
    TooManyConversations = "too_many_conversations",
    /// The user is banned from the conversation: lift the ban first.
    Banned = "banned",
    /// As many users are banned from the conversation as can be: lift a ban.
    TooManyBans = "too_many_bans",
    /// The conversation has as many pinned messages as it can have.
    TooManyPins = "too_many_pins",
    /// The conversation has as many invite links as it can have: revoke one.
    TooManyInvites = "too_many_invites",
    /// The invite link does not exist, has expired, was revoked, was used as often as it may be, its maker may no longer
    /// invite, or you are banned.
    InviteInvalid = "invite_invalid",
    /// You have as many pinned conversations, or starred, deleted or scheduled messages, as are allowed.
    ListFull = "list_full",
    /// The scheduled message is being sent, or has been.
    TooLate = "too_late",

    // The socket
    /// The first command must be `sign_in`.
    SignInFirst = "sign_in_first",
    /// The socket is signed in already.
    AlreadySignedIn = "already_signed_in",
    /// Binary frames are not part of this protocol.
    BinaryFrame = "binary_frame",

    // The server
    /// The server is stopping: connect again in a moment.
    ShuttingDown = "shutting_down",
    /// The store cannot answer now; nothing was done or it is unknown whether it was: try again with the same client id.
    Unavailable = "unavailable",
    /// A fault of the server. It has been logged.
    Internal = "internal",
}

// Written by hand because the derive does not see the names that the macro gives.
#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for ErrorCode {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::schema::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .enum_values(Some(Self::ALL.iter().map(|(code, _)| code.as_str())))
            .description(Some("What went wrong. A code never changes its meaning; new ones may be added."))
            .into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for ErrorCode {}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An error, as RFC 9457 describes it: the body of failed HTTP requests (`application/problem+json`) and of error frames.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Problem {
    /// Where the code is described: `/docs/errors#<code>`.
    pub r#type: String,
    /// The meaning of the code.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    pub code: ErrorCode,
    /// What is wrong in this case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The field that is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Whether the same request may succeed later.
    pub temporary: bool,
    /// Seconds after which it makes sense to try again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_written_as_they_are_named() {
        for (code, meaning) in ErrorCode::ALL {
            assert_eq!(serde_json::to_string(code).unwrap(), format!("\"{code}\""));
            assert!(!meaning.is_empty());
        }
        assert_eq!(serde_json::from_str::<ErrorCode>("\"from_the_future\"").unwrap(), ErrorCode::Unknown);
    }
}
