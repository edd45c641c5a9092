//! Errors as clients see them. Only this module chooses HTTP statuses.
//!
//! A fault of the server is logged with all its causes where it becomes an [`ApiError`]; the client learns only that there
//! was one. For a user, things that they may not see do not exist: 404. A 403 is for users who can see the thing.

use std::error::Error;
use std::fmt::Write;

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use godwit_domain::accounts::AccountError;
use godwit_domain::actions::Refusal;
use godwit_domain::conversations::AccessError;
use godwit_domain::cursors::CursorError;
use godwit_domain::inbox::InboxError;
use godwit_domain::messages::ReadError;
use godwit_domain::model::InvalidField;
use godwit_domain::people::PeopleError;
use godwit_domain::personal::PersonalError;
use godwit_domain::ports::StoreError;
use godwit_domain::sessions::AuthError;
use godwit_protocol::{ErrorCode, Problem};

/// The content type of every failed response.
pub const PROBLEM_JSON: &str = "application/problem+json";
/// The retry delay after a temporary fault.
const RETRY_AFTER_S: u32 = 1;
/// The retry delay if the operator has to act first.
const RETRY_AFTER_STOPPED_S: u32 = 30;
/// The time in which an operator may have made room on the disk.
const RETRY_AFTER_FULL_S: u32 = 60;

const OUTCOME_UNKNOWN: &str = "the outcome is unknown: retry, and send a message with the same client_id";

/// A failed request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError(Box<Problem>);

pub type ApiResult<T> = Result<T, ApiError>;

impl ApiError {
    pub fn new(code: ErrorCode) -> Self {
        Self(Box::new(Problem {
            r#type: format!("/docs/errors#{code}"),
            title: meaning(code).to_owned(),
            status: status(code).as_u16(),
            code,
            detail: None,
            field: None,
            temporary: is_temporary(code),
            retry_after: is_temporary(code).then_some(RETRY_AFTER_S),
        }))
    }

    /// Details of this case. The client sees them, so they contain no secrets and no internals of the server.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.0.detail = Some(detail.into());
        self
    }

    #[must_use]
    pub fn with_field(mut self, field: impl Into<String>) -> Self {
        self.0.field = Some(field.into());
        self
    }

    #[must_use]
    pub fn with_retry_after(mut self, seconds: u32) -> Self {
        self.0.retry_after = Some(seconds);
        self
    }

    /// A fault of the server: logged with its causes, which the client does not see.
    pub fn internal(fault: &dyn Error) -> Self {
        tracing::error!(error = %chain(fault), "internal error");
        Self::new(ErrorCode::Internal)
    }

    pub fn not_found() -> Self {
        Self::new(ErrorCode::NotFound)
    }

    pub fn invalid_request(detail: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidRequest).with_detail(detail)
    }

    pub fn code(&self) -> ErrorCode {
        self.0.code
    }

    pub fn status(&self) -> StatusCode {
        status(self.0.code)
    }

    /// For the error frames of the socket.
    pub fn into_problem(self) -> Problem {
        *self.0
    }
}

