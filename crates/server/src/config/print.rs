//! Prints the whole configuration as a file, with a comment for each setting and without secrets.

use std::fmt::Write;

use serde::Serialize;
use toml::{Table, Value};

use super::Config;
use super::settings::{SECTIONS, section_comment};

const LINE_CHARS_MAX: usize = 100;
const HEADER: &str = "Settings of Godwit. A line such as `#password =` is a setting that is not set.";

/// TOML with every default, which is a valid configuration file. Secrets and passwords in addresses are hidden.
pub fn print(config: &Config) -> Result<String, toml::ser::Error> {
    let mut config = config.clone();
    config.server.data = Some(config.data_folder().to_owned());
    config.store.url = Some(config.store_location());
    let values = Table::try_from(&config)?;
    let mut out = String::new();
    comment(&mut out, HEADER);
    for (path, settings) in SECTIONS {
        out.push('\n');
        comment(&mut out, section_comment(path).unwrap_or_default());
        line(&mut out, format_args!("[{path}]"));
        let section = find(&values, path);
        for setting in *settings {
            let inner = format!("{path}.{}", setting.key);
            if SECTIONS.iter().any(|(section, _)| *section == inner) {
                continue;
            }
            out.push('\n');
            comment(&mut out, setting.comment);
            match section.and_then(|section| section.get(setting.key)) {
                Some(value) => line(&mut out, format_args!("{} = {}", setting.key, text(value)?)),
                None => line(&mut out, format_args!("#{} =", setting.key)),
            }
        }
    }
    Ok(out)
}

fn find<'a>(table: &'a Table, path: &str) -> Option<&'a Table> {
    path.split('.').try_fold(table, |table, key| table.get(key)?.as_table())
}

/// A value on one line, or a long list on several lines.
fn text(value: &Value) -> Result<String, toml::ser::Error> {
    let mut short = String::new();
    value.serialize(toml::ser::ValueSerializer::new(&mut short))?;
    match value {
        Value::Array(items) if short.chars().count() > LINE_CHARS_MAX / 2 => {
            let items: Vec<String> = items.iter().map(|item| format!("{item},")).collect();
            let lines = wrapped(items.iter().map(String::as_str), LINE_CHARS_MAX - 4);
            Ok(format!("[\n    {}\n]", lines.join("\n    ")))
        }
        _ => Ok(short),
    }
}

fn comment(out: &mut String, text: &str) {
    for words in wrapped(text.split_whitespace(), LINE_CHARS_MAX - 2) {
        line(out, format_args!("# {words}"));
    }
}

fn wrapped<'a>(words: impl Iterator<Item = &'a str>, chars_max: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(last) if last.chars().count() + 1 + word.chars().count() <= chars_max => {
                last.push(' ');
                last.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("a String takes everything");
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::auth::Secret;
    use crate::config::cassandra::Copies;
    use crate::config::settings::Section;

    #[test]
    fn the_printed_config_can_be_read_back() {
        let printed = print(&Config::default()).unwrap();
        let read: Config = toml::from_str(&printed).unwrap();
        assert_eq!(print(&read).unwrap(), printed);
        assert!(printed.contains("listen = \"127.0.0.1:8080\""), "{printed}");
        assert!(printed.contains("url = \"embedded:./data\""), "{printed}");
        let mut config = Config::default();
        config.store.cassandra.replication = Some(Copies::In([("dc1".into(), 3), ("dc2".into(), 3)].into()));
        let read: Config = toml::from_str(&print(&config).unwrap()).unwrap();
        assert_eq!(read.store.cassandra, config.store.cassandra);
    }

    #[test]
    fn every_setting_has_a_comment() {
        let printed = print(&Config::default()).unwrap();
        let lines: Vec<&str> = printed.lines().collect();
        let is_comment = |line: &str| line.starts_with("# ") && line.len() > 3;
        for pair in lines.windows(2) {
            let is_setting = pair[1].contains(" =") && !is_comment(pair[1]) && !pair[1].starts_with(' ');
            let is_section = pair[1].starts_with('[');
            assert!(!(is_setting || is_section) || is_comment(pair[0]), "no comment above {}", pair[1]);
        }
        assert!(lines.iter().all(|line| line.chars().count() <= LINE_CHARS_MAX), "{printed}");
    }

    /// A section that is missing from [`SECTIONS`] would not be printed.
    #[test]
    fn every_section_is_printed() {
        let listed: BTreeSet<&str> = SECTIONS.iter().map(|(path, _)| *path).collect();
        for setting in Config::SETTINGS {
            assert!(listed.contains(setting.key), "{} is missing", setting.key);
        }
        let values = Table::try_from(Config::default()).unwrap();
        let read: Table = toml::from_str(&print(&Config::default()).unwrap()).unwrap();
        assert_eq!(keys(&values, ""), &keys(&read, "") - &BTreeSet::from(SET_BY_PRINTING.map(str::to_owned)));
    }

    /// Settings without a default, which are printed with their effective value.
    const SET_BY_PRINTING: [&str; 2] = [".server.data", ".store.url"];

    fn keys(table: &Table, path: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for (key, value) in table {
            let path = format!("{path}.{key}");
            match value {
                Value::Table(inner) => found.extend(keys(inner, &path)),
                _ => drop(found.insert(path)),
            }
        }
        found
    }

    #[test]
    fn passwords_are_hidden() {
        let mut config = Config::default();
        config.store.url = Some("cassandra://godwit:hunter2@localhost/chat".parse().unwrap());
        config.store.cassandra.password = Some(Secret::new("hunter2"));
        config.cluster.redis_url = Some("redis://godwit:hunter2@localhost:6379".parse().unwrap());
        config.cluster.secret = Some(Secret::new("hunter2 and more of it"));
        let printed = print(&config).unwrap();
        assert!(printed.contains("redis://godwit:…@localhost:6379"), "{printed}");
        assert!(printed.contains("cassandra://godwit:…@localhost/chat"), "{printed}");
        assert!(!printed.contains("hunter2"));
    }
}
