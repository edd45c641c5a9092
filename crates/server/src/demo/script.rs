//! The lines of `world.txt`.

use anyhow::{Context, bail};

/// The meaning of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Person {
        handle: &'a str,
        name: &'a str,
    },
    Group {
        conversation: &'a str,
        name: &'a str,
        members: Vec<&'a str>,
        is_channel: bool,
    },
    Day {
        ago: i64,
    },
    Today,
    Say {
        at: Time,
        conversation: &'a str,
        by: &'a str,
        reply_to: Option<&'a str>,
        text: &'a str,
    },
    /// The following lines are about the previous message.
    React {
        reaction: &'a str,
        by: Vec<&'a str>,
    },
    Edit {
        text: &'a str,
    },
    Delete,
    Pin,
    Star {
        by: &'a str,
    },
    /// A person's setting for a conversation.
    Set {
        of: &'a str,
        conversation: &'a str,
        what: Setting<'a>,
    },
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Time {
    /// Minutes since the start of the day.
    OfDay(i64),
    /// Minutes before now.
    Ago(i64),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Setting<'a> {
    Pinned,
    Muted,
    Archived,
    /// This many messages at the end are unread. Everything else is read.
    Unread(usize),
    Draft(&'a str),
    Later {
        hours: i64,
        text: &'a str,
    },
}

pub(super) fn parse(text: &str) -> impl Iterator<Item = anyhow::Result<Line<'_>>> {
    let numbered = text.lines().enumerate().map(|(number, line)| (number + 1, line.trim_end()));
    let lines = numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines.map(|(number, line)| parse_line(line).with_context(|| format!("line {number}: {line}")))
}

fn parse_line(line: &str) -> anyhow::Result<Line<'_>> {
    if line.starts_with(' ') {
        return about_the_message_before(line.trim_start());
    }
    let (word, rest) = split(line);
    Ok(match word {
        "person" => {
            let (handle, name) = split(rest);
            Line::Person { handle, name }
        }
        "group" | "channel" => {
            let (conversation, rest) = split(rest);
            let (name, members) = rest
                .strip_prefix('"')
                .and_then(|rest| rest.split_once('"'))
                .context("a name in quotes is missing")?;
            let members = members.split_whitespace().collect();
            Line::Group { conversation, name, members, is_channel: word == "channel" }
        }
        "today" => Line::Today,
        "pinned" => set(rest, |_| Ok(Setting::Pinned))?,
        "muted" => set(rest, |_| Ok(Setting::Muted))?,
        "archived" => set(rest, |_| Ok(Setting::Archived))?,
        "unread" => set(rest, |count| Ok(Setting::Unread(count.parse()?)))?,
        "draft" => set(rest, |text| Ok(Setting::Draft(text)))?,
        "later" => set(rest, |rest| {
            let (hours, text) = rest.split_once(':').context("hours and a text are missing")?;
            Ok(Setting::Later { hours: hours.trim().parse()?, text: text.trim() })
        })?,
        _ if rest == "days ago" => Line::Day { ago: word.parse()? },
        _ => say(time(word)?, rest)?,
    })
}

fn about_the_message_before(line: &str) -> anyhow::Result<Line<'_>> {
    let (word, rest) = split(line);
    Ok(match word {
        "edit:" => Line::Edit { text: rest },
        "delete" => Line::Delete,
        "pin" => Line::Pin,
        "star" => Line::Star { by: rest },
        reaction if !rest.is_empty() => Line::React { reaction, by: rest.split_whitespace().collect() },
        _ => bail!("nobody reacts"),
    })
}

fn say<'a>(at: Time, rest: &'a str) -> anyhow::Result<Line<'a>> {
    let (conversation, rest) = split(rest);
    let (speaker, text) = rest.split_once(": ").context("a text is missing")?;
    let (by, reply_to) = match speaker.split_once('>') {
        Some((by, reply_to)) => (by.trim(), Some(reply_to.trim())),
        None => (speaker.trim(), None),
    };
    Ok(Line::Say { at, conversation, by, reply_to, text: text.trim() })
}

fn set<'a>(
    rest: &'a str,
    what: impl FnOnce(&'a str) -> anyhow::Result<Setting<'a>>,
) -> anyhow::Result<Line<'a>> {
    let (of, rest) = split(rest);
    let (conversation, rest) = split(rest);
    Ok(Line::Set { of, conversation: conversation.trim_end_matches(':'), what: what(rest)? })
}

fn time(word: &str) -> anyhow::Result<Time> {
    Ok(match word.split_once(':') {
        Some((hour, minute)) => Time::OfDay(hour.parse::<i64>()? * 60 + minute.parse::<i64>()?),
        None => Time::Ago(word.parse().context("a line begins with a word, a time, or minutes ago")?),
    })
}

/// The first word, and the rest.
fn split(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_lines_are_parsed() {
        let line = |text| parse_line(text).unwrap();
        assert_eq!(line("person ada  Ada Okafor"), Line::Person { handle: "ada", name: "Ada Okafor" });
        let members = vec!["ada", "ben"];
        assert_eq!(
            line("channel news \"The news\" ada ben"),
            Line::Group { conversation: "news", name: "The news", members, is_channel: true }
        );
        assert_eq!(line("12 days ago"), Line::Day { ago: 12 });
        let (at, reply_to) = (Time::OfDay(605), Some("ada"));
        assert_eq!(
            line("10:05 ada+ben  ben > ada: See: this"),
            Line::Say { at, conversation: "ada+ben", by: "ben", reply_to, text: "See: this" }
        );
        let text = "Hello";
        assert_eq!(
            line("40 news ada: Hello"),
            Line::Say { at: Time::Ago(40), conversation: "news", by: "ada", reply_to: None, text }
        );
        assert_eq!(line("   👍 ada ben"), Line::React { reaction: "👍", by: vec!["ada", "ben"] });
        assert_eq!(
            line("later ada news 20: So long"),
            Line::Set {
                of: "ada",
                conversation: "news",
                what: Setting::Later { hours: 20, text: "So long" }
            }
        );
        for wrong in ["10:xx news ada: no", "soon news ada: no", "10:00 news ada", "group news ada", "  👍"]
        {
            assert!(parse_line(wrong).is_err(), "{wrong}");
        }
    }
}
