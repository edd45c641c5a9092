//! All routes of the server: the API, the socket, the documents of both, and the web client.

use axum::Router;
use axum::routing::get;

use crate::http::{self, docs, layers, web};
use crate::socket;
use crate::state::ServerState;

pub fn router(state: ServerState) -> Router {
    let (described, _) = http::api().split_for_parts();
    let pages = docs::routes()
        .merge(web::routes())
        .route("/asyncapi.json", get(socket::asyncapi::serve))
        .route_layer(axum::middleware::from_fn_with_state(state.clone(), layers::pages));
    let router = described.route("/v1/ws", get(socket::upgrade)).merge(pages);
    layers::all(router).with_state(state)
}
