//! The list of migrations.

/// The migrations, the oldest first. A released migration never changes.
pub(super) const MIGRATIONS: &[Migration] =
    &[Migration { name: "initial", cql: include_str!("../../migrations/0001_initial.cql") }];

pub(super) const BOOKKEEPING: &str = "\
-- The migrations that have been applied.
CREATE TABLE IF NOT EXISTS schema_migrations (
    version    int PRIMARY KEY,
    name       text,
    applied_at timestamp
);

-- The lock of a running migration. It expires.
CREATE TABLE IF NOT EXISTS schema_lock (
    name  text PRIMARY KEY,
    owner uuid
);
";

/// The beginning of a statement, up to the name of its table.
pub(super) const CREATE: &str = "CREATE TABLE IF NOT EXISTS ";
pub(super) const ALTER: &str = "ALTER TABLE ";

#[derive(Debug)]
pub(super) struct Migration {
    pub(super) name: &'static str,
    pub(super) cql: &'static str,
}

/// A column that a statement adds to a table. A statement adds only one column, so that after a crash it is
/// known which statements were applied.
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

/// The statements of a file, without comments. Each begins on a new line with `CREATE` or `ALTER`.
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
        assert_eq!(count, [34]);
        for statement in MIGRATIONS.iter().flat_map(|migration| statements(migration.cql)) {
            let adds = AddedColumn::of(statement).is_some() && !statement.contains(',');
            assert!(statement.starts_with(CREATE) || adds, "{statement}");
            assert!(!statement.contains("--") && !statement.contains(';'), "{statement}");
        }
        let added = AddedColumn::of("ALTER TABLE accounts ADD stars bigint static");
        assert_eq!(added, Some(AddedColumn { table: "accounts", column: "stars" }));
    }
}
