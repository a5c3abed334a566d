//! Any bytes as the body of a request to the Query API, in both notations.

use telar_db::value::NESTING_MAX;
use telar_server::http::{Notation, Request};

/// Reads `bytes`: an error or a request whose values nest no deeper than may be.
pub(crate) fn http_request(bytes: &[u8]) {
    for notation in [Notation::Plain, Notation::Typed] {
        if let Ok(request) = Request::decode(notation, bytes) {
            let values = request.parameters.values().chain(request.metadata.values());
            assert!(values.into_iter().all(|value| value.nests_within(NESTING_MAX)));
        }
    }
}
