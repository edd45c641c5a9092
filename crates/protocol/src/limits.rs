//! Every limit of the API, with its name and its unit.
//!
//! The limits are part of the API contract: clients may rely on them. The hello frame of the socket repeats those that a
//! client needs at run time. Limits that concern only the operator of a server are in its configuration.

// Messages

/// Text of a message, in characters (Unicode scalar values).
pub const TEXT_CHARS_MAX: usize = 8_000;
/// Text of a message, in bytes: UTF-8 needs at most four per character.
pub const TEXT_BYTES_MAX: usize = 4 * TEXT_CHARS_MAX;
/// Client id of a message, in bytes.
pub const CLIENT_ID_BYTES_MAX: usize = 64;
/// Preview of the last message in the inbox, in characters.
pub const PREVIEW_CHARS_MAX: usize = 100;
/// URL of media, in bytes.
pub const MEDIA_URL_BYTES_MAX: usize = 2_048;
pub const MEDIA_NAME_CHARS_MAX: usize = 255;
/// Size of media that a message can state, in bytes: the largest integer that JavaScript represents safely.
pub const MEDIA_SIZE_BYTES_MAX: u64 = (1 << 53) - 1;
/// Width and height of media in pixels, and duration in milliseconds.
pub const MEDIA_MEASURE_MAX: u32 = i32::MAX as u32;
/// Content type of media, in bytes.
pub const CONTENT_TYPE_BYTES_MAX: usize = 127;
/// Name of the event of a system message, in bytes.
pub const SYSTEM_EVENT_BYTES_MAX: usize = 64;
/// Data of the event of a system message, in bytes of compact JSON.
pub const EVENT_DATA_BYTES_MAX: usize = 4 * 1024;
/// Nesting depth of arrays and objects in the data of an event.
pub const EVENT_DATA_DEPTH_MAX: usize = 8;

/// Edits of one message.
pub const EDITS_PER_MESSAGE_MAX: usize = 50;
/// Users whom one message mentions.
pub const MENTIONS_PER_MESSAGE_MAX: usize = 50;
/// Unread mentions of one member that are counted. A higher number is reported as this one.
pub const MENTIONS_COUNTED_MAX: usize = 100;
/// A reaction: an emoji with all its modifiers, or a short word, in characters. Each modifier counts as a character.
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
/// Users in one request to add members.
pub const MEMBERS_ADDED_AT_ONCE_MAX: usize = 1_000;
/// Pinned messages of a conversation.
pub const PINS_PER_CONVERSATION_MAX: usize = 50;
/// Invite links of a conversation that can still be used.
pub const INVITES_PER_CONVERSATION_MAX: usize = 50;
/// Users who are banned from a conversation.
pub const BANS_PER_CONVERSATION_MAX: usize = 500;
/// The highest limit of uses that an invite link can have.
pub const INVITE_USES_MAX: u32 = 100_000;
/// The token of an invite link: 128 bits in base64url.
pub const INVITE_TOKEN_CHARS: usize = 22;
/// The shortest and the longest time after which messages disappear, in seconds.
pub const MESSAGE_TTL_SECS_MIN: u32 = 5;
pub const MESSAGE_TTL_SECS_MAX: u32 = 366 * 24 * 60 * 60;

// Data of one user

/// Conversations that a user has pinned.
pub const PINNED_CONVERSATIONS_MAX: usize = 100;
/// Large conversations, which are fanned out on read, that one user can be a member of.
pub const LARGE_CONVERSATIONS_PER_USER_MAX: usize = 500;
pub const STARS_PER_USER_MAX: usize = 10_000;
/// Messages of one conversation that a user has deleted for themselves.
pub const HIDDEN_PER_CONVERSATION_MAX: usize = 10_000;
pub const SCHEDULED_PER_USER_MAX: usize = 100;
/// How long the server remembers the id of a scheduled message after sending it, in hours. A retry of the send command then
/// returns the sent message.
pub const SCHEDULED_SENT_KEPT_HOURS: u32 = 24;
/// Sent scheduled messages of one user that the server remembers.
pub const SCHEDULED_SENT_KEPT_MAX: usize = 100;
/// How far ahead a message can be scheduled, in days.
pub const SCHEDULED_DAYS_MAX: u32 = 366;
/// Text of a draft, in characters.
pub const DRAFT_CHARS_MAX: usize = TEXT_CHARS_MAX;

