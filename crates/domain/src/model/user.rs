//! Users and the fields of their profiles.

use std::fmt;

use godwit_protocol::accounts::MayBeAddedBy;
use godwit_protocol::limits::{
    AVATAR_BYTES_MAX, DEVICE_NAME_CHARS_MAX, DISPLAY_NAME_CHARS_MAX, GROUPS_REFUSED_MAX, HANDLE_CHARS_MAX,
    HANDLE_CHARS_MIN, PHONE_CHARS_MAX, PHONE_DIGITS_MIN, SEARCH_CHARS_MAX,
};
use godwit_protocol::{ConversationId, Timestamp, UserId, accounts, people};

use super::field::{self, InvalidField};
use crate::account::reserved_until;

/// A person, or a program that acts as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub id: UserId,
    pub handle: Handle,
    pub display_name: DisplayName,
    pub avatar: Option<Avatar>,
    pub phone: Option<Phone>,
    /// The id of the user in the embedding application, whose tokens this server accepts.
    pub subject: Option<Subject>,
    /// `None` for users who sign in with tokens of the application.
    pub password_hash: Option<String>,
    pub presence_visible: bool,
    /// Whether the user shares read marks in direct conversations and sees those of others.
    pub read_receipts: bool,
    /// Which users may add this user to groups and channels.
    pub may_be_added_by: MayBeAddedBy,
    /// Groups and channels that the user has left for good, the oldest first, at most [`GROUPS_REFUSED_MAX`]. Nobody else
    /// can add the user to them again.
    pub refused_groups: Vec<ConversationId>,
    /// Former handles that are still reserved for the user, the oldest first. Their number is limited when they are given up.
    pub former_handles: Vec<FormerHandle>,
    pub spent: Spent,
    pub last_seen_at: Option<Timestamp>,
    /// Since when the operator has disabled the account.
    pub disabled_at: Option<Timestamp>,
    pub created_at: Timestamp,
}

/// A handle that a user has given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormerHandle {
    pub handle: Handle,
    /// Until this time, only the same user can take the handle.
    pub kept_until: Timestamp,
}

/// How much of each daily allowance a user has spent: for each, the time at which it is full again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    /// For adding people to groups and channels.
    pub members: Timestamp,
    /// For adding people who have never written to the user.
    pub strangers: Timestamp,
    /// For creating groups and channels.
    pub groups: Timestamp,
    /// For changing the visible parts of the profile.
    pub profile: Timestamp,
}

impl Default for Spent {
    fn default() -> Self {
        let never = Timestamp::from_millis(0);
        Self { members: never, strangers: never, groups: never, profile: never }
    }
}

impl User {
    pub fn new(id: UserId, handle: Handle, created_at: Timestamp) -> Self {
        let display_name = DisplayName(handle.0.clone());
        Self {
            id,
            handle,
            display_name,
            avatar: None,
            phone: None,
            subject: None,
            password_hash: None,
            presence_visible: true,
            read_receipts: true,
            may_be_added_by: MayBeAddedBy::Everybody,
            refused_groups: Vec::new(),
            former_handles: Vec::new(),
            spent: Spent::default(),
            last_seen_at: None,
            disabled_at: None,
            created_at,
        }
    }

    /// The profile as the user sees it.
    pub fn to_me(&self) -> accounts::Me {
        accounts::Me {
            id: self.id,
            handle: self.handle.to_string(),
            display_name: self.display_name.to_string(),
            avatar: self.avatar.as_ref().map(ToString::to_string),
            phone: self.phone.as_ref().map(ToString::to_string),
            presence_visible: self.presence_visible,
            read_receipts: self.read_receipts,
            may_be_added_by: self.may_be_added_by,
            created_at: self.created_at,
        }
    }

    /// The profile as others see it.
    pub fn to_public(&self) -> people::User {
        people::User {
            id: self.id,
            handle: self.handle.to_string(),
            display_name: self.display_name.to_string(),
            avatar: self.avatar.as_ref().map(ToString::to_string),
        }
    }

    /// True if the user holds the handle at the time `at`: it is the current one, or a former one that is still reserved.
    /// Without a time, only the current one counts.
    pub fn holds(&self, handle: &str, at: Option<Timestamp>) -> bool {
        let is_kept =
            |former: &FormerHandle| *former.handle == *handle && at.is_some_and(|at| at < former.kept_until);
        *self.handle == *handle || self.former_handles.iter().any(is_kept)
    }

    /// The former handles that are still reserved at a time.
    pub fn kept_handles(&self, at: Timestamp) -> impl Iterator<Item = &FormerHandle> {
        self.former_handles.iter().filter(move |former| at < former.kept_until)
    }

    /// Changes the handle. With a time, the former handle stays reserved for the user from then on.
    pub(crate) fn rename(&mut self, handle: Handle, at: Option<Timestamp>) {
        if self.handle == handle {
            return;
        }
        let before = std::mem::replace(&mut self.handle, handle);
        let Some(at) = at else { return };
        self.former_handles.retain(|former| at < former.kept_until && former.handle != self.handle);
        self.former_handles.push(FormerHandle { handle: before, kept_until: reserved_until(at) });
    }

