//! Serving of the API documents.

use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde_json::Value;

/// The bytes of a document. Encoded once, because a document is large and anyone may request it.
pub fn encoded(document: &Value) -> Bytes {
    document.to_string().into()
}

pub fn json_document(document: &Bytes) -> Response {
    ([(CONTENT_TYPE, HeaderValue::from_static("application/json"))], document.clone()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::docs::openapi;
    use crate::socket::asyncapi;

    /// The copies in the repository, for readers without a running server.
    const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/");

    #[tokio::test]
    async fn documents_are_encoded_once() {
        let bytes =
            async |response: Response| axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        for (first, second) in [
            (openapi::serve().await, openapi::serve().await),
            (asyncapi::serve().await, asyncapi::serve().await),
        ] {
            assert_eq!(first.headers()[CONTENT_TYPE], "application/json");
            let (first, second) = (bytes(first).await, bytes(second).await);
            assert!(serde_json::from_slice::<Value>(&first).unwrap().is_object());
            assert_eq!(first.as_ptr(), second.as_ptr(), "both are the same bytes");
        }
    }

    #[test]
    fn documents_in_the_repository_are_up_to_date() {
        for (name, document) in
            [("openapi.json", openapi::document()), ("asyncapi.json", asyncapi::document())]
        {
            let path = format!("{DOCS}{name}");
            if std::env::var_os("UPDATE_DOCS").is_some() {
                std::fs::write(&path, serde_json::to_string_pretty(&document).unwrap() + "\n").unwrap();
            }
            let copy = std::fs::read(&path).unwrap_or_default();
            assert!(
                serde_json::from_slice::<Value>(&copy).is_ok_and(|copy| copy == document),
                "docs/{name} is stale: UPDATE_DOCS=1 cargo test -p godwit-server documents"
            );
        }
    }
}
