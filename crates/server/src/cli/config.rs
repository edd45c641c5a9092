//! `godwit config`.

use std::io::{Write, stderr, stdout};

use anyhow::bail;

use crate::config::{Config, check};

pub(super) fn print(config: &Config) -> anyhow::Result<()> {
    Ok(writeln!(stdout(), "{}", crate::config::print::print(config)?.trim_end())?)
}

pub(super) fn check(config: &Config) -> anyhow::Result<()> {
    refuse_problems(config)?;
    for warning in check::warnings(config) {
        writeln!(stderr(), "warning: {warning}")?;
    }
    Ok(writeln!(stdout(), "ok")?)
}

/// One error with a line per problem.
pub(super) fn refuse_problems(config: &Config) -> anyhow::Result<()> {
    let problems = check::problems(config);
    if problems.is_empty() {
        return Ok(());
    }
    bail!(problems.join("\n"))
}
