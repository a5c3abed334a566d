//! Transactional storage engine of the Telar graph database.
