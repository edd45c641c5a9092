//! The programs that Cassandra needs from the system.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::error::TestbedError;

/// Cassandra supports Java 17. It uses the security manager, which Java 24 removed.
const JAVA_MAJORS: std::ops::RangeInclusive<u32> = 17..=23;
const JAVA_REMEDY: &str = "Install a Java 17 runtime (Debian, Ubuntu: apt-get install openjdk-17-jre-headless), or set \
                           JAVA_HOME to one";
const MAVEN_REMEDY: &str = "Install Maven, which fetches Cassandra (Debian, Ubuntu: apt-get install maven)";
const REDIS_REMEDY: &str = "Install Redis (Debian, Ubuntu: apt-get install redis-server)";

/// A Java runtime that can run Cassandra.
pub(super) fn java() -> Result<PathBuf, TestbedError> {
    let java = of_java("java");
    let version = output_of(&java, "-version")
        .ok_or_else(|| missing(format!("`{}` cannot be run", java.display()), JAVA_REMEDY))?;
    match major_version(&version) {
        Some(major) if JAVA_MAJORS.contains(&major) => Ok(java),
        _ => {
            let first = version.lines().next().unwrap_or_default();
            Err(missing(format!("Cassandra cannot run on `{}` ({first})", java.display()), JAVA_REMEDY))
        }
    }
}

/// The tool that makes keys and certificates.
pub(super) fn keytool() -> Result<PathBuf, TestbedError> {
    let keytool = of_java("keytool");
    match output_of(&keytool, "-help") {
        Some(_) => Ok(keytool),
        None => Err(missing(format!("`{}` cannot be run", keytool.display()), JAVA_REMEDY)),
    }
}

pub(super) fn maven() -> Result<PathBuf, TestbedError> {
    find("mvn", MAVEN_REMEDY)
}

pub(super) fn redis_server() -> Result<PathBuf, TestbedError> {
    find("redis-server", REDIS_REMEDY)
}

fn find(program: &str, remedy: &'static str) -> Result<PathBuf, TestbedError> {
    match output_of(program.as_ref(), "--version") {
        Some(_) => Ok(program.into()),
        None => Err(missing(format!("`{program}` cannot be run"), remedy)),
    }
}

fn of_java(program: &str) -> PathBuf {
    match std::env::var_os("JAVA_HOME") {
        Some(home) if !home.is_empty() => PathBuf::from(home).join("bin").join(program),
        _ => program.into(),
    }
}

/// The output of a program with an argument, from both streams, if it exists and succeeds.
fn output_of(program: &std::path::Path, argument: &str) -> Option<String> {
    let output = Command::new(program).arg(argument).stdin(Stdio::null()).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    output.status.success().then(|| String::from_utf8_lossy(&text).into_owned())
}

/// Parses `openjdk version "17.0.15" 2025-04-15`. Java 8 called itself 1.8.
fn major_version(text: &str) -> Option<u32> {
    let (_, quoted) = text.split_once("version \"")?;
    quoted.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn missing(what: String, remedy: &'static str) -> TestbedError {
    TestbedError::Missing { what, remedy }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn java_versions_are_parsed() {
        assert_eq!(major_version("openjdk version \"17.0.15\" 2025-04-15\nOpenJDK …"), Some(17));
        assert_eq!(major_version("java version \"21\" 2023-09-19 LTS"), Some(21));
        assert_eq!(major_version("java version \"1.8.0_402\""), Some(1));
        assert_eq!(major_version("bash: java: command not found"), None);
    }
}