// Accounts

pub const HANDLE_CHARS_MIN: usize = 3;
pub const HANDLE_CHARS_MAX: usize = 32;
/// How long a former handle stays reserved for the user who gave it up, in days.
pub const FORMER_HANDLE_DAYS: u32 = 30;
/// Former handles that are reserved for one user. A user with this many can change their handle again when the first
/// reservation ends.
pub const FORMER_HANDLES_MAX: usize = 5;
pub const DISPLAY_NAME_CHARS_MAX: usize = 64;
pub const PASSWORD_CHARS_MIN: usize = 8;
pub const PASSWORD_CHARS_MAX: usize = 256;
pub const DEVICE_NAME_CHARS_MAX: usize = 64;
pub const AVATAR_BYTES_MAX: usize = 2_048;
/// A phone number, with its `+`.
pub const PHONE_CHARS_MAX: usize = 16;
pub const PHONE_DIGITS_MIN: usize = 7;
/// Signed-in devices of one user. Another sign-in signs out the device that has been inactive longest.
pub const DEVICES_PER_USER_MAX: usize = 50;
/// How long a device proof is valid, in days.
pub const DEVICE_PROOF_DAYS: u32 = 365;
/// Grace period of a used refresh token, in seconds: a client that lost the response to a refresh may repeat the request with
/// the same token.
pub const REFRESH_REPEAT_SECONDS: u32 = 60;
/// Users that one user can block.
pub const BLOCKS_PER_USER_MAX: usize = 10_000;
/// Groups and channels that a user has left for good. When the list is full, a new one replaces the oldest, whose members can
/// then add the user again.
pub const GROUPS_REFUSED_MAX: usize = 100;
/// Changes of the handle, display name or picture that one user can make per day.
pub const PROFILE_CHANGES_PER_DAY_MAX: u32 = 50;
/// Search text, in characters.
pub const SEARCH_CHARS_MAX: usize = 64;

// Pages

/// Items per page by default.
pub const PAGE_DEFAULT: u16 = 50;
/// Maximum number of items per page.
pub const PAGE_MAX: u16 = 200;
/// The items of one page, as JSON, in bytes. A page ends early rather than exceed this, and then reports that more items
/// follow. It has at least one item.
pub const PAGE_BYTES_MAX: usize = 256 * 1024;
/// Any response, as JSON, in bytes: a full page plus one item of the maximum size. It fits into the send queue of a socket
/// that is half full.
pub const ANSWER_BYTES_MAX: usize = 512 * 1024;
/// Users per page of a search.
pub const SEARCH_PAGE_MAX: u16 = 50;

// Transport

/// A request body, in bytes.
pub const REQUEST_BODY_BYTES_MAX: usize = 64 * 1024;
/// A frame from a client, in bytes.
pub const FRAME_BYTES_MAX: usize = 64 * 1024;
/// Commands in flight on one socket. With this many, the server stops reading from the socket (backpressure).
pub const COMMANDS_IN_FLIGHT_MAX: usize = 64;
/// Users whose presence one socket watches.
pub const PRESENCE_WATCHED_MAX: usize = 200;
/// Users who receive an event when a user changes their handle, name or picture. The server picks them from the conversations
/// with the latest activity. Everyone else sees the change when they load the user again.
pub const USER_UPDATE_TOLD_MAX: usize = 1_000;
/// Conversations whose members receive this event.
pub const USER_UPDATE_CONVERSATIONS_MAX: usize = 200;
/// The event is sent only to members of conversations with at most this many members.
pub const USER_UPDATE_MEMBERS_MAX: usize = 100;
/// How long a typing notice is valid unless the client renews it, in milliseconds.
pub const TYPING_TTL_MS: u32 = 6_000;

// Sync

/// Entries that a user's account log keeps. A client that is further behind gets `truncated`.
pub const ACCOUNT_LOG_ENTRIES_MAX: usize = 10_000;