    /// Adds a group to those that the user has left for good, and drops the oldest ones above the limit.
    pub(crate) fn refuse_group(&mut self, group: ConversationId) {
        self.refused_groups.retain(|refused| *refused != group);
        self.refused_groups.push(group);
        let over = self.refused_groups.len().saturating_sub(GROUPS_REFUSED_MAX);
        self.refused_groups.drain(..over);
    }

    /// The words whose prefixes find the user: the handle, and the words of the display name. A generated handle is not
    /// among them: nobody searches for it, and its prefix would match every user without a handle of their own.
    pub fn search_words(&self) -> Vec<String> {
        let made_up = Handle::for_id(self.id);
        let mut words = Vec::new();
        for name in [&*self.handle, &*self.display_name].into_iter().filter(|name| **name != *made_up) {
            words.extend(name.split_whitespace().map(str::to_lowercase));
            words.push(name.to_lowercase());
        }
        words.sort_unstable();
        words.dedup();
        words
    }

    /// The words whose prefixes find the user in a search. Empty for a disabled user.
    pub fn words_in_search(&self) -> Vec<String> {
        if self.disabled_at.is_some() { Vec::new() } else { self.search_words() }
    }

    /// True if a search for this prefix finds the user.
    pub fn is_in_search_for(&self, prefix: &str) -> bool {
        self.words_in_search().iter().any(|word| word.starts_with(prefix))
    }

    /// True if one of the search words begins with this prefix.
    pub fn is_found_by(&self, prefix: &SearchPrefix) -> bool {
        self.search_words().iter().any(|word| word.starts_with(&**prefix))
    }
}

macro_rules! text_field {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Box<str>);

        impl $name {
            /// For stores: does not validate, because the text was validated before it was written.
            pub fn from_stored(text: impl Into<Box<str>>) -> Self {
                Self(text.into())
            }
        }

        impl std::ops::Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_field!(
    /// The unique name of a user; lower case.
    Handle
);
text_field!(
    /// The name that others see.
    DisplayName
);
text_field!(
    /// A reference to an image.
    Avatar
);
text_field!(
    /// A phone number in international form: `+` and digits.
    Phone
);
text_field!(
    /// The id of a user in the embedding application.
    Subject
);
text_field!(
    /// The name of a device in the user's list of devices.
    DeviceName
);
text_field!(
    /// The lower-case prefix of a word to search for.
    SearchPrefix
);

impl Handle {
    /// Mentions everybody in a conversation, so no user can have this handle.
    pub const EVERYBODY: &str = "all";

    pub fn parse(text: &str) -> Result<Self, InvalidField> {
        let text = text.to_ascii_lowercase();
        let allowed = |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.');
        let length = HANDLE_CHARS_MIN..=HANDLE_CHARS_MAX;
        if !length.contains(&text.len()) || !text.bytes().all(allowed) {
            return Err(InvalidField::new(
                "handle",
                format!("must have {HANDLE_CHARS_MIN} to {HANDLE_CHARS_MAX} characters of a-z, 0-9, _ and ."),
            ));
        }
        if text.starts_with('.') || text.ends_with('.') || text.contains("..") {
            return Err(InvalidField::new(
                "handle",
                "must not begin or end with a dot or contain two dots in a row",
            ));
        }
        if text == Self::EVERYBODY {
            return Err(InvalidField::new("handle", "must not be the name that mentions everyone"));
        }
        Ok(Self(text.into()))
    }

    /// True if the handle is one of these or looks like it.
    pub fn is_among(&self, reserved: &[String]) -> bool {
        let own = skeleton(&self.0);
        reserved.iter().any(|reserved| skeleton(reserved) == own)
    }

    /// A generated handle for a user whom the application sends without one. It is unique because the id is.
    pub fn for_id(id: UserId) -> Self {
        Self(format!("user_{id}").into())
    }
}

impl DisplayName {
    pub fn parse(text: &str) -> Result<Self, InvalidField> {
        field::single_line("display_name", text, DISPLAY_NAME_CHARS_MAX).map(Self)
    }
}

impl Avatar {
    pub fn parse(text: &str) -> Result<Self, InvalidField> {
        field::url("avatar", text, AVATAR_BYTES_MAX).map(Self)
    }
}

impl Phone {
    pub fn parse(text: &str) -> Result<Self, InvalidField> {
        let digits = text.strip_prefix('+').unwrap_or_default();
        let valid = (PHONE_DIGITS_MIN..PHONE_CHARS_MAX).contains(&digits.len())
            && !digits.starts_with('0')
            && digits.bytes().all(|b| b.is_ascii_digit());
        if valid {
            Ok(Self(text.into()))
        } else {
            Err(InvalidField::new("phone", "must be in international format, such as +34600111222"))
        }
    }
}

