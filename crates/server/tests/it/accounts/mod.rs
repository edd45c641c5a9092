//! Accounts: registration, sessions, devices, passwords and profiles.
//!
//! - `sessions`: registering, signing in, refreshing, signing out
//! - `blocks`: a block that races with the start of watching
//! - `devices`: revoking a device that is in use
//! - `passwords`: changing a password, and disabled users
//! - `profiles`: handles, names, search, blocks

mod blocks;
mod devices;
mod passwords;
mod profiles;
mod sessions;

use godwit_client::Error;
use godwit_client::protocol::ErrorCode;
use godwit_client::protocol::accounts::{Register, SignIn};

use crate::people::PASSWORD;

fn registration(handle: &str) -> Register {
    Register {
        handle: handle.to_owned(),
        password: PASSWORD.to_owned(),
        display_name: None,
        phone: None,
        device_name: None,
    }
}

fn credentials(handle: &str, password: &str) -> SignIn {
    SignIn { handle: handle.to_owned(), password: password.to_owned(), device_name: None, device_proof: None }
}

fn assert_refused<T: std::fmt::Debug>(result: Result<T, Error>, code: ErrorCode) {
    match result {
        Err(error) => assert_eq!(error.code(), Some(code), "{error}"),
        Ok(done) => panic!("{code} was expected, and not {done:?}"),
    }
}
