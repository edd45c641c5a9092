//! HTTP: one file for each resource. A handler takes what it needs from the request, calls one use case and answers.
//!
//! - [`extract`]: bodies, parameters, ids, who is asking
//! - [`layers`]: what holds for every request: log, metrics, time limit, headers
//! - the API: [`accounts`], [`sessions`], [`devices`]; [`users`], [`blocks`]; [`inbox`], [`conversations`], [`members`],
//!   [`bans`], [`invites`]; [`messages`], [`reactions`], [`pins`], [`stars`], [`scheduled`]; [`sync`]
//! - [`health`]: for operators
//! - [`docs`]: OpenAPI, made from the annotations of the handlers, and the pages that show it
//! - [`web`]: the web client, or a page that says that there is none
//!
//! Which status an error has is decided in [`crate::problem`]; what is allowed, in the domain.

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

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::get;
use godwit_protocol::ErrorCode;
use godwit_protocol::limits::REQUEST_BODY_BYTES_MAX;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::problem::ApiError;
use crate::socket;
use crate::state::ServerState;

/// Everything that this server answers.
pub fn router(state: ServerState) -> Router {
    let (described, _) = api().split_for_parts();
    let pages = docs::routes()
        .merge(web::routes())
        .route("/asyncapi.json", get(socket::asyncapi::serve))
        .route_layer(axum::middleware::from_fn_with_state(state.clone(), layers::pages));
    let router = described.route("/v1/ws", get(socket::upgrade)).merge(pages);
    dressed(router).with_state(state)
}

/// The part of the server that OpenAPI describes. Paths and methods are those of the annotations.
fn api() -> OpenApiRouter<ServerState> {
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

/// What holds for every request, whatever it asks for. The first to see a request stands last.
fn dressed<S: Clone + Send + Sync + 'static>(router: Router<S>) -> Router<S> {
    router
        .fallback(async || ApiError::new(ErrorCode::NoSuchRoute))
        .method_not_allowed_fallback(async || ApiError::new(ErrorCode::MethodNotAllowed))
        .layer(DefaultBodyLimit::max(REQUEST_BODY_BYTES_MAX))
        .layer(axum::middleware::from_fn(layers::time_limit))
        .layer(layers::catch_panic())
        .layer(axum::middleware::from_fn(layers::headers))
        .layer(axum::middleware::from_fn(layers::observe))
}

#[cfg(test)]
mod tests;
