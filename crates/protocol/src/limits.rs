//! Every bound of the API, with its name and its unit.
//!
//! These are part of the contract: clients may rely on them, and the hello frame of the socket repeats the ones that a
//! client needs at run time. Bounds that only concern the operator of a server are in its configuration.

// Messages

/// Text of a message, in characters (Unicode scalar values), whatever language it is in.
pub const TEXT_CHARS_MAX: usize = 8_000;
/// The same in bytes of UTF-8. It follows from the characters.
pub const TEXT_BYTES_MAX: usize = 4 * TEXT_CHARS_MAX;
/// Client id of a message, in bytes.
pub const CLIENT_ID_BYTES_MAX: usize = 64;
/// Preview of the last message in the inbox, in characters.
pub const PREVIEW_CHARS_MAX: usize = 100;
/// Reference (URL) of a medium, in bytes.
pub const MEDIA_URL_BYTES_MAX: usize = 2_048;
pub const MEDIA_NAME_CHARS_MAX: usize = 255;
/// What the size of a medium can be said to be, in bytes: the largest integer that JavaScript can count to.
pub const MEDIA_SIZE_BYTES_MAX: u64 = (1 << 53) - 1;
/// Width and height of a medium in pixels, its duration in milliseconds.
pub const MEDIA_MEASURE_MAX: u32 = i32::MAX as u32;
/// Content type of a medium, in bytes.
pub const CONTENT_TYPE_BYTES_MAX: usize = 127;
/// Name of the event of a system message, in bytes.
pub const SYSTEM_EVENT_BYTES_MAX: usize = 64;
/// Data of the event of a system message, in bytes of compact JSON.
pub const EVENT_DATA_BYTES_MAX: usize = 4 * 1024;
/// How deep arrays and objects of such data may be nested.
pub const EVENT_DATA_DEPTH_MAX: usize = 8;

/// Edits of one message.
pub const EDITS_PER_MESSAGE_MAX: usize = 50;
/// People that one message mentions.
pub const MENTIONS_PER_MESSAGE_MAX: usize = 50;
/// Unread mentions of one member that are counted; more show as this many.
pub const MENTIONS_COUNTED_MAX: usize = 100;
/// A reaction: one emoji with all its modifiers, which are characters too, or a short word.
pub const REACTION_CHARS_MAX: usize = 32;
/// Different reactions to one message.
pub const REACTIONS_DISTINCT_MAX: usize = 20;

// Conversations

pub const CONVERSATION_NAME_CHARS_MAX: usize = 100;
pub const DESCRIPTION_CHARS_MAX: usize = 2_000;
pub const CONVERSATION_IMAGE_BYTES_MAX: usize = 2_048;
/// Members of a group or a channel.
pub const MEMBERS_MAX: usize = 200_000;
/// Owners and admins of a conversation.
pub const STAFF_MAX: usize = 100;
/// Users that are added with one request.
pub const MEMBERS_ADDED_AT_ONCE_MAX: usize = 1_000;
/// Pinned messages of a conversation.
pub const PINS_PER_CONVERSATION_MAX: usize = 50;
/// Invite links of a conversation that can still be used.
pub const INVITES_PER_CONVERSATION_MAX: usize = 50;
/// Users that are banned from a conversation.
pub const BANS_PER_CONVERSATION_MAX: usize = 500;
/// How often an invite link can be used at most, where it has a limit.
pub const INVITE_USES_MAX: u32 = 100_000;
/// The token of an invite link: 128 bits in base64url.
pub const INVITE_TOKEN_CHARS: usize = 22;
/// The shortest and the longest time after which messages disappear, in seconds.
pub const MESSAGE_TTL_SECS_MIN: u32 = 5;
pub const MESSAGE_TTL_SECS_MAX: u32 = 366 * 24 * 60 * 60;

// What a user has

