//! Every crate of the workspace together.

#![forbid(unsafe_code)]
