//! The schemas of texts, times and numbers that have a limit or a form.
//!
//! A field is a `String` for serde, and `schema(value_type = shape::…)` says what the server takes for it. The numbers are
//! those of [`limits`](crate::limits), so that the documents cannot promise what the server refuses; a test of the server
//! sends what the schemas allow. Patterns keep to what ECMA-262 and Rust read alike.

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

/// An id, in whatever field it is. The largest is a little below 2^63; ids will come near it in the year 2093.
pub const ID_PATTERN: &str = "^([1-9][0-9]{0,17}|[1-8][0-9]{18})$";
/// An id or a seq.
const POSITION_PATTERN: &str = "^(0|[1-9][0-9]{0,17}|[1-8][0-9]{18})$";
/// From 1970 on. With an offset from UTC the first and the last days of the range may be beyond it.
pub const TIME_PATTERN: &str = "^(19[7-9][0-9]|[2-9][0-9]{3})-";

/// Says of a time how far from the present it may be, in seconds.
const SECONDS_FROM_NOW: &str = "x-seconds-from-now";
const SECS_PER_DAY: u32 = 24 * 60 * 60;
/// The server's clock and the client's differ, and a request takes its time.
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

    /// Every one by its name. A document takes those that it refers to.
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

    /// The event, in a message of kind `system`: `app.` followed by words of `a-z 0-9 _` joined by dots. The server
    /// uses other names.
    AppEvent = text(1, SYSTEM_EVENT_BYTES_MAX).pattern(Some(r"^app(\.[a-z0-9_]+)+$")).examples(["app.call.ended"]);

    /// An emoji with all its modifiers, or a short word: no spaces, no control and invisible characters.
    ReactionText = text(1, REACTION_CHARS_MAX).pattern(Some(format!(r"^[^\s{}]+$", hidden()))).examples(["👍"]);

    /// An `http` or `https` URL of printable ASCII characters. The server does not fetch it.
    MediaUrl = url(MEDIA_URL_BYTES_MAX);

    /// Such as `image/png`, without parameters.
    ContentType = text(1, CONTENT_TYPE_BYTES_MAX)
        .pattern(Some("^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+$"))
        .examples(["image/png"]);

    /// The name of a file: one line, without control and invisible characters.
    MediaName = text(1, MEDIA_NAME_CHARS_MAX).pattern(Some(line())).examples(["godwit.png"]);

    /// Bytes of a medium.
    MediaSize = integer(0, MEDIA_SIZE_BYTES_MAX);

    /// Pixels or milliseconds.
    MediaMeasure = integer(0, crate::limits::MEDIA_MEASURE_MAX.into());

    /// The name of a group or a channel: one line, without control and invisible characters.
    ConversationName = text(1, CONVERSATION_NAME_CHARS_MAX).pattern(Some(line())).examples(["Birds"]);

    /// What a group or a channel is about; several lines, no other control characters.
    Description = text(1, DESCRIPTION_CHARS_MAX).pattern(Some(lines())).examples(["Who saw what, and where"]);

    /// The picture of a group or a channel: an `http` or `https` URL of printable ASCII characters. The server does not
    /// fetch it.
    ImageUrl = url(CONVERSATION_IMAGE_BYTES_MAX);

    /// The picture of a user: an `http` or `https` URL of printable ASCII characters. The server does not fetch it.
    AvatarUrl = url(AVATAR_BYTES_MAX);

    /// The unique name by which others find a user: letters `a-z`, digits, `_`, and single dots between them. Not
    /// case-sensitive.
    Handle = text(HANDLE_CHARS_MIN, HANDLE_CHARS_MAX)
        .pattern(Some(r"^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*$"))
        .examples(["ada"]);

    /// What others see of a user: one line, without control and invisible characters.
    DisplayName = text(1, DISPLAY_NAME_CHARS_MAX).pattern(Some(line())).examples(["Ada Lovelace"]);

    /// How a client appears in the list of devices: one line, without control and invisible characters.
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

    /// The beginning of a handle, or of a word of a name. A leading `@` is ignored.
    SearchText = text(1, SEARCH_CHARS_MAX)
        .pattern(Some(format!(r"^[^{0}]*[^\s@{0}][^{0}]*$", hidden())))
        .examples(["ada"]);

    /// The secret part of an invite link.
    InviteToken = ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(format!("^[A-Za-z0-9_-]{{{INVITE_TOKEN_CHARS}}}$")))
        .examples(["q83vEjRWeJq83vEjRWeJqA"]);

    /// Opaque, from the server's answer with the previous page. Anything else is refused with `invalid_cursor`.
    Cursor = ObjectBuilder::new()
        .schema_type(Type::String)
        .format(Some(SchemaFormat::Custom("cursor".to_owned())));

    /// Items per page; default 50. A page may have fewer and still be followed by another.
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

/// Of an id of some kind.
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
            .description(Some("RFC 3339, from the year 1970 to 9999; in answers in UTC with milliseconds."))
            .examples(["2026-11-15T08:30:00.125Z"])
            .into()
    }
}

impl ToSchema for Timestamp {}

/// For the users that are added with one request.
pub fn added_members() -> Array {
    ids::<UserId>("Users to add", MEMBERS_ADDED_AT_ONCE_MAX).min_items(Some(1)).build()
}

/// For the first members of a conversation.
pub fn first_members() -> Array {
    let about = "The first members besides the creator. Users who cannot be added are left out; the answer names them.";
    ids::<UserId>(about, MEMBERS_ADDED_AT_ONCE_MAX).build()
}

/// For the users whose presence a socket watches.
pub fn watched_users() -> Array {
    ids::<UserId>("All users whom the socket watches from now on", PRESENCE_WATCHED_MAX).build()
}

/// For the pinned conversations of a user.
pub fn pinned_conversations() -> Array {
    ids::<ConversationId>("In this order", PINNED_CONVERSATIONS_MAX).build()
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

/// JSON Schema has no words for the present, so an extension says it.
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

/// One line with something to see. The server also takes invisible characters where a script or an emoji needs them.
fn line() -> String {
    format!(r"^[^{0}]*[^\s{0}][^{0}]*$", hidden())
}

/// What a name has nowhere.
fn hidden() -> String {
    format!(r"\u0000-\u001f\u007f-\u009f{}{}", class(SEPARATORS), class(INVISIBLE))
}

/// Several lines with something to see.
fn lines() -> String {
    const STRAY: &str = r"\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f";
    format!(r"^[^{STRAY}]*[^\s{STRAY}{}][^{STRAY}]*$", class(INVISIBLE))
}

/// As part of a class of characters.
fn class(ranges: &[RangeInclusive<char>]) -> String {
    let mut class = String::new();
    for range in ranges {
        // Writing to a string cannot fail.
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
