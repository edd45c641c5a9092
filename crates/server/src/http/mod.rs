//! HTTP: one file per resource. A handler extracts the parts of the request, calls one use case and returns the answer.
//!
//! - [`extract`]: bodies, parameters, ids, the caller
//! - [`layers`]: around every request: log, metrics, time limit, headers
//! - the API: [`accounts`], [`sessions`], [`devices`]; [`users`], [`blocks`]; [`inbox`], [`conversations`], [`members`],
//!   [`bans`], [`invites`]; [`messages`], [`reactions`], [`pins`], [`stars`], [`scheduled`]; [`sync`]
//! - [`health`]: for operators
//! - [`docs`]: OpenAPI, generated from the annotations of the handlers, and the pages that show it
//! - [`web`]: the web client, or a page that says that there is none
//!
//! [`crate::problem`] maps errors to statuses; the domain decides what is allowed.

pub mod accounts;
pub mod bans;
pub mod blocks;
pub mod conversations;
pub mod devices;
pub mod docs;
pub mod extract;
pub mod health;
pub mod inbox;
pub mod invites;
pub mod json;
pub mod layers;
pub mod members;
pub mod messages;
pub mod pins;
pub mod reactions;
pub mod scheduled;
pub mod sessions;
pub mod stars;
pub mod sync;
pub mod users;
pub mod web;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::ServerState;

/// The part of the server that OpenAPI describes. The annotations define paths and methods.
pub(crate) fn api() -> OpenApiRouter<ServerState> {
    OpenApiRouter::new()
        .routes(routes!(accounts::register))
        .routes(routes!(accounts::me, accounts::update_me))
        .routes(routes!(accounts::change_password))
        .routes(routes!(sessions::sign_in))
        .routes(routes!(sessions::refresh))
        .routes(routes!(sessions::sign_out))
        .routes(routes!(devices::list))
        .routes(routes!(devices::revoke))
        .routes(routes!(users::find))
        .routes(routes!(users::get))
        .routes(routes!(blocks::list))
        .routes(routes!(blocks::block, blocks::unblock))
        .routes(routes!(conversations::open, inbox::list))
        .routes(routes!(inbox::gone))
        .routes(routes!(inbox::order_pinned))
        .routes(routes!(conversations::get, conversations::update, conversations::delete))
        .routes(routes!(conversations::log))
        .routes(routes!(inbox::update_membership))
        .routes(routes!(inbox::move_cursor))
        .routes(routes!(members::list, members::add))
        .routes(routes!(members::set_role, members::remove))
        .routes(routes!(members::transfer_ownership))
        .routes(routes!(members::join))
        .routes(routes!(members::leave))
        .routes(routes!(bans::list))
        .routes(routes!(bans::ban, bans::unban))
        .routes(routes!(members::refused))
        .routes(routes!(members::allow_again))
        .routes(routes!(invites::list, invites::create))
        .routes(routes!(invites::revoke))
        .routes(routes!(invites::preview))
        .routes(routes!(invites::join))
        .routes(routes!(messages::send, messages::history))
        .routes(routes!(messages::get, messages::edit, messages::delete))
        .routes(routes!(messages::edits))
        .routes(routes!(messages::receipts))
        .routes(routes!(messages::thread))
        .routes(routes!(reactions::react, reactions::unreact))
        .routes(routes!(reactions::list))
        .routes(routes!(pins::list))
        .routes(routes!(pins::pin, pins::unpin))
        .routes(routes!(stars::list))
        .routes(routes!(stars::star, stars::unstar))
        .routes(routes!(scheduled::list, scheduled::create))
        .routes(routes!(scheduled::update, scheduled::cancel))
        .routes(routes!(scheduled::send))
        .routes(routes!(sync::changes))
        .routes(routes!(health::alive))
        .routes(routes!(health::ready))
}

#[cfg(test)]
mod tests;