/// Conversations that a user has pinned.
pub const PINNED_CONVERSATIONS_MAX: usize = 100;
/// Conversations of a user whose members are too many for their lists to be written with every message.
pub const LARGE_CONVERSATIONS_PER_USER_MAX: usize = 500;
pub const STARS_PER_USER_MAX: usize = 10_000;
/// Messages of one conversation that a user has deleted for themselves.
pub const HIDDEN_PER_CONVERSATION_MAX: usize = 10_000;
pub const SCHEDULED_PER_USER_MAX: usize = 100;
/// How long a scheduled message that was sent is remembered by its id, in hours; and how many of one user at most.
pub const SCHEDULED_SENT_KEPT_HOURS: u32 = 24;
pub const SCHEDULED_SENT_KEPT_MAX: usize = 100;
/// How far ahead a message can be scheduled, in days.
pub const SCHEDULED_DAYS_MAX: u32 = 366;
/// An unsent text, in characters.
pub const DRAFT_CHARS_MAX: usize = TEXT_CHARS_MAX;

// Accounts

pub const HANDLE_CHARS_MIN: usize = 3;
pub const HANDLE_CHARS_MAX: usize = 32;
/// How long a handle that somebody has given up can be had again by nobody else, in days.
pub const FORMER_HANDLE_DAYS: u32 = 30;
/// Handles that are kept for one user. Who has given up so many waits until the first is free before giving up another.
pub const FORMER_HANDLES_MAX: usize = 5;
pub const DISPLAY_NAME_CHARS_MAX: usize = 64;
pub const PASSWORD_CHARS_MIN: usize = 8;
pub const PASSWORD_CHARS_MAX: usize = 256;
pub const DEVICE_NAME_CHARS_MAX: usize = 64;
pub const AVATAR_BYTES_MAX: usize = 2_048;
/// A phone number, with its `+`.
pub const PHONE_CHARS_MAX: usize = 16;
pub const PHONE_DIGITS_MIN: usize = 7;
/// Signed-in devices of one user. A further sign-in signs out the one that was inactive longest.
pub const DEVICES_PER_USER_MAX: usize = 50;
/// How long a device on which a user has signed in is known, in days.
pub const DEVICE_PROOF_DAYS: u32 = 365;
/// How long a client that lost the answer to a refresh may ask again with the same refresh token, in seconds.
pub const REFRESH_REPEAT_SECONDS: u32 = 60;
/// Users that one user can block.
pub const BLOCKS_PER_USER_MAX: usize = 10_000;
/// Groups and channels that a user has left for good. With a further one the oldest can add the user again.
pub const GROUPS_REFUSED_MAX: usize = 100;
/// Changes of a handle, a display name or a picture that one user can make in a day.
pub const PROFILE_CHANGES_PER_DAY_MAX: u32 = 50;
/// Search text, in characters.
pub const SEARCH_CHARS_MAX: usize = 64;

// Pages

/// Items of a page when the request does not say.
pub const PAGE_DEFAULT: u16 = 50;
/// Items of a page at most.
pub const PAGE_MAX: u16 = 200;
/// The items of one page of anything, as JSON, in bytes. A page that would have more ends earlier, and says that there is more
/// as a full one does; it has one item at least.
pub const PAGE_BYTES_MAX: usize = 256 * 1024;
/// Any answer, as JSON, in bytes: a page, and what one item more can have. It fits into what may wait for a socket, beside
/// what waits there already.
pub const ANSWER_BYTES_MAX: usize = 512 * 1024;
/// Users in one answer of a search.
pub const SEARCH_PAGE_MAX: u16 = 50;

// Transport

/// A request body, in bytes.
pub const REQUEST_BODY_BYTES_MAX: usize = 64 * 1024;
/// A frame that a client sends over the socket, in bytes.
pub const FRAME_BYTES_MAX: usize = 64 * 1024;
/// Commands of one socket that are under way at once. A further one waits, and with it the reading of the socket.
pub const COMMANDS_IN_FLIGHT_MAX: usize = 64;
/// Users whose presence one socket watches.
pub const PRESENCE_WATCHED_MAX: usize = 200;
/// Users who are told at once of another's new handle, name or picture: those of the conversations with the latest activity.
/// Others see it when they look.
pub const USER_UPDATE_TOLD_MAX: usize = 1_000;
/// Conversations whose members are told.
pub const USER_UPDATE_CONVERSATIONS_MAX: usize = 200;
/// Members that such a conversation has at most.
pub const USER_UPDATE_MEMBERS_MAX: usize = 100;
/// How long a typing notice is valid unless it is renewed.
pub const TYPING_TTL_MS: u32 = 6_000;

// Sync

/// Entries of a user's account log that are kept. Who is further behind is told so by `truncated`.
pub const ACCOUNT_LOG_ENTRIES_MAX: usize = 10_000;
