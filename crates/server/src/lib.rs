//! The server: transports and wiring around the domain.
//!
//! - [`cli`]: the command line; [`config`]: what can be set
//! - [`serve`]: the life of a server; [`wiring`]: what it is made of
//! - [`listener`]: connections; [`http`]: requests; [`socket`]: sockets; [`state`]: what their handlers share
//! - [`schemas`]: what the documents of the API say beyond the derives
//! - [`auth`], [`network`], [`rate`], [`admission`], [`opaque`], [`problem`]: what handlers do before and after a use case
//! - [`admin`]: what the operator does with users; [`moving`]: moving the data to another store; [`demo`]: a small world to
//!   look around in; [`observe`]: logs and metrics; [`clock`]: the time
//!
//! No rule of the domain is here: a handler that needs to know more than where a value goes belongs into a use case.

pub mod admin;
pub mod admission;
pub mod auth;
pub mod cli;
pub mod clock;
pub mod config;
pub mod data_folder;
pub mod demo;
pub mod http;
pub mod listener;
pub mod metrics_listener;
pub mod moving;
pub mod network;
pub mod observe;
pub mod opaque;
pub mod problem;
pub mod rate;
pub mod schemas;
pub mod serve;
pub mod sign_ins;
pub mod socket;
pub mod state;
pub mod wiring;
