//! The migrations, as they are in their files.

/// In order, the oldest first. What has been released is never changed.
pub(super) const MIGRATIONS: &[Migration] = &[
    Migration { name: "installation", cql: include_str!("../../migrations/0001_installation.cql") },
    Migration { name: "conversations", cql: include_str!("../../migrations/0002_conversations.cql") },
    Migration { name: "groups", cql: include_str!("../../migrations/0003_groups.cql") },
    Migration { name: "servers", cql: include_str!("../../migrations/0004_servers.cql") },
    Migration { name: "moving", cql: include_str!("../../migrations/0005_moving.cql") },
    Migration { name: "concealed", cql: include_str!("../../migrations/0006_concealed.cql") },
    Migration { name: "adding", cql: include_str!("../../migrations/0007_adding.cql") },
    Migration { name: "changes", cql: include_str!("../../migrations/0008_changes.cql") },
];

pub(super) const BOOKKEEPING: &str = "\
-- Which migrations have been applied.
CREATE TABLE IF NOT EXISTS schema_migrations (
    version    int PRIMARY KEY,
    name       text,
    applied_at timestamp
);

-- Who applies migrations now; it ends by itself.
CREATE TABLE IF NOT EXISTS schema_lock (
    name  text PRIMARY KEY,
    owner uuid
);
";

/// How a statement begins, up to the name of its table.
pub(super) const CREATE: &str = "CREATE TABLE IF NOT EXISTS ";
pub(super) const ALTER: &str = "ALTER TABLE ";

#[derive(Debug)]
pub(super) struct Migration {
    pub(super) name: &'static str,
    pub(super) cql: &'static str,
}

/// A column that a statement adds to a table. One statement adds one column: what was applied halfway can then be told from
/// what was not.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AddedColumn<'a> {
    pub(super) table: &'a str,
    pub(super) column: &'a str,
}

impl<'a> AddedColumn<'a> {
    pub(super) fn of(statement: &'a str) -> Option<Self> {
        let (table, added) = statement.strip_prefix(ALTER)?.split_once(" ADD ")?;
        Some(Self { table, column: added.split_whitespace().next()? })
    }
}

/// The statements of a file, without its comments. They begin at the beginning of a line, in one of two ways.
pub(super) fn statements(cql: &str) -> impl Iterator<Item = &str> {
    cql.split(";\n").filter_map(|part| {
        let starts = [CREATE, ALTER].into_iter().filter_map(|way| part.find(way));
        starts.min().map(|start| &part[start..])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_split_into_its_statements() {
        let count: Vec<usize> = MIGRATIONS.iter().map(|m| statements(m.cql).count()).collect();
        assert_eq!(count, [6, 11, 6 + 11, 1, 2 + 3, 2, 1, 1 + 2]);
        for statement in MIGRATIONS.iter().flat_map(|migration| statements(migration.cql)) {
            let adds = AddedColumn::of(statement).is_some() && !statement.contains(',');
            assert!(statement.starts_with(CREATE) || adds, "{statement}");
            assert!(!statement.contains("--") && !statement.contains(';'), "{statement}");
        }
        let added = AddedColumn::of("ALTER TABLE accounts ADD stars bigint static");
        assert_eq!(added, Some(AddedColumn { table: "accounts", column: "stars" }));
    }
}