/// The status of a code.
pub const fn status(code: ErrorCode) -> StatusCode {
    use ErrorCode as C;
    match code {
        C::InvalidRequest | C::InvalidCursor | C::PathBodyMismatch | C::BinaryFrame => {
            StatusCode::BAD_REQUEST
        }
        C::Unauthenticated | C::TokenExpired | C::RefreshReused | C::WrongCredentials | C::SignInFirst => {
            StatusCode::UNAUTHORIZED
        }
        C::AccountDisabled | C::RegistrationClosed | C::PasswordsDisabled | C::Blocked | C::Forbidden => {
            StatusCode::FORBIDDEN
        }
        C::NoSuchRoute | C::NotFound | C::ReplyNotFound | C::ForwardNotFound | C::InviteInvalid => {
            StatusCode::NOT_FOUND
        }
        C::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        C::HandleTaken
        | C::HandleReserved
        | C::NeedsInvite
        | C::AlreadySignedIn
        | C::WrongKind
        | C::EditWindowOver
        | C::NotEditable
        | C::LastOwner
        | C::AlreadyMember
        | C::TooManyBlocks
        | C::TooManyEdits
        | C::TooManyReactions
        | C::TooManyMembers
        | C::TooManyStaff
        | C::TooManyConversations
        | C::Banned
        | C::TooManyBans
        | C::TooManyPins
        | C::TooManyInvites
        | C::ListFull
        | C::TooLate => StatusCode::CONFLICT,
        C::MessageGone => StatusCode::GONE,
        C::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        C::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        C::InvalidField | C::NotWithSelf | C::SeqAheadOfLog => StatusCode::UNPROCESSABLE_ENTITY,
        C::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        C::ShuttingDown | C::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        C::Internal | C::Unknown => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The meaning of a code, in one or two sentences.
pub fn meaning(code: ErrorCode) -> &'static str {
    ErrorCode::ALL.iter().find(|(known, _)| *known == code).map_or("", |(_, meaning)| meaning.trim())
}

/// True if a retry of the same request may succeed later.
pub const fn is_temporary(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::RateLimited | ErrorCode::ShuttingDown | ErrorCode::Unavailable)
}

