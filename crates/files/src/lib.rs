//! Files of rows.
