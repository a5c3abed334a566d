//! Values there and back, and bytes that may be anything.
