//! What users and databases may be called: as in Neo4j.

use telar_db::query::QueryError;

use super::failure::invalid;

/// The database that holds no graph: commands about the server can be sent there.
pub const SYSTEM: &str = "system";
/// Another name for the default database, which clients of Neo4j have built in.
pub const ALIAS: &str = "neo4j";

/// Longest name of a user, in bytes.
pub(super) const USER_BYTES_MAX: usize = 128;

/// The name in lower case, which is what databases are known by.
///
/// # Errors
/// If no database can be called so.
pub(super) fn database(name: &str) -> Result<String, QueryError> {
    let refuse = |rule: &str| Err(invalid(format!("'{name}' is no name for a database: {rule}")));
    let name = name.to_ascii_lowercase();
    if !(3..=63).contains(&name.len()) {
        return refuse("it has 3 to 63 characters");
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-';
    if !name.bytes().all(plain) {
        return refuse("it is made of letters, digits, dots and dashes");
    }
    if !name.starts_with(|char: char| char.is_ascii_alphabetic()) {
        return refuse("it begins with a letter");
    }
    if name.ends_with(['.', '-']) {
        return refuse("it ends with a letter or digit");
    }
    if name.starts_with(SYSTEM) {
        return refuse("names that begin with 'system' are reserved");
    }
    Ok(name)
}

/// # Errors
/// If no user can be called so.
pub(super) fn check_user(name: &str) -> Result<(), QueryError> {
    let plain = |byte: u8| byte.is_ascii_graphic() && byte != b',' && byte != b':';
    if name.is_empty() || name.len() > USER_BYTES_MAX || !name.bytes().all(plain) {
        let rule = "it has 1 to 128 ASCII characters other than ',', ':' and blanks";
        return Err(invalid(format!("'{name}' is no name for a user: {rule}")));
    }
    Ok(())
}

#[test]
fn names_of_databases_are_those_of_neo4j() {
    for good in ["abc", "Shop.EU-1", &"a".repeat(63)] {
        assert_eq!(database(good), Ok(good.to_lowercase()));
    }
    for bad in ["ab", "1shop", "shop_eu", "shop.", "shop-", "système", "systems", "../x", "a/b"] {
        assert!(database(bad).is_err(), "{bad}");
    }
    assert!(database(&"a".repeat(64)).is_err());
    assert!(check_user("ann@x.org").is_ok());
    for bad in ["", "a b", "a:b", "a,b", "ä", "a\n"] {
        assert!(check_user(bad).is_err(), "{bad:?}");
    }
}
