//! Stable error codes and the problem document.

use serde::{Deserialize, Serialize};

macro_rules! error_codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal,)+) => {
        /// What went wrong. The meaning of a code never changes; new codes may be added.
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
    /// The body or frame is not the expected JSON: it has a syntax error, a wrong type, or an unknown or missing field.
    InvalidRequest = "invalid_request",
    /// A field has a value that is not allowed; `field` names it.
    InvalidField = "invalid_field",
    /// The body or frame is too large.
    TooLarge = "too_large",
    /// The content type is not `application/json`.
    UnsupportedMediaType = "unsupported_media_type",
    /// The page cursor or token is not valid for this list.
    InvalidCursor = "invalid_cursor",
    /// The path and the body name different resources.
    PathBodyMismatch = "path_body_mismatch",
    /// There is no such route.
    NoSuchRoute = "no_such_route",
    /// The route exists, but not for this method.
    MethodNotAllowed = "method_not_allowed",
    /// Too many requests: retry after `retry_after` seconds.
    RateLimited = "rate_limited",

    // Authentication
    /// The access token is missing or invalid, or its session has ended.
    Unauthenticated = "unauthenticated",
    /// The access token has expired: refresh it.
    TokenExpired = "token_expired",
    /// The refresh token was used twice, so the session was ended: sign in again.
    RefreshReused = "refresh_reused",
    /// Wrong handle or password.
    WrongCredentials = "wrong_credentials",
    /// The operator has disabled the account.
    AccountDisabled = "account_disabled",
    /// Registration is closed on this server.
    RegistrationClosed = "registration_closed",
    /// This server does not use passwords: sign in with a token of the application.
    PasswordsDisabled = "passwords_disabled",
    /// Another user has this handle, or had it until recently.
    HandleTaken = "handle_taken",
    /// This handle is reserved for the server's operator.
    HandleReserved = "handle_reserved",

    // Resources and rules
    /// The resource does not exist, or you may not see it.
    NotFound = "not_found",
    /// One of you has blocked the other.
    Blocked = "blocked",
    /// You cannot do this to yourself.
    NotWithSelf = "not_with_self",
    /// The list of blocked users is full.
    TooManyBlocks = "too_many_blocks",
    /// The message to reply to is not in this conversation.
    ReplyNotFound = "reply_not_found",
    /// The message to forward does not exist, you may not see it, or it cannot be forwarded: it was deleted, it is
    /// disappearing, or its kind is `system`.
    ForwardNotFound = "forward_not_found",
    /// The position is past the end of the conversation's log.
    SeqAheadOfLog = "seq_ahead_of_log",
    /// Your role or the conversation's permissions do not allow this.
    Forbidden = "forbidden",
    /// This kind of conversation does not support this.
    WrongKind = "wrong_kind",
    /// The message was deleted or has expired.
    MessageGone = "message_gone",
    /// The message is too old to be edited.
    EditWindowOver = "edit_window_over",
    /// Messages of this kind cannot be edited in this way.
    NotEditable = "not_editable",
    /// The message has been edited too often.
    TooManyEdits = "too_many_edits",
    /// The message has too many different reactions.
    TooManyReactions = "too_many_reactions",
    /// A conversation needs an owner: transfer ownership first, or delete the conversation.
    LastOwner = "last_owner",
    /// The user does not allow you to add them: send them an invite link.
    NeedsInvite = "needs_invite",
    /// The user is already a member.
    AlreadyMember = "already_member",
    /// The conversation has the maximum number of members.
    TooManyMembers = "too_many_members",
    /// The conversation has the maximum number of owners and admins.
    TooManyStaff = "too_many_staff",
    /// The user is in the maximum number of large conversations.
    TooManyConversations = "too_many_conversations",
    /// The user is banned from the conversation: lift the ban first.
    Banned = "banned",
    /// The conversation has the maximum number of bans: lift one first.
    TooManyBans = "too_many_bans",
    /// The conversation has the maximum number of pinned messages.
    TooManyPins = "too_many_pins",
    /// The conversation has the maximum number of invite links: revoke one first.
    TooManyInvites = "too_many_invites",
    /// The invite link does not exist, has expired, was revoked or is used up, its creator may no longer invite, or you
    /// are banned.
    InviteInvalid = "invite_invalid",
    /// You have reached the maximum number of pinned conversations, or of starred, deleted or scheduled messages.
    ListFull = "list_full",
    /// The scheduled message is being sent or has been sent.
    TooLate = "too_late",

    // The socket
    /// The first command must be `sign_in`.
    SignInFirst = "sign_in_first",
    /// The socket is already signed in.
    AlreadySignedIn = "already_signed_in",
    /// The protocol has no binary frames.
    BinaryFrame = "binary_frame",

    // The server
    /// The server is stopping: reconnect in a moment.
    ShuttingDown = "shutting_down",
    /// The store cannot answer now, and the outcome may be unknown: retry with the same client id.
    Unavailable = "unavailable",
    /// An internal error. The server has logged it.
    Internal = "internal",
}

// Written by hand because the derive macro does not see the names that `error_codes!` assigns.
#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for ErrorCode {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::schema::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .enum_values(Some(Self::ALL.iter().map(|(code, _)| code.as_str())))
            .description(Some(
                "What went wrong. The meaning of a code never changes; new codes may be added.",
            ))
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

/// An RFC 9457 problem: the body of failed HTTP requests (`application/problem+json`) and of error frames.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Problem {
    /// The documentation of the code: `/docs/errors#<code>`.
    pub r#type: String,
    /// The meaning of the code.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    pub code: ErrorCode,
    /// What exactly is wrong with this request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The invalid field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Whether the same request may succeed later.
    pub temporary: bool,
    /// How many seconds to wait before retrying.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_serialize_to_their_names() {
        for (code, meaning) in ErrorCode::ALL {
            assert_eq!(serde_json::to_string(code).unwrap(), format!("\"{code}\""));
            assert!(!meaning.is_empty());
        }
        assert_eq!(serde_json::from_str::<ErrorCode>("\"from_the_future\"").unwrap(), ErrorCode::Unknown);
    }
}
