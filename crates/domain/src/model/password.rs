//! Passwords, and the check for those that are easy to guess.
//!
//! An attacker tries common passwords first, with a few digits appended, and rows of the keyboard. There are few of these,
//! and rules cover them better than a long list does. A crate that estimates strength (zxcvbn) would add a regex engine and
//! 400 KiB of dictionaries, and refuse passwords by a score that nobody can explain to the user.

use std::fmt;

use godwit_protocol::limits::{PASSWORD_CHARS_MAX, PASSWORD_CHARS_MIN};

use super::characters;
use super::field::InvalidField;

/// A plain-text password. It is never stored and never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(Box<str>);

impl Password {
    /// Validates a new password for the user with this handle.
    pub fn parse_new(field: &'static str, text: &str, handle: &str) -> Result<Self, InvalidField> {
        let length = PASSWORD_CHARS_MIN..=PASSWORD_CHARS_MAX;
        if !length.contains(&text.chars().count()) {
            let reason = format!("must have {PASSWORD_CHARS_MIN} to {PASSWORD_CHARS_MAX} characters");
            return Err(InvalidField::new(field, reason));
        }
        if let Some(reason) = weakness(text, handle) {
            return Err(InvalidField::new(field, reason));
        }
        Ok(Self(text.into()))
    }

