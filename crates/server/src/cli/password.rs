//! Reads the password of a user from stdin or the terminal, or generates one.

use std::io::{self, BufRead, IsTerminal, Read, Write, stderr, stdin};

use anyhow::{Context, bail};
use godwit_protocol::limits::PASSWORD_CHARS_MAX;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// Without characters that look alike. The length is a power of two, so that every character is equally likely.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
/// Four groups of five characters with five bits each: 100 bits.
const GROUPS: usize = 4;
const GROUP_CHARS: usize = 5;

pub(super) enum Password {
    Given(String),
    /// Must be shown, because nobody knows it.
    Generated(String),
}

impl Password {
    pub(super) fn obtain(from_stdin: bool) -> anyhow::Result<Self> {
        if from_stdin {
            return read_line().map(Self::Given).context("cannot read a password from stdin");
        }
        if !stdin().is_terminal() {
            return Ok(Self::generate());
        }
        let first = ask("Password (leave empty to generate one): ")?;
        if first.is_empty() {
            return Ok(Self::generate());
        }
        if ask("Repeat the password: ")? != first {
            bail!("the passwords do not match; nothing was changed");
        }
        Ok(Self::Given(first))
    }

    pub(super) fn reveal(&self) -> &str {
        match self {
            Self::Given(text) | Self::Generated(text) => text,
        }
    }

    pub(super) fn generate() -> Self {
        let random: [u8; GROUPS * GROUP_CHARS] = rand::random();
        let groups: Vec<String> = random
            .chunks(GROUP_CHARS)
            .map(|bytes| bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect())
            .collect();
        Self::Generated(groups.join("-"))
    }
}

/// Asks on the terminal with echo off.
fn ask(question: &str) -> anyhow::Result<String> {
    write!(stderr(), "{question}")?;
    let hidden =
        HiddenInput::start().context("the terminal cannot hide the password; use --password-stdin")?;
    let answer = read_line()?;
    drop(hidden);
    Ok(answer)
}

fn read_line() -> io::Result<String> {
    let mut line = String::new();
    // Slightly more than the longest password, so that one that is too long is refused and not truncated.
    let bytes_max = 4 * PASSWORD_CHARS_MAX as u64 + 3;
    if stdin().lock().take(bytes_max).read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let line = line.strip_suffix('\n').unwrap_or(&line);
    Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
}

/// Turns the terminal's echo off until dropped; only the line end is shown.
struct HiddenInput {
    before: Termios,
}

impl HiddenInput {
    fn start() -> io::Result<Self> {
        let before = tcgetattr(stdin())?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        hidden.local_modes.insert(LocalModes::ECHONL);
        tcsetattr(stdin(), OptionalActions::Flush, &hidden)?;
        Ok(Self { before })
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        // A failure is visible to the user.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_passwords_are_long_and_different() {
        let (one, other) = (Password::generate(), Password::generate());
        assert_eq!(one.reveal().len(), GROUPS * (GROUP_CHARS + 1) - 1);
        assert_ne!(one.reveal(), other.reveal());
    }
}