impl Subject {
    pub const BYTES_MAX: usize = 255;

    pub fn parse(text: &str) -> Result<Self, InvalidField> {
        field::bounded("sub", text, Self::BYTES_MAX).map(Self)
    }
}

impl DeviceName {
    pub fn parse(text: &str) -> Result<Self, InvalidField> {
        field::single_line("device_name", text, DEVICE_NAME_CHARS_MAX).map(Self)
    }
}

impl Default for DeviceName {
    fn default() -> Self {
        Self("unnamed device".into())
    }
}

impl SearchPrefix {
    pub fn parse(text: &str) -> Result<Self, InvalidField> {
        let text = field::single_line("query", text.trim().trim_start_matches('@'), SEARCH_CHARS_MAX)?;
        Ok(Self(text.to_lowercase().into()))
    }
}

/// Maps handles that look alike to the same text: removes dots and underscores, and replaces characters that are easily
/// mistaken for each other by one of them.
fn skeleton(handle: &str) -> String {
    let bare = handle.replace(['.', '_'], "").to_ascii_lowercase();
    let alike = |c| match c {
        '0' => 'o',
        '1' | 'i' => 'l',
        '3' => 'e',
        '4' => 'a',
        '5' => 's',
        '7' => 't',
        '8' => 'b',
        other => other,
    };
    bare.replace("rn", "m").replace("vv", "w").chars().map(alike).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_lower_case_and_plain() {
        assert_eq!(&*Handle::parse("Ada.Lovelace_1").unwrap(), "ada.lovelace_1");
        for wrong in
            ["ab", "", ".ada", "ada.", "a..da", "ada lovelace", "ädä", "a\nda", "all", "ALL", &"x".repeat(33)]
        {
            assert!(Handle::parse(wrong).is_err(), "{wrong:?} was taken for a handle");
        }
    }

    #[test]
    fn names_cannot_break_the_line_or_disguise_themselves() {
        assert_eq!(&*DisplayName::parse("  Ada 👩‍💻 Lovelace ").unwrap(), "Ada 👩‍💻 Lovelace");
        for wrong in [
            "",
            "   ",
            "a\nb",
            "a\0b",
            "a\u{202e}b",
            "a\u{200b}b",
            "\u{feff}a",
            "a\u{2028}b",
            "\u{3164}",
            "\u{2800}\u{2800}",
            "a\u{ad}b",
            "a\u{e0062}",
            &"x".repeat(65),
        ] {
            assert!(DisplayName::parse(wrong).is_err(), "{wrong:?} was taken for a name");
        }
    }

    #[test]
    fn look_alikes_of_reserved_handles_are_detected() {
        let reserved = ["admin".to_owned(), "help_desk".to_owned()];
        for handle in ["admin", "ad.min", "_admin_", "helpdesk"] {
            assert!(Handle::parse(handle).unwrap().is_among(&reserved), "{handle}");
        }
        for handle in ["adm1n", "admln", "4dmin", "adrnin", "he1p_desk", "h3lpd3sk"] {
            assert!(Handle::parse(handle).unwrap().is_among(&reserved), "{handle}");
        }
        assert!(!Handle::parse("badminton").unwrap().is_among(&reserved));
    }

    #[test]
    fn a_handle_is_kept_for_its_former_owner_for_a_while() {
        let handle = |text: &str| Handle::parse(text).unwrap();
        let at = |days: i64| Timestamp::from_millis(days * 24 * 60 * 60 * 1_000);
        let mut user = User::new(UserId::new(1), handle("ada"), at(0));
        user.rename(handle("countess"), Some(at(1)));
        assert!(user.holds("countess", Some(at(1))) && user.holds("ada", Some(at(30))));
        assert!(!user.holds("ada", Some(at(31))) && !user.holds("ada", None));
        user.rename(handle("ada"), Some(at(2)));
        let former: Vec<&str> = user.former_handles.iter().map(|former| &*former.handle).collect();
        assert_eq!(former, ["countess"]);
    }

    #[test]
    fn phones_are_international() {
        assert!(Phone::parse("+34600111222").is_ok());
        for wrong in ["", "+", "600111222", "+0600111222", "+34 600 111 222", "+1234567890123456"] {
            assert!(Phone::parse(wrong).is_err(), "{wrong:?} was taken for a phone");
        }
    }

    #[test]
    fn users_are_found_by_handle_and_by_every_word_of_their_name() {
        let mut user = User::new(UserId::new(1), Handle::parse("ada").unwrap(), Timestamp::from_millis(0));
        user.display_name = DisplayName::parse("Ada Lovelace").unwrap();
        assert_eq!(user.search_words(), ["ada", "ada lovelace", "lovelace"]);
        user.handle = Handle::for_id(user.id);
        assert_eq!(user.search_words(), ["ada", "ada lovelace", "lovelace"]);
        let nameless = User::new(user.id, user.handle, user.created_at);
        assert!(nameless.search_words().is_empty());
    }
}
