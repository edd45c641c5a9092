//! The JSON schemas of texts, times and numbers that have a limit or a format.
//!
//! For serde such a field is a `String`; `schema(value_type = shape::…)` documents the values that the server accepts. The
//! numbers come from [`limits`](crate::limits), so the documents cannot promise what the server refuses. A test of the server
//! sends values that the schemas allow. Patterns use only syntax that means the same in ECMA-262 and in Rust.

use std::fmt::Write;
use std::ops::RangeInclusive;

use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::schema::{
    Array, ArrayBuilder, KnownFormat, Object, ObjectBuilder, Ref, SchemaFormat, Type,
};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::characters::{INVISIBLE, SEPARATORS};
use crate::ids::ID_MIN;
use crate::limits::{
    AVATAR_BYTES_MAX, CLIENT_ID_BYTES_MAX, CONTENT_TYPE_BYTES_MAX, CONVERSATION_IMAGE_BYTES_MAX,
    CONVERSATION_NAME_CHARS_MAX, DESCRIPTION_CHARS_MAX, DEVICE_NAME_CHARS_MAX, DISPLAY_NAME_CHARS_MAX,
    DRAFT_CHARS_MAX, HANDLE_CHARS_MAX, HANDLE_CHARS_MIN, INVITE_TOKEN_CHARS, INVITE_USES_MAX,
    MEDIA_NAME_CHARS_MAX, MEDIA_SIZE_BYTES_MAX, MEDIA_URL_BYTES_MAX, MEMBERS_ADDED_AT_ONCE_MAX,
    MESSAGE_TTL_SECS_MAX, MESSAGE_TTL_SECS_MIN, PAGE_MAX, PASSWORD_CHARS_MAX, PASSWORD_CHARS_MIN,
    PHONE_CHARS_MAX, PHONE_DIGITS_MIN, PINNED_CONVERSATIONS_MAX, PRESENCE_WATCHED_MAX, REACTION_CHARS_MAX,
    SCHEDULED_DAYS_MAX, SEARCH_CHARS_MAX, SEARCH_PAGE_MAX, SYSTEM_EVENT_BYTES_MAX, TEXT_CHARS_MAX,
};
use crate::{ConversationId, Seq, Timestamp, UserId};

/// Any id. The pattern excludes ids from 9 × 10^18, which is a little below 2^63 and will be reached in the year 2093.
pub const ID_PATTERN: &str = "^([1-9][0-9]{0,17}|[1-8][0-9]{18})$";
/// An id or a seq.
const POSITION_PATTERN: &str = "^(0|[1-9][0-9]{0,17}|[1-8][0-9]{18})$";
/// From the year 1970 on. The pattern ignores the offset from UTC, so it also matches a few times just outside the range.
pub const TIME_PATTERN: &str = "^(19[7-9][0-9]|[2-9][0-9]{3})-";

/// A schema extension: how far in the future a time may be, in seconds.
const SECONDS_FROM_NOW: &str = "x-seconds-from-now";
const SECS_PER_DAY: u32 = 24 * 60 * 60;
/// Leaves room for clock differences and for the duration of the request.
const AHEAD_SECS_MIN: u32 = 1;

