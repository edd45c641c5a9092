//! Loads a [`Config`] from a file, the environment and flags. Later sources override earlier ones.
//!
//! Each setting is validated when it is added, so that an error names its source. A library for layered configuration would
//! need more glue code than this module has, because it uses the `toml` crate already.

use std::fmt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Deserialize;
use thiserror::Error;
use toml::{Table, Value};

use super::Config;

/// Read from the working directory if no other file is named.
pub const DEFAULT_FILE: &str = "godwit.toml";
/// Variables have the form `GODWIT_SECTION__KEY`.
const VARIABLE_PREFIX: &str = "GODWIT_";
const VARIABLE_SEPARATOR: &str = "__";
/// The command line reads these variables as defaults of its flags.
const VARIABLES_OF_FLAGS: &[&str] =
    &["GODWIT_CONFIG", "GODWIT_LISTEN", "GODWIT_DATA", "GODWIT_STORE", "GODWIT_REDIS"];
/// Variables of other programs: Kubernetes sets the first two for a service named `godwit`, and the tests use the last.
const VARIABLES_OF_OTHERS: &[&str] = &["GODWIT_SERVICE_", "GODWIT_PORT", "GODWIT_TEST_"];

/// The sources of settings.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// A file that must exist.
    pub file: Option<PathBuf>,
    /// A file that is read if it exists and no other one is named.
    pub default_file: Option<PathBuf>,
    pub environment: Vec<(String, String)>,
    /// Settings of the command line. The last one for a key counts.
    pub overrides: Vec<Override>,
}

/// One setting of the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// The text of the user for errors, such as `--listen`.
    pub origin: String,
    /// The path of the setting, such as `server.listen`.
    pub key: String,
    pub value: String,
}

#[derive(Debug, Error)]
pub enum ConfigError {
    #[error("cannot read the configuration file {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{origin}: {reason}")]
    Invalid { origin: String, reason: String },
}

impl Sources {
    /// The sources of this process, except the command line.
    pub fn of_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self {
            default_file: Some(DEFAULT_FILE.into()),
            environment: std::env::vars_os().filter_map(text).collect(),
            ..Self::default()
        }
    }

    pub fn load(&self) -> Result<Config, ConfigError> {
        let mut layers = Layers::default();
        if let Some((path, text)) = self.read_file()? {
            layers.add_file(&path, &text)?;
        }
        let mut variables: Vec<_> =
            self.environment.iter().filter(|(name, _)| name.starts_with(VARIABLE_PREFIX)).collect();
        variables.sort();
        for (name, value) in variables {
            layers.add_variable(name, value)?;
        }
        for Override { origin, key, value } in &self.overrides {
            layers.add(origin, key, value)?;
        }
        Ok(layers.config)
    }

    fn read_file(&self) -> Result<Option<(PathBuf, String)>, ConfigError> {
        let (path, must_exist) = match (&self.file, &self.default_file) {
            (Some(path), _) => (path, true),
            (None, Some(path)) => (path, false),
            (None, None) => return Ok(None),
        };
        match fs::read_to_string(path) {
            Ok(text) => Ok(Some((path.clone(), text))),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !must_exist => Ok(None),
            Err(source) => Err(ConfigError::Unreadable { path: path.clone(), source }),
        }
    }
}

/// The settings so far, as text and parsed.
#[derive(Default)]
struct Layers {
    table: Table,
    config: Config,
}

impl Layers {
    fn add_file(&mut self, path: &Path, text: &str) -> Result<(), ConfigError> {
        let wrong = |error: toml::de::Error| {
            let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
            invalid(format_args!("{} line {line}", path.display()), reason(&error))
        };
        self.config = toml::from_str(text).map_err(wrong)?;
        self.table = toml::from_str(text).map_err(wrong)?;
        Ok(())
    }

    fn add_variable(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let is_of_others = VARIABLES_OF_OTHERS.iter().any(|prefix| name.starts_with(prefix));
        if VARIABLES_OF_FLAGS.contains(&name) || is_of_others {
            return Ok(());
        }
        let path = name.trim_start_matches(VARIABLE_PREFIX).to_lowercase();
        if !path.contains(VARIABLE_SEPARATOR) {
            let example = "settings are named GODWIT_SECTION__KEY, such as GODWIT_SERVER__LISTEN";
            return Err(invalid(name, format!("is not a setting; {example}")));
        }
        self.add(name, &path.replace(VARIABLE_SEPARATOR, "."), value)
    }

    /// Adds one setting. Its text is parsed as a TOML value if that is valid, and otherwise taken as a string, so that
    /// nobody needs nested quotes.
    fn add(&mut self, origin: &str, key: &str, text: &str) -> Result<(), ConfigError> {
        let as_text = Value::String(text.to_owned());
        let as_value = text.parse::<Value>().unwrap_or_else(|_| as_text.clone());
        match self.with(key, as_value.clone()) {
            Ok(()) => Ok(()),
            Err(_) if as_value != as_text && self.with(key, as_text).is_ok() => Ok(()),
            Err(reason) => Err(invalid(origin, reason)),
        }
    }

    fn with(&mut self, key: &str, value: Value) -> Result<(), String> {
        let mut table = self.table.clone();
        set(&mut table, key, value)
            .ok_or_else(|| format!("`{key}` is inside something that is not a section"))?;
        self.config = Config::deserialize(table.clone()).map_err(|error| reason(&error))?;
        self.table = table;
        Ok(())
    }
}

