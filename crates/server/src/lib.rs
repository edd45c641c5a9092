//! The server: transports and wiring around the domain.
//!
//! - [`cli`]: the command line; [`config`]: the settings
//! - [`serve`]: the life of a server; [`wiring`]: its parts
//! - [`listener`]: connections; [`router`]: the routes; [`http`]: requests; [`socket`]: sockets
//! - [`api`]: the code that requests and sockets share; [`state`]: the state that all handlers share
//! - [`auth`], [`network`], [`rate`], [`admission`], [`opaque`], [`problem`]: authentication, limits, cursors and errors
//! - [`admin`]: the operator's commands; [`transfers`]: transfers to another store; [`demo`]: sample data; [`observe`]: logs
//!   and metrics; [`clock`]: the time
//!
//! This crate contains no rules of the domain: a handler that has to decide something about the domain calls a use case
//! instead.

pub mod admin;
pub mod admission;
pub mod api;
pub mod auth;
pub mod cli;
pub mod clock;
pub mod config;
pub mod data_folder;
pub mod demo;
pub mod http;
pub mod listener;
pub mod metrics_listener;
pub mod network;
pub mod observe;
pub mod opaque;
pub mod problem;
pub mod rate;
pub mod router;
pub mod serve;
pub mod sign_ins;
pub mod socket;
pub mod state;
pub mod transfers;
pub mod wiring;
