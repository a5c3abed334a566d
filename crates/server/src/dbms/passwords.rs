//! Passwords: hashed with argon2id, compared outside of any lock, at a bounded cost.
//!
//! A hash takes some 20 MiB and tens of milliseconds, by design. At most `hashes_at_once` are made
//! at a time; whoever waits longer than [`WAIT_MAX`] is sent away. HTTP clients send a password
//! with every request, so a password that was right is remembered: as a cheap argon2 hash under a
//! salt that only this process has, beside the stored hash that it was right for. A wrong password
//! always costs a whole hash, and one of a user that does not exist costs the same.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use argon2::password_hash::{PasswordHasher, PasswordVerifier, generate_salt};
use argon2::{Algorithm, Argon2, Params, Version};
use parking_lot::{Condvar, Mutex};
use telar_db::query::cypher::Secret;
use telar_db::query::{ErrorKind, QueryError};

use super::failure::{invalid, server_error, storage};
use super::settings::Security;

/// Shortest password, in characters, as in Neo4j.
pub const PASSWORD_CHARS_MIN: usize = 8;
/// Longest password, in bytes: nobody is to make us hash megabytes.
const PASSWORD_BYTES_MAX: usize = 1024;
/// How long a login waits for its turn to be hashed.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// What hashes and compares passwords.
pub(super) struct Passwords {
    slow: Argon2<'static>,
    quick: Argon2<'static>,
    salt: [u8; 16],
    /// A hash of nobody's password.
    nobody: String,
    /// Hashes that may still begin.
    free: Mutex<usize>,
    freed: Condvar,
    known: Mutex<HashMap<String, Known>>,
}

/// A password that was right.
struct Known {
    /// For this stored hash.
    hash: String,
    quick: [u8; 32],
}

impl std::fmt::Debug for Passwords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Passwords").finish_non_exhaustive()
    }
}

/// A turn to hash, given back when it is dropped.
struct Turn<'a>(&'a Passwords);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.free.lock() += 1;
        self.0.freed.notify_one();
    }
}

fn argon2(memory_kib: u32, passes: u32) -> Result<Argon2<'static>, QueryError> {
    let params = Params::new(memory_kib, passes, 1, None)
        .map_err(|e| invalid(format!("the cost of hashing passwords cannot be so: {e}")))?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

impl Passwords {
    /// # Errors
    /// If passwords cannot be hashed at that cost.
    pub(super) fn new(security: &Security) -> Result<Self, QueryError> {
        let slow = argon2(security.hash_memory_kib, security.hash_passes)?;
        let nobody = hash(&slow, &generate_salt())?;
        Ok(Self {
            slow,
            quick: argon2(Params::MIN_M_COST, Params::MIN_T_COST)?,
            salt: generate_salt(),
            nobody,
            free: Mutex::new(security.hashes_at_once.max(1)),
            freed: Condvar::new(),
            known: Mutex::default(),
        })
    }

    fn turn(&self) -> Result<Turn<'_>, QueryError> {
        let until = Instant::now() + WAIT_MAX;
        let mut free = self.free.lock();
        while *free == 0 {
            if self.freed.wait_until(&mut free, until).timed_out() && *free == 0 {
                let message = "too many clients log in at once: try again";
                return Err(server_error(ErrorKind::Busy, message));
            }
        }
        *free -= 1;
        Ok(Turn(self))
    }

    /// The hash of a password that is to be set.
    ///
    /// # Errors
    /// If it is too short or too long.
    pub(super) fn hash(&self, password: &Secret) -> Result<String, QueryError> {
        let text = password.reveal();
        if text.chars().count() < PASSWORD_CHARS_MIN {
            let message = format!("A password must be at least {PASSWORD_CHARS_MIN} characters.");
            return Err(invalid(message));
        }
        if text.len() > PASSWORD_BYTES_MAX {
            return Err(invalid(format!("a password has at most {PASSWORD_BYTES_MAX} bytes")));
        }
        let _turn = self.turn()?;
        hash(&self.slow, text.as_bytes())
    }

    /// The hash of the password that Neo4j gives its first user, which is too short to be set.
    pub(super) fn hash_default(&self) -> Result<String, QueryError> {
        hash(&self.slow, b"neo4j")
    }

    /// Whether `password` is that of `user`, whose stored hash is `stored`, if there is such one.
    /// `admit` is asked when it is the turn of this one.
    ///
    /// # Errors
    /// That of `admit`, and if it was not its turn for too long.
    pub(super) fn verify(
        &self,
        user: &str,
        password: &str,
        stored: Option<&str>,
        admit: impl Fn() -> Result<(), QueryError>,
    ) -> Result<bool, QueryError> {
        if password.len() > PASSWORD_BYTES_MAX {
            return Ok(false);
        }
        let mut quick = [0; 32];
        let hashed = self.quick.hash_password_into(password.as_bytes(), &self.salt, &mut quick);
        hashed.map_err(|e| storage("cannot hash a password", e))?;
        let is_known = |known: &Known| Some(&*known.hash) == stored && known.quick == quick;
        if self.known.lock().get(user).is_some_and(is_known) {
            return Ok(true);
        }
        let _turn = self.turn()?;
        admit()?;
        let verified =
            self.slow.verify_password(password.as_bytes(), stored.unwrap_or(&self.nobody));
        let Some(stored) = stored.filter(|_| verified.is_ok()) else { return Ok(false) };
        let known = Known { hash: stored.to_owned(), quick };
        self.known.lock().insert(user.to_owned(), known);
        Ok(true)
    }
}

fn hash(argon2: &Argon2<'_>, password: &[u8]) -> Result<String, QueryError> {
    match argon2.hash_password(password) {
        Ok(hash) => Ok(hash.to_string()),
        Err(e) => Err(storage("cannot hash a password", e)),
    }
}

#[test]
fn passwords_are_verified_and_remembered_until_they_change() {
    let security = Security { hash_memory_kib: 64, hash_passes: 1, ..Security::default() };
    let passwords = Passwords::new(&security).expect("these costs are allowed");
    let hash = |text: &str| passwords.hash(&Secret::new(text));
    assert!(hash("1234567").is_err() && hash(&"x".repeat(1025)).is_err());
    assert!(hash("12345678").is_ok() && hash("größerer").is_ok());
    let (old, new) =
        (hash("old password").unwrap_or_default(), hash("new password").unwrap_or_default());
    assert!(old.starts_with("$argon2id$v=19$m=64,t=1,p=1$") && !old.contains("password"));
    assert_ne!(hash("old password"), Ok(old.clone()), "each has a salt of its own");

    let verify = |password: &str, stored| passwords.verify("ann", password, stored, || Ok(()));
    let refuses = || Err(invalid("it is not your turn"));
    assert_eq!(verify("wrong", Some(&old)), Ok(false));
    assert_eq!(verify("old password", Some(&old)), Ok(true));
    // What is remembered needs no turn; anything else does.
    assert_eq!(passwords.verify("ann", "old password", Some(&old), refuses), Ok(true));
    assert!(passwords.verify("ann", "wrong", Some(&old), refuses).is_err());
    assert!(passwords.verify("ann", "old password", Some(&new), refuses).is_err());
    assert_eq!(verify("old password", Some(&new)), Ok(false));
    assert_eq!(verify("old password", None), Ok(false), "the user is gone");
    assert_eq!(passwords.verify("bob", "old password", None, || Ok(())), Ok(false));
    assert_eq!(verify(&"x".repeat(1 << 20), Some(&old)), Ok(false));
}