macro_rules! shapes {
    ($($(#[doc = $doc:literal])+ $name:ident = $schema:expr;)+) => {
    $(
        $(#[doc = $doc])+
        #[derive(Debug)]
        pub enum $name {}

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let mut schema: Object = $schema.build();
                schema.description = Some(concat!($($doc),+).trim().to_owned());
                schema.into()
            }
        }

        impl ToSchema for $name {}
    )+

    /// All shapes by name. A document includes the ones that it refers to.
    pub fn all() -> Vec<(String, RefOr<Schema>)> {
        vec![$(($name::name().into_owned(), $name::schema())),+]
    }};
}

shapes! {
    /// An idempotency key that the client chooses: printable ASCII characters without spaces.
    ClientId = text(1, CLIENT_ID_BYTES_MAX).pattern(Some("^[!-~]+$")).examples(["7b1c-1"]);

    /// The text of a message, or the caption of its media: not only spaces, and no control characters other than line
    /// breaks and tabs.
    MessageText = text(1, TEXT_CHARS_MAX).pattern(Some(lines())).examples(["Hello!"]);

    /// An unsent text.
    DraftText = text(1, DRAFT_CHARS_MAX).examples(["Well"]);

    /// The event, in a message of kind `system`: `app.` followed by words of `a-z 0-9 _` joined by dots. Other names
    /// are reserved for the server.
    AppEvent = text(1, SYSTEM_EVENT_BYTES_MAX).pattern(Some(r"^app(\.[a-z0-9_]+)+$")).examples(["app.call.ended"]);

    /// An emoji with all its modifiers, or a short word, without spaces, control characters or invisible characters.
    ReactionText = text(1, REACTION_CHARS_MAX).pattern(Some(format!(r"^[^\s{}]+$", hidden()))).examples(["👍"]);

    /// An `http` or `https` URL of printable ASCII characters. The server does not fetch it.
    MediaUrl = url(MEDIA_URL_BYTES_MAX);

    /// A media type without parameters, such as `image/png`.
    ContentType = text(1, CONTENT_TYPE_BYTES_MAX)
        .pattern(Some("^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+$"))
        .examples(["image/png"]);

    /// The name of a file: one line, without control or invisible characters.
    MediaName = text(1, MEDIA_NAME_CHARS_MAX).pattern(Some(line())).examples(["godwit.png"]);

    /// The size of media, in bytes.
    MediaSize = integer(0, MEDIA_SIZE_BYTES_MAX);

    /// Width or height in pixels, or duration in milliseconds.
    MediaMeasure = integer(0, crate::limits::MEDIA_MEASURE_MAX.into());

    /// The name of a group or channel: one line, without control or invisible characters.
    ConversationName = text(1, CONVERSATION_NAME_CHARS_MAX).pattern(Some(line())).examples(["Birds"]);

    /// The description of a group or channel: several lines, without control characters other than line breaks and
    /// tabs.
    Description = text(1, DESCRIPTION_CHARS_MAX).pattern(Some(lines())).examples(["Who saw what, and where"]);

    /// The picture of a group or channel: an `http` or `https` URL of printable ASCII characters. The server does not
    /// fetch it.
    ImageUrl = url(CONVERSATION_IMAGE_BYTES_MAX);

    /// The picture of a user: an `http` or `https` URL of printable ASCII characters. The server does not fetch it.
    AvatarUrl = url(AVATAR_BYTES_MAX);

    /// The unique name by which others find a user: letters `a-z`, digits, `_`, and single dots between them. Not
    /// case-sensitive.
    Handle = text(HANDLE_CHARS_MIN, HANDLE_CHARS_MAX)
        .pattern(Some(r"^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*$"))
        .examples(["ada"]);

    /// The name of a user that others see: one line, without control or invisible characters.
    DisplayName = text(1, DISPLAY_NAME_CHARS_MAX).pattern(Some(line())).examples(["Ada Lovelace"]);

    /// The name of a client in the list of devices: one line, without control or invisible characters.
    DeviceName = text(1, DEVICE_NAME_CHARS_MAX).pattern(Some(line())).examples(["Ada's phone"]);

    /// In international format: `+` and digits.
    PhoneNumber = ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(format!("^\\+[1-9][0-9]{{{},{}}}$", PHONE_DIGITS_MIN - 1, PHONE_CHARS_MAX - 2)))
        .examples(["+34600111222"]);

    /// A new password.
    NewPassword = text(PASSWORD_CHARS_MIN, PASSWORD_CHARS_MAX)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Password)))
        .examples(["correct horse"]);

    /// The user's current password.
    Password = text(0, PASSWORD_CHARS_MAX)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Password)))
        .examples(["correct horse"]);

    /// The beginning of a handle, or of a word in a name. A leading `@` is ignored.
    SearchText = text(1, SEARCH_CHARS_MAX)
        .pattern(Some(format!(r"^[^{0}]*[^\s@{0}][^{0}]*$", hidden())))
        .examples(["ada"]);

    /// The secret part of an invite link.
    InviteToken = ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(format!("^[A-Za-z0-9_-]{{{INVITE_TOKEN_CHARS}}}$")))
        .examples(["q83vEjRWeJq83vEjRWeJqA"]);

    /// An opaque cursor: `next` of the previous page. The server refuses anything else with `invalid_cursor`.
    Cursor = ObjectBuilder::new()
        .schema_type(Type::String)
        .format(Some(SchemaFormat::Custom("cursor".to_owned())));

    /// Items per page; default 50. A page may have fewer items and still be followed by another.
    PageLimit = integer(1, PAGE_MAX.into());

    /// Maximum number of users; default 50.
    SearchLimit = integer(1, SEARCH_PAGE_MAX.into());

    /// A position in the history: the id of a message, or a seq.
    PositionText = ObjectBuilder::new().schema_type(Type::String).pattern(Some(POSITION_PATTERN));

    /// Comma-separated user ids.
    UserIdsText = ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(list_pattern(SEARCH_PAGE_MAX.into())));

    /// Seconds after which messages expire.
    MessageTtl = integer(MESSAGE_TTL_SECS_MIN.into(), MESSAGE_TTL_SECS_MAX.into());

    /// How often an invite link can be used.
    InviteUses = integer(1, INVITE_USES_MAX.into());

    /// A time in the future.
    FutureTime = ahead(None);

    /// A time in the future, at most one year ahead.
    SendTime = ahead(Some(SCHEDULED_DAYS_MAX * SECS_PER_DAY));
}

