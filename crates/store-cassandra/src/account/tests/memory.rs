//! An account in memory. Like Cassandra, it gives an operation only the rows that it asks for.

use std::collections::{BTreeMap, HashSet};

use godwit_domain::ports::StoreError;
use godwit_protocol::UserId;

use super::super::rows::{Head, Key};
use super::super::snapshot::{AccountRow, Snapshot, Unknown, Want};
use super::super::txn::{Stop, Txn};

pub(super) const USER: UserId = UserId::new(7);

#[derive(Debug, Default)]
pub(super) struct MemoryAccount {
    revision: i64,
    pub(super) head: Head,
    pub(super) rows: BTreeMap<Key, String>,
    /// Queries of the last operation.
    pub(super) reads: usize,
}

impl MemoryAccount {
    pub(super) fn write<T>(
        &mut self,
        run: impl Fn(&mut Txn<'_>) -> Result<T, Stop>,
    ) -> Result<T, StoreError> {
        let (mut known, mut wants) = (None, HashSet::new());
        self.reads = 0;
        loop {
            let snapshot = self.read(known, &wants);
            let mut txn = Txn::new(USER, &snapshot);
            let (result, _) = txn.run(&run);
            match txn.end() {
                Err(more) => wants.extend(more),
                Ok(changes) => {
                    self.revision += 1;
                    self.head = changes.head;
                    for (key, row) in changes.rows {
                        match row {
                            Some(body) => drop(self.rows.insert(key, body)),
                            None => drop(self.rows.remove(&key)),
                        }
                    }
                    return result.map_err(|stop| match stop {
                        Stop::Failed(error) => error,
                        Stop::Unread => panic!("all that was asked for has been read"),
                    });
                }
            }
            known = Some(snapshot);
        }
    }

    pub(super) fn read(&mut self, known: Option<Snapshot>, wants: &HashSet<Want>) -> Snapshot {
        self.reads += 1;
        let unknown = Unknown::among(wants, known.as_ref());
        assert!(
            known.is_none() || unknown.keys.len() + unknown.scans.len() > 0,
            "asked for what has been read"
        );
        let (by_key, by_scan) = self.answer(&unknown);
        Snapshot::with(known, unknown, by_key, by_scan).expect("nobody else writes")
    }

    /// Answers the query by keys and every scan.
    pub(super) fn answer(&self, unknown: &Unknown) -> (Vec<Vec<AccountRow>>, Vec<Vec<AccountRow>>) {
        let anchor = (self.revision > 0).then(|| self.row(Key::ANCHOR, "{}"));
        let by_key = unknown.keys.iter().filter_map(|key| Some(self.row(*key, self.rows.get(key)?)));
        let scan = |(from, limit): &(Key, i32)| {
            let rows = self.rows.range(from..).take_while(|(key, _)| key.kind == from.kind);
            rows.take(usize::try_from(*limit).unwrap()).map(|(key, body)| self.row(*key, body)).collect()
        };
        (vec![anchor.into_iter().chain(by_key).collect()], unknown.scans.iter().map(scan).collect())
    }

    fn row(&self, key: Key, body: &str) -> AccountRow {
        let int = |value: u64| i64::try_from(value).unwrap();
        AccountRow {
            kind: key.kind,
            id: key.id,
            body: body.to_owned(),
            revision: self.revision,
            log_last: int(self.head.log_last),
            log_floor: int(self.head.log_floor),
            log_count: int(self.head.log_count),
            blocks: int(self.head.blocks),
            naming: int(self.head.naming),
            stars: int(self.head.stars),
        }
    }
}
