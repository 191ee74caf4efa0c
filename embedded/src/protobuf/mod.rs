//! Protocol buffers, as far as kubectl insists on them: objects of built-in kinds in request bodies, and
//! the `OpenAPI` document of version 2.
//!
//! `messages.json` has the fields of the messages, one message a line: by number the JSON name, whether
//! there is one, a list or a map of it, and its type. It is made from the `generated.proto` files of
//! Kubernetes 1.36.3.

mod decode;
mod wire;

pub(crate) use decode::decode;
pub(crate) use wire::Writer;
