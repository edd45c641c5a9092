//! The software of a node: Java from the system, and Cassandra, which Maven fetches once into the user's cache
//! folder, where every clone and every process finds it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::error::{Doing as _, TestbedError};
use crate::progress::{Ticker, say};
use crate::tools;

pub(super) const VERSION: &str = "5.0.9";

const POM: &str = include_str!("../cassandra/pom.xml");

/// The software that a node needs.
#[derive(Debug)]
pub(super) struct Software {
    pub(super) java: PathBuf,
    /// The folder with Cassandra and its dependencies.
    pub(super) jars: PathBuf,
}

impl Software {
    /// Fails before anything is started if something is missing.
    pub(super) fn get() -> Result<Self, TestbedError> {
        Ok(Self { java: tools::java()?, jars: jars()? })
    }
}

/// Fetches Cassandra in advance.
pub fn fetch_cassandra() -> Result<(), TestbedError> {
    Software::get().map(drop)
}

/// Fetches the jars if they are missing. Concurrent processes wait for the one that fetches.
fn jars() -> Result<PathBuf, TestbedError> {
    let cache = cache_folder()?;
    let jars = cache.join(format!("cassandra-{VERSION}"));
    if jars.is_dir() {
        return Ok(jars);
    }
    fs::create_dir_all(&cache).doing(|| format!("create {}", cache.display()))?;
    let lock_path = cache.join("fetch.lock");
    let lock = File::create(&lock_path).doing(|| format!("create {}", lock_path.display()))?;
    lock.lock().doing(|| format!("lock {}", lock_path.display()))?;
    if !jars.is_dir() {
        fetch(&cache, &jars)?;
    }
    Ok(jars)
}

pub(super) fn cache_folder() -> Result<PathBuf, TestbedError> {
    let of = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = of("XDG_CACHE_HOME").or_else(|| of("HOME").map(|home| home.join(".cache")));
    base.map(|base| base.join("godwit")).ok_or_else(|| {
        TestbedError::Refused(
            "neither XDG_CACHE_HOME nor HOME is set, so there is no folder for Cassandra".to_owned(),
        )
    })
}

/// Fetches into a temporary folder, and renames it when it is complete.
fn fetch(cache: &Path, jars: &Path) -> Result<(), TestbedError> {
    let maven = tools::maven()?;
    let part = tempfile::Builder::new()
        .prefix("fetching-")
        .tempdir_in(cache)
        .doing(|| format!("create a folder in {}", cache.display()))?;
    let pom = part.path().join("pom.xml");
    fs::write(&pom, POM).doing(|| format!("write {}", pom.display()))?;
    let lib = part.path().join("lib");
    let log = part.path().join("maven.log");

    say(&format!("fetching Cassandra {VERSION} (about 70 MB) into {}", jars.display()));
    run_maven(&maven, &pom, &lib, &log)?;
    fs::rename(&lib, jars).doing(|| format!("move the jars to {}", jars.display()))
}

fn run_maven(maven: &Path, pom: &Path, lib: &Path, log: &Path) -> Result<(), TestbedError> {
    let output = File::create(log).doing(|| format!("create {}", log.display()))?;
    let errors = output.try_clone().doing(|| format!("use {}", log.display()))?;
    let mut child = Command::new(maven)
        .args([
            "--batch-mode",
            "-Dmaven.artifact.threads=16",
            "dependency:copy-dependencies",
            "-DincludeScope=runtime",
            "--file",
        ])
        .arg(pom)
        .arg(format!("-DoutputDirectory={}", lib.display()))
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .spawn()
        .doing(|| "run Maven".to_owned())?;

    let mut ticker = Ticker::start();
    let status = loop {
        if let Some(status) = child.try_wait().doing(|| "wait for Maven".to_owned())? {
            break status;
        }
        std::thread::sleep(Duration::from_millis(200));
        ticker.tick(|| format!("{} files fetched", read(log).matches("Downloaded from").count()));
    };
    if status.success() && lib.join(format!("cassandra-all-{VERSION}.jar")).exists() {
        say(&format!("fetched in {} s", ticker.seconds()));
        return Ok(());
    }
    let output = read(log);
    let errors: Vec<&str> = output.lines().filter(|line| line.starts_with("[ERROR]")).take(2).collect();
    let output = if errors.is_empty() { last_lines(&output, 8) } else { errors.join("\n") };
    Err(TestbedError::Fetch { version: VERSION, output })
}

fn read(log: &Path) -> String {
    fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// The last lines of a log, for an error.
pub(super) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_matches_the_maven_project() {
        assert!(POM.contains(&format!(
            "<artifactId>cassandra-all</artifactId>\n      <version>{VERSION}</version>"
        )));
    }

    #[test]
    fn last_lines_returns_the_end_of_the_text() {
        assert_eq!(last_lines("a\nb\nc\n", 2), "b\nc");
        assert_eq!(last_lines("a", 2), "a");
    }
}
