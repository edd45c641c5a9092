//! The use cases on the model store: what each rule promises, two nodes on one store included.

mod accounts;
mod blocks;
mod cursors;
mod sending;
mod stage;
mod sync;