/// The schema of a type of id.
pub(crate) fn id(description: &str) -> RefOr<Schema> {
    let schema = ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(ID_PATTERN))
        .description(Some(description.trim()).filter(|text| !text.is_empty()))
        .examples(["118059912994951168"]);
    schema.into()
}

impl PartialSchema for Seq {
    fn schema() -> RefOr<Schema> {
        integer(0, ID_MIN - 1).description(Some(
            "The position of an entry in the log of its conversation: 1, 2, 3, … without gaps. 0 is before the first entry.",
        )).into()
    }
}

impl ToSchema for Seq {}

impl PartialSchema for Timestamp {
    fn schema() -> RefOr<Schema> {
        time()
            .description(Some(
                "A time in RFC 3339 format, from the year 1970 to 9999. Responses use UTC with milliseconds.",
            ))
            .examples(["2026-11-15T08:30:00.125Z"])
            .into()
    }
}

impl ToSchema for Timestamp {}

/// The users in a request to add members.
pub fn added_members() -> Array {
    ids::<UserId>("Users to add", MEMBERS_ADDED_AT_ONCE_MAX).min_items(Some(1)).build()
}

/// The first members of a new conversation.
pub fn first_members() -> Array {
    let about = "The first members besides the creator. Users who cannot be added are left out; the answer names them.";
    ids::<UserId>(about, MEMBERS_ADDED_AT_ONCE_MAX).build()
}

/// The users whose presence a socket watches.
pub fn watched_users() -> Array {
    ids::<UserId>("All users whose presence the socket watches from now on", PRESENCE_WATCHED_MAX).build()
}

/// The pinned conversations of a user.
pub fn pinned_conversations() -> Array {
    ids::<ConversationId>("The pinned conversations, in their new order", PINNED_CONVERSATIONS_MAX).build()
}

fn ids<T: ToSchema>(description: &str, count_max: usize) -> ArrayBuilder {
    ArrayBuilder::new()
        .items(Ref::from_schema_name(T::name()))
        .max_items(Some(count_max))
        .description(Some(description))
}

fn text(chars_min: usize, chars_max: usize) -> ObjectBuilder {
    let builder = ObjectBuilder::new().schema_type(Type::String).max_length(Some(chars_max));
    if chars_min > 0 { builder.min_length(Some(chars_min)) } else { builder }
}

fn url(bytes_max: usize) -> ObjectBuilder {
    text(1, bytes_max).pattern(Some("^https?://[!-~]+$")).examples(["https://example.org/godwit.png"])
}

fn integer(min: u64, max: u64) -> ObjectBuilder {
    let format = if max > i32::MAX as u64 { KnownFormat::Int64 } else { KnownFormat::Int32 };
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .format(Some(SchemaFormat::KnownFormat(format)))
        .minimum(Some(min as f64))
        .maximum(Some(max as f64))
}

/// A time relative to the present. JSON Schema cannot express this, so an extension does.
fn ahead(secs_max: Option<u32>) -> ObjectBuilder {
    let mut range = serde_json::json!({ "minimum": AHEAD_SECS_MIN });
    if let Some(secs) = secs_max {
        range["maximum"] = secs.into();
    }
    time().extensions(Some(ExtensionsBuilder::new().add(SECONDS_FROM_NOW, range).build()))
}

fn time() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
        .pattern(Some(TIME_PATTERN))
}

fn list_pattern(count_max: usize) -> String {
    let one = ID_PATTERN.trim_start_matches('^').trim_end_matches('$');
    format!("^{one}(,{one}){{0,{}}}$", count_max - 1)
}

/// One line with at least one visible character. The server also accepts invisible characters where a script or an emoji
/// needs them.
fn line() -> String {
    format!(r"^[^{0}]*[^\s{0}][^{0}]*$", hidden())
}

/// The characters that names must not contain, as part of a character class.
fn hidden() -> String {
    format!(r"\u0000-\u001f\u007f-\u009f{}{}", class(SEPARATORS), class(INVISIBLE))
}

/// Several lines with at least one visible character.
fn lines() -> String {
    const STRAY: &str = r"\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f";
    format!(r"^[^{STRAY}]*[^\s{STRAY}{}][^{STRAY}]*$", class(INVISIBLE))
}

/// The ranges as part of a character class.
fn class(ranges: &[RangeInclusive<char>]) -> String {
    let mut class = String::new();
    for range in ranges {
        // Writing to a `String` cannot fail.
        let _ = write!(class, "{}", escaped(*range.start()));
        if range.start() != range.end() {
            let _ = write!(class, "-{}", escaped(*range.end()));
        }
    }
    class
}

fn escaped(c: char) -> String {
    let code = u32::from(c);
    if code <= 0xffff { format!(r"\u{code:04x}") } else { format!(r"\u{{{code:x}}}") }
}