/// `None` if a part of the path is not a section.
fn set(table: &mut Table, key: &str, value: Value) -> Option<()> {
    match key.split_once('.') {
        None => drop(table.insert(key.to_owned(), value)),
        Some((section, rest)) => {
            let section = table.entry(section).or_insert_with(|| Value::Table(Table::new()));
            set(section.as_table_mut()?, rest, value)?;
        }
    }
    Some(())
}

/// The error message in plain words, on one line.
fn reason(error: &toml::de::Error) -> String {
    let message =
        error.message().replace("unknown field", "unknown setting").replace("expected one of", "allowed are");
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn invalid(origin: impl fmt::Display, reason: impl Into<String>) -> ConfigError {
    ConfigError::Invalid { origin: origin.to_string(), reason: reason.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scene {
        _folder: tempfile::TempDir,
        sources: Sources,
    }

    fn scene(file: &str, environment: &[(&str, &str)], flags: &[(&str, &str)]) -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(DEFAULT_FILE);
        fs::write(&path, file).unwrap();
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let flag = |(key, value): &(&str, &str)| Override {
            origin: format!("--{key}"),
            key: (*key).to_owned(),
            value: (*value).to_owned(),
        };
        let sources = Sources {
            file: None,
            default_file: Some(path),
            environment: environment.iter().map(own).collect(),
            overrides: flags.iter().map(flag).collect(),
        };
        Scene { _folder: folder, sources }
    }

    fn load(file: &str, environment: &[(&str, &str)], flags: &[(&str, &str)]) -> Config {
        scene(file, environment, flags).sources.load().unwrap()
    }

    fn error(file: &str, environment: &[(&str, &str)], flags: &[(&str, &str)]) -> String {
        let error = scene(file, environment, flags).sources.load().unwrap_err().to_string();
        assert!(!error.contains('\n'), "more than one line: {error}");
        error
    }

    #[test]
    fn without_settings_all_defaults_apply() {
        let sources = Sources { default_file: Some("/nowhere/godwit.toml".into()), ..Sources::default() };
        assert_eq!(sources.load().unwrap(), Config::default());
    }

    #[test]
    fn later_sources_override_single_settings() {
        let file = "[server]\nmax_connections = 1\nidle_timeout_ms = 1\nheader_timeout_ms = 1";
        let environment = [("GODWIT_SERVER__MAX_CONNECTIONS", "2"), ("GODWIT_SERVER__IDLE_TIMEOUT_MS", "2")];
        let server = load(file, &environment, &[("server.max_connections", "3")]).server;
        assert_eq!((server.header_timeout_ms, server.idle_timeout_ms, server.max_connections), (1, 2, 3));
    }

    #[test]
    fn values_need_no_quotes() {
        let environment = [
            ("GODWIT_SERVER__LISTEN", "0.0.0.0:80"),
            ("GODWIT_AUTH__REGISTRATION", "closed"),
            ("GODWIT_AUTH__APPLICATION__AUDIENCE", "12345"),
            ("GODWIT_RATES__SEND_PER_USER__PER_MINUTE", "60"),
            ("GODWIT_SERVER__TRUST_FORWARDED_FOR", "true"),
        ];
        let config = load("", &environment, &[]);
        assert_eq!(config.server.listen.to_string(), "0.0.0.0:80");
        assert_eq!(config.auth.application.audience.as_deref(), Some("12345"));
        assert_eq!(config.rates.send_per_user.per_minute, 60);
        assert!(config.server.trusts_forwarded_for());
    }

    #[test]
    fn errors_in_the_file_name_the_line_and_the_allowed_values() {
        let error_text = error("[log]\nlevel = \"info\"\ncolour = true", &[], &[]);
        for part in ["godwit.toml line 3", "unknown setting `colour`", "`format`", "`level`"] {
            assert!(error_text.contains(part), "{part} is not in: {error_text}");
        }
        assert!(error("[server]\nmax_connections = \"many\"", &[], &[]).contains("line 2"));
        assert!(error("[server]\nlisten = \"here\"", &[], &[]).contains("`here` is not an address"));
        assert!(error("[server", &[], &[]).contains("line 1"));
    }

    #[test]
    fn errors_in_other_sources_name_the_source() {
        let variable = error("", &[("GODWIT_SOCKET__SPEED", "1")], &[]);
        assert!(variable.starts_with("GODWIT_SOCKET__SPEED: unknown setting `speed`"), "{variable}");
        assert!(error("", &[], &[("log.format", "xml")]).starts_with("--log.format: "));
        assert!(error("", &[], &[("log.level.deep", "1")]).starts_with("--log.level.deep: "));
        let short = error("", &[("GODWIT_SERVER_LISTEN", "127.0.0.1:1")], &[]);
        assert!(short.contains("GODWIT_SECTION__KEY"), "{short}");
    }

    #[test]
    fn variables_of_other_programs_are_ignored() {
        let environment = [
            ("GODWIT_PORT_80_TCP", "tcp://10.0.0.1:80"),
            ("GODWIT_SERVICE_HOST", "10.0.0.1"),
            ("GODWIT_TEST_CASSANDRA_FOLDER", "/tmp/cluster"),
            ("PATH", "/bin"),
        ];
        assert_eq!(load("", &environment, &[]), Config::default());
    }

    #[test]
    fn a_named_file_must_exist() {
        let sources = Sources { file: Some("/nowhere/godwit.toml".into()), ..Sources::default() };
        assert!(matches!(sources.load(), Err(ConfigError::Unreadable { .. })));
    }
}
