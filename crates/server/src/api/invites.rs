//! Tokens of invite links.

use godwit_domain::model::InviteToken;
use godwit_protocol::ErrorCode;

use crate::problem::{ApiError, ApiResult};

/// A token that cannot be guessed.
pub fn new_token() -> InviteToken {
    InviteToken::from_bits(rand::random())
}

/// Parses a token. A malformed token gets the same error as one that does not exist.
pub fn parse_token(text: &str) -> ApiResult<InviteToken> {
    InviteToken::parse(text).ok_or_else(|| ApiError::new(ErrorCode::InviteInvalid))
}