    /// A password to compare with a stored hash. A text above the maximum length cannot match and is not hashed.
    pub fn parse_attempt(field: &'static str, text: &str) -> Result<Self, InvalidField> {
        if text.chars().count() <= PASSWORD_CHARS_MAX {
            Ok(Self(text.into()))
        } else {
            Err(InvalidField::new(field, format!("must have at most {PASSWORD_CHARS_MAX} characters")))
        }
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

/// The reason why a password is easy to guess.
fn weakness(text: &str, handle: &str) -> Option<&'static str> {
    if !characters::shows_something(text) {
        return Some("must contain a visible character");
    }
    let lower = text.trim().to_lowercase();
    if is_repetition(&lower) {
        return Some("must not repeat one or a few characters");
    }
    if is_row(&lower) {
        return Some("must not be a sequence of digits, letters or keys on a keyboard");
    }
    let core = core(&lower);
    if lower == handle || core == handle {
        return Some("must not be the handle");
    }
    if is_common(&lower) || is_common(core) {
        return Some("is one of the first that others would guess: choose another one");
    }
    None
}

/// The text without leading and trailing digits and signs, which people add to a word.
fn core(text: &str) -> &str {
    text.trim_matches(|c: char| !c.is_alphabetic())
}

fn is_common(word: &str) -> bool {
    let plain: String = word.chars().filter(|c| !c.is_whitespace()).map(unleet).collect();
    COMMON.split(' ').any(|common| plain == common || is_twice(&plain, common))
}

fn is_twice(text: &str, word: &str) -> bool {
    text.len() == 2 * word.len() && text.strip_prefix(word) == Some(word)
}

/// The letter that a digit or sign replaces.
const fn unleet(c: char) -> char {
    match c {
        '0' => 'o',
        '1' | '!' => 'i',
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' => 't',
        other => other,
    }
}

/// True if the text repeats the same few characters.
fn is_repetition(text: &str) -> bool {
    const UNIT_CHARS_MAX: usize = 4;
    let chars: Vec<char> = text.chars().collect();
    (1..=UNIT_CHARS_MAX)
        .any(|unit| chars.len() >= 2 * unit && chars.iter().enumerate().all(|(i, c)| *c == chars[i % unit]))
}

/// True if the text is a run on the keyboard, a run of the alphabet in either direction, or two of them.
fn is_row(text: &str) -> bool {
    let is_part = |text: &str| {
        let backwards: String = text.chars().rev().collect();
        ROWS.iter().any(|row| row.contains(text) || row.contains(&backwards))
    };
    const PART_BYTES_MIN: usize = 3;
    let mut splits = (PART_BYTES_MIN..=text.len().saturating_sub(PART_BYTES_MIN))
        .filter(|middle| text.is_char_boundary(*middle))
        .map(|middle| text.split_at(middle));
    is_part(text) || splits.any(|(first, second)| is_part(first) && is_part(second))
}

/// Rows of the keyboard and of the alphabet.
const ROWS: &[&str] = &[
    "01234567890123456789",
    "abcdefghijklmnopqrstuvwxyz",
    "qwertyuiop[]",
    "qwertzuiopü",
    "azertyuiop",
    "asdfghjkl;'",
    "zxcvbnm,./",
    "yxcvbnm,.-",
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik,9ol.0p",
    "qazwsxedcrfvtgbyhnujmikolp",
    "1q2w3e4r5t6y7u8i9o0p",
    "q1w2e3r4t5y6u7i8o9p0",
    "1a2b3c4d5e6f7g8h9i0j",
    "a1b2c3d4e5f6g7h8i9j0",
    "112233445566778899",
    "147258369",
    "159753",
    "1029384756",
    "!@#$%^&*()",
];

/// Very common passwords in widely spoken languages.
const COMMON: &str = "\
    password passwort passwords passphrase passcode contraseña contrasena contrasenia motdepasse senha parola haslo \
    wachtwoord iloveyou ilovegod iloveme lovelove loveyou teamo tequiero jetaime princess princesa sunshine football \
    futbol baseball basketball softball welcome welcometo bienvenido bonjour hello helloworld letmein trustno \
    trustnoi whatever changeme changeit change administrator administrador admin root toor user guest test testing \
    tester testtest testuser demo default secret secreto superman batman spiderman starwars pokemon dragon monkey \
    master shadow michael jennifer jessica jordan charlie daniel ashley alexander alejandro estrella mariposa \
    corazon america barcelona realmadrid liverpool manchester chelsea arsenal juventus babygirl butterfly chocolate \
    computer internet samsung google facebook whatsapp telegram godwit freedom forever friends family flower summer \
    winter spring autumn january february december november monday friday sunday qwerty qwertz azerty asdf asdfgh \
    zxcvbn abc abcd abcdef access login logmein enter killer hunter ninja mustang ferrari mercedes corvette harley \
    cookie cheese banana orange pepper ginger purple silver golden diamond angel jesus jesuschrist christ blessed \
    heaven metallica nirvana slipknot blink matrix phoenix thunder tigger snoopy mickey pumpkin sweetheart baby \
    lovely nothing mypassword thepassword newpassword yourpassword correcthorsebatterystaple";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn easily_guessed_passwords_are_refused() {
        for weak in [
            "short",
            "        ",
            "\u{3164}\u{3164}\u{3164}",
            "12345678",
            "123456789",
            "1234567890",
            "87654321",
            "00000000",
            "aaaaaaaa",
            "12121212",
            "abcabcabc",
            "12341234",
            "asdfasdf",
            "abcdefgh",
            "qwertyui",
            "qwerty123",
            "1qaz2wsx",
            "1q2w3e4r",
            "q1w2e3r4",
            "147258369",
            "11223344",
            "password",
            "Password1",
            "P@ssw0rd",
            "passw0rd!",
            "password2024",
            "iloveyou",
            "ILoveYou!!",
            "i love you",
            "welcome123",
            "admin123",
            "test1234",
            "testtest",
            "letmein1",
            "trustno1",
            "contraseña1",
            "barcelona",
            "correct horse battery staple",
            "Ada.Lovelace",
            "ada.lovelace1",
        ] {
            assert!(Password::parse_new("password", weak, "ada.lovelace").is_err(), "{weak:?} was accepted");
        }
    }

    #[test]
    fn other_passwords_are_accepted() {
        for good in [
            "correct horse",
            "godwits fly far",
            "Tr0ub4dor&3",
            "mi perro come uvas",
            "passwords are tedious",
            "x7Kq-93hw",
            "ñandú y zorro",
            "我喜欢下雨天和茶",
        ] {
            assert!(Password::parse_new("password", good, "ada").is_ok(), "{good:?} was refused");
        }
    }

    #[test]
    fn a_password_is_not_printed() {
        let password = Password::parse_new("password", "correct horse", "ada").unwrap();
        assert!(!format!("{password:?}").contains("horse"));
    }
}