/// An error with all its causes, on one line, for the log.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        // Writing to a string cannot fail.
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self.0).unwrap_or_default();
        let mut response = (self.status(), [(CONTENT_TYPE, PROBLEM_JSON)], body).into_response();
        if let Some(seconds) = self.0.retry_after {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status() == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<InvalidField> for ApiError {
    fn from(error: InvalidField) -> Self {
        Self::new(ErrorCode::InvalidField).with_detail(error.to_string()).with_field(error.field)
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        Self::from(&error)
    }
}

impl From<&StoreError> for ApiError {
    fn from(error: &StoreError) -> Self {
        match error {
            StoreError::Unavailable { .. } => {
                tracing::warn!(error = %chain(error), "the store is unavailable");
                Self::new(ErrorCode::Unavailable)
            }
            StoreError::Stopped => {
                tracing::error!(error = %chain(error), "the store has stopped");
                Self::new(ErrorCode::Unavailable).with_retry_after(RETRY_AFTER_STOPPED_S)
            }
            StoreError::Full => Self::new(ErrorCode::Unavailable)
                .with_detail("the server has no room for more")
                .with_retry_after(RETRY_AFTER_FULL_S),
            StoreError::Corrupt { .. } => Self::internal(error),
        }
    }
}

impl From<AccessError> for ApiError {
    fn from(error: AccessError) -> Self {
        match error {
            AccessError::NotFound => Self::not_found(),
            AccessError::Store(error) => error.into(),
        }
    }
}

impl From<AuthError> for ApiError {
    fn from(error: AuthError) -> Self {
        match error {
            AuthError::Invalid => Self::new(ErrorCode::Unauthenticated),
            AuthError::Expired => Self::new(ErrorCode::TokenExpired),
            AuthError::Disabled => Self::new(ErrorCode::AccountDisabled),
            AuthError::Reused => Self::new(ErrorCode::RefreshReused),
            AuthError::Claims(claim) => Self::new(ErrorCode::Unauthenticated)
                .with_detail(format!("the token's signature is valid, but its claim for {claim}"))
                .with_field(claim.field),
            AuthError::Store(error) => error.into(),
        }
    }
}

impl From<AccountError> for ApiError {
    fn from(error: AccountError) -> Self {
        match error {
            AccountError::Invalid(field) => field.into(),
            AccountError::HandleTaken => Self::new(ErrorCode::HandleTaken).with_field("handle"),
            AccountError::HandleReserved => Self::new(ErrorCode::HandleReserved).with_field("handle"),
            AccountError::TooOften { reason, retry_after_secs } => {
                Self::new(ErrorCode::RateLimited).with_detail(reason).with_retry_after(retry_after_secs)
            }
            AccountError::RegistrationClosed => Self::new(ErrorCode::RegistrationClosed),
            AccountError::PasswordsDisabled => Self::new(ErrorCode::PasswordsDisabled),
            AccountError::WrongCredentials => Self::new(ErrorCode::WrongCredentials),
            AccountError::Disabled => Self::new(ErrorCode::AccountDisabled),
            AccountError::NotFound => Self::not_found(),
            AccountError::Session(error) => error.into(),
            AccountError::Hash(error) => Self::internal(&error),
            AccountError::Store(error) => error.into(),
        }
    }
}

impl From<PeopleError> for ApiError {
    fn from(error: PeopleError) -> Self {
        match error {
            PeopleError::NotFound => Self::not_found(),
            PeopleError::NotWithSelf => Self::new(ErrorCode::NotWithSelf),
            PeopleError::TooManyBlocks => Self::new(ErrorCode::TooManyBlocks),
            PeopleError::Store(error) => error.into(),
        }
    }
}

impl From<InboxError> for ApiError {
    fn from(error: InboxError) -> Self {
        match error {
            InboxError::NotFound => Self::not_found(),
            InboxError::NoSuchUser => Self::not_found().with_field("user_id"),
            InboxError::NotWithSelf => Self::new(ErrorCode::NotWithSelf).with_field("user_id"),
            InboxError::Blocked => Self::new(ErrorCode::Blocked),
            InboxError::Disabled => Self::new(ErrorCode::AccountDisabled),
            InboxError::TooManyPinned => Self::new(ErrorCode::ListFull),
            InboxError::TooOften { reason, retry_after_secs } => {
                Self::new(ErrorCode::RateLimited).with_detail(reason).with_retry_after(retry_after_secs)
            }
            InboxError::Invalid(field) => field.into(),
            InboxError::Store(error) => error.into(),
        }
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let error = Self::new(refusal.code());
        match refusal {
            Refusal::Invalid(field) => field.into(),
            Refusal::ReplyNotFound => error.with_field("reply_to"),
            Refusal::ForwardNotFound => error.with_field("forwarded_from"),
            Refusal::TooOften { reason, retry_after_secs } => {
                error.with_detail(reason).with_retry_after(retry_after_secs)
            }
            Refusal::Busy => error.with_detail("too many pending actions in this conversation"),
            Refusal::Interrupted(reason) => {
                tracing::warn!(error = %reason, "an action was interrupted");
                error.with_detail(OUTCOME_UNKNOWN)
            }
            // Nothing was written.
            Refusal::Store(error) if matches!(*error, StoreError::Full) => Self::from(&*error),
            Refusal::Store(error) => Self::from(&*error).with_detail(OUTCOME_UNKNOWN),
            _ => error,
        }
    }
}

impl From<PersonalError> for ApiError {
    fn from(error: PersonalError) -> Self {
        match error {
            PersonalError::NotFound => Self::not_found(),
            PersonalError::Gone => Self::new(ErrorCode::MessageGone),
            PersonalError::Full => Self::new(ErrorCode::ListFull),
            PersonalError::TooLate => Self::new(ErrorCode::TooLate),
            PersonalError::Invalid(field) => field.into(),
            PersonalError::Refused(refusal) => refusal.into(),
            PersonalError::Store(error) => error.into(),
        }
    }
}

impl From<ReadError> for ApiError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::NotFound => Self::not_found(),
            ReadError::Forbidden => Self::new(ErrorCode::Forbidden),
            ReadError::Gone => Self::new(ErrorCode::MessageGone),
            ReadError::Store(error) => error.into(),
        }
    }
}

