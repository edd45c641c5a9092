//! The addresses of rows: a table, and a key in it. What the bytes of a key mean is decided by the layout in `keys`.

use super::Bytes;

/// A tree of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Table {
    Log,
    Index,
    State,
}

impl Table {
    pub(crate) const COUNT: usize = 3;
    pub(crate) const ALL: [Self; Self::COUNT] = [Self::Log, Self::Index, Self::State];

    /// Its place in [`Table::ALL`].
    pub(crate) const fn place(self) -> usize {
        self as usize
    }

    /// As files name it.
    pub(crate) const fn number(self) -> u8 {
        self as u8
    }

    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Index => "index",
            Self::State => "state",
        }
    }
}

/// Where a row is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) table: Table,
    pub(crate) bytes: Bytes,
}

/// The keys from `start` up to `end`, which is not included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyRange {
    pub(crate) table: Table,
    pub(crate) start: Bytes,
    pub(crate) end: Bytes,
}
