//! Loom models of the protocol.