impl From<CursorError> for ApiError {
    fn from(error: CursorError) -> Self {
        match error {
            CursorError::NotFound => Self::not_found(),
            CursorError::AheadOfLog { .. } => {
                Self::new(ErrorCode::SeqAheadOfLog).with_detail(error.to_string())
            }
            CursorError::Store(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_status_of_a_failure_and_a_meaning() {
        for (code, _) in ErrorCode::ALL {
            let problem = ApiError::new(*code).into_problem();
            assert!((400..=599).contains(&problem.status), "{code} has the status {}", problem.status);
            assert!(!problem.title.is_empty(), "{code} has no meaning");
            assert_eq!(problem.r#type, format!("/docs/errors#{code}"));
            assert_eq!(problem.temporary, problem.retry_after.is_some(), "{code}");
        }
    }

    #[test]
    fn statuses_do_not_change() {
        for (code, expected) in [
            (ErrorCode::InvalidRequest, 400),
            (ErrorCode::InvalidField, 422),
            (ErrorCode::InvalidCursor, 400),
            (ErrorCode::PathBodyMismatch, 400),
            (ErrorCode::TooLarge, 413),
            (ErrorCode::UnsupportedMediaType, 415),
            (ErrorCode::NoSuchRoute, 404),
            (ErrorCode::MethodNotAllowed, 405),
            (ErrorCode::RateLimited, 429),
            (ErrorCode::Unauthenticated, 401),
            (ErrorCode::TokenExpired, 401),
            (ErrorCode::WrongCredentials, 401),
            (ErrorCode::AccountDisabled, 403),
            (ErrorCode::HandleTaken, 409),
            (ErrorCode::NotFound, 404),
            (ErrorCode::Blocked, 403),
            (ErrorCode::Forbidden, 403),
            (ErrorCode::WrongKind, 409),
            (ErrorCode::LastOwner, 409),
            (ErrorCode::ListFull, 409),
            (ErrorCode::MessageGone, 410),
            (ErrorCode::InviteInvalid, 404),
            (ErrorCode::SeqAheadOfLog, 422),
            (ErrorCode::Unavailable, 503),
            (ErrorCode::Internal, 500),
        ] {
            assert_eq!(status(code).as_u16(), expected, "{code}");
        }
    }

    #[test]
    fn invisible_things_are_not_found() {
        for error in [
            ApiError::from(AccessError::NotFound),
            ApiError::from(ReadError::NotFound),
            ApiError::from(Refusal::NotFound),
            ApiError::from(CursorError::NotFound),
            ApiError::from(InboxError::NotFound),
            ApiError::from(PersonalError::NotFound),
            ApiError::from(PeopleError::NotFound),
        ] {
            assert_eq!(error.status(), StatusCode::NOT_FOUND);
        }
    }

    #[test]
    fn a_refusal_has_its_code_and_names_the_field() {
        let refused = |refusal| ApiError::from(refusal).into_problem();
        let field = refused(Refusal::Invalid(InvalidField::new("name", "must not be empty")));
        assert_eq!((field.code, field.field.as_deref()), (ErrorCode::InvalidField, Some("name")));
        assert_eq!(refused(Refusal::ReplyNotFound).field.as_deref(), Some("reply_to"));
        assert_eq!(refused(Refusal::LastOwner).code, ErrorCode::LastOwner);
        for failure in [Refusal::Busy, Refusal::Interrupted("disk 7 of node 3".into())] {
            let problem = refused(failure);
            assert_eq!((problem.status, problem.temporary), (503, true));
            assert!(!problem.detail.unwrap().contains("disk"));
        }
    }

    #[test]
    fn headers_tell_the_client_how_to_continue() {
        let response = ApiError::new(ErrorCode::RateLimited).with_retry_after(7).into_response();
        assert_eq!(response.headers()[RETRY_AFTER], "7");
        assert_eq!(response.headers()[CONTENT_TYPE], PROBLEM_JSON);
        let response = ApiError::new(ErrorCode::TokenExpired).into_response();
        assert_eq!(response.headers()[WWW_AUTHENTICATE], "Bearer");
    }

    #[test]
    fn internal_faults_are_not_shown_to_clients() {
        let fault = StoreError::Corrupt {
            table: "users",
            key: "00ff".into(),
            reason: "a byte that should not be there".into(),
        };
        let shown = serde_json::to_string(&ApiError::from(fault).into_problem()).unwrap();
        assert!(!shown.contains("users") && !shown.contains("00ff"), "{shown}");
    }
}
