//! `godwit schema`.

use std::io::{BufRead, IsTerminal, Write, stderr, stdin, stdout};

use anyhow::bail;

use super::args::SchemaCommand;
use super::config::refuse_problems;
use crate::config::Config;
use crate::observe;
use crate::wiring::schema::{self, NEWEST, Status};
use crate::wiring::{StoreOptions, schema_options};

const NONE_NEEDED: &str = "the embedded store has no schema: it creates its files on its own";

pub(super) async fn run(config: &Config, command: SchemaCommand) -> anyhow::Result<()> {
    refuse_problems(config)?;
    observe::start_log(&config.log);
    let options = match (schema_options(config), &command) {
        (Some(options), _) => options,
        // Printing the schema needs no Cassandra.
        (None, SchemaCommand::Print) => StoreOptions::new(Vec::new(), StoreOptions::KEYSPACE),
        (None, _) => return Ok(writeln!(stdout(), "{NONE_NEEDED}")?),
    };
    match command {
        SchemaCommand::Print => Ok(write!(stdout(), "{}", schema::print(&options))?),
        SchemaCommand::Status => show(&options, &schema::status(&options).await?),
        SchemaCommand::Migrate => show(&options, &schema::migrate(&options).await?),
        SchemaCommand::Create { fresh, yes } => {
            if fresh {
                drop_keyspace(&options, yes).await?;
            }
            show(&options, &schema::create(&options).await?)
        }
    }
}

fn show(options: &StoreOptions, status: &Status) -> anyhow::Result<()> {
    let mut out = stdout().lock();
    writeln!(out, "Cassandra    {}", options.contact_points.join(", "))?;
    writeln!(out, "keyspace     {}", status.keyspace)?;
    writeln!(out, "replication  {}", replication(status))?;
    writeln!(out, "version      {}", version(status))?;
    Ok(())
}

fn replication(status: &Status) -> String {
    let Some(copies) = &status.replication else { return "the keyspace does not exist".into() };
    let in_each = copies.iter().map(|(datacenter, copies)| match copies {
        1 => format!("1 replica in {datacenter}"),
        copies => format!("{copies} replicas in {datacenter}"),
    });
    in_each.collect::<Vec<_>>().join(", ")
}

fn version(status: &Status) -> String {
    match status.version {
        _ if status.replication.is_none() => {
            format!("none; run 'godwit schema create' to create version {NEWEST}")
        }
        0 => format!("none, there are no tables; run 'godwit schema migrate' to create version {NEWEST}"),
        found if found < NEWEST => format!("{found}; this build needs {NEWEST}: run 'godwit schema migrate'"),
        found if found > NEWEST => {
            format!("{found}, from a newer Godwit; this build knows {NEWEST}: use the newer build")
        }
        found => format!("{found}, the newest"),
    }
}

async fn drop_keyspace(options: &StoreOptions, is_sure: bool) -> anyhow::Result<()> {
    let keyspace = &options.keyspace;
    // Checks for a keyspace first, so that there is no needless question.
    if schema::status(options).await?.replication.is_none() {
        return Ok(());
    }
    if !is_sure && !is_confirmed(keyspace)? {
        bail!("this is not the name of the keyspace; nothing was changed");
    }
    schema::drop(options).await?;
    Ok(writeln!(stderr(), "deleted keyspace {keyspace}")?)
}

fn is_confirmed(keyspace: &str) -> anyhow::Result<bool> {
    if !stdin().is_terminal() {
        bail!(
            "--fresh deletes keyspace {keyspace} with all its data; without a terminal to confirm, add --yes"
        );
    }
    write!(stderr(), "This deletes keyspace {keyspace} with all its data. Type its name to confirm: ")?;
    let mut answer = String::new();
    stdin().lock().read_line(&mut answer)?;
    Ok(answer.trim() == keyspace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(version: usize, copies: &[(&str, u8)]) -> Status {
        let replication = copies.iter().map(|(name, copies)| ((*name).to_owned(), *copies)).collect();
        Status { keyspace: "chat".into(), replication: (!copies.is_empty()).then_some(replication), version }
    }

    #[test]
    fn the_status_says_what_to_do() {
        let here = [("dc1", 3), ("dc2", 1)];
        assert_eq!(replication(&status(0, &here)), "3 replicas in dc1, 1 replica in dc2");
        assert!(version(&status(0, &[])).contains("schema create"));
        assert!(version(&status(0, &here)).contains("schema migrate"));
        assert!(version(&status(NEWEST - 1, &here)).contains("schema migrate"));
        assert_eq!(version(&status(NEWEST, &here)), format!("{NEWEST}, the newest"));
        assert!(version(&status(NEWEST + 1, &here)).contains("newer"));
    }
}
