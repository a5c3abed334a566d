//! Passwords: hashed with argon2id, compared outside of any lock, at a bounded cost.
//!
//! ```text
//!  known already? ──► the turn of the name ──► known now? locked out? ──► a turn to hash ──► hash
//!       a cheap hash   one attempt of each                     who is not there waits as long
//! ```
//!
//! A hash takes some 20 MiB and tens of milliseconds, by design. At most `hashes_at_once` are made
//! at a time, in turns of the addresses that want them; whoever waits longer than [`WAIT_MAX`] is
//! sent away. Attempts of one name come one after another: what one has found out, that the
//! password is right or one too many was wrong, holds for the next.
//!
//! HTTP clients send a password with every request, so a password that was right is remembered: as
//! a cheap argon2 hash under a salt that only this process has, beside the stored hash that it was
//! right for. A wrong password always costs a whole hash. For a user who does not exist, or may not
//! log in, nothing is hashed: the answer comes after the time that another attempt took. So whoever
//! guesses names holds nobody up, and learns as little as if that were compared.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::thread;
use std::time::{Duration, Instant};

use argon2::password_hash::{PasswordHasher, PasswordVerifier, generate_salt};
use argon2::{Algorithm, Argon2, Params, Version};
use parking_lot::{Condvar, Mutex};
use telar_db::query::cypher::Secret;
use telar_db::query::{ErrorKind, QueryError};

use super::attempts;
use super::failure::{invalid, server_error, storage};
use super::settings::Security;

/// Shortest password, in characters, as in Neo4j.
pub const PASSWORD_CHARS_MIN: usize = 8;
/// Longest password, in bytes: nobody is to make us hash megabytes.
const PASSWORD_BYTES_MAX: usize = 1024;
/// How long a login waits for its turn to be hashed.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// Times of comparisons that are remembered.
const TIMES: usize = 32;
/// Addresses whose turns are counted while somebody waits; when there are more, all begin anew.
const ADDRESSES_MAX: usize = 10_000;

/// What hashes and compares passwords.
pub(super) struct Passwords {
    slow: Argon2<'static>,
    quick: Argon2<'static>,
    salt: [u8; 16],
    /// How long the last comparisons took, waiting for a turn included.
    times: Mutex<VecDeque<Duration>>,
    line: Mutex<Line>,
    /// Notified when the line has changed.
    moved: Condvar,
    /// Names of which an attempt is made.
    names: Mutex<HashSet<String>>,
    /// Notified when one of them is not any more.
    ended: Condvar,
    known: Mutex<HashMap<String, Known>>,
}

/// Who waits for a turn to hash.
#[derive(Debug)]
struct Line {
    /// Hashes that may still begin.
    free: usize,
    next: u64,
    waiting: BTreeMap<u64, Option<IpAddr>>,
    /// How many turns each address has had since somebody waits.
    served: HashMap<Option<IpAddr>, u64>,
}

impl Line {
    /// Whether it is the turn of this one: of the first of the address that has had the fewest.
    fn is_turn(&self, ticket: u64) -> bool {
        let had = |address| self.served.get(address).copied().unwrap_or_default();
        let first = self.waiting.iter().min_by_key(|(ticket, address)| (had(*address), **ticket));
        self.free > 0 && first.is_some_and(|(first, _)| *first == ticket)
    }
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
        self.0.line.lock().free += 1;
        self.0.moved.notify_all();
    }
}

/// The turn of a name, given back when it is dropped.
struct NameTurn<'a>(&'a Passwords, String);

impl Drop for NameTurn<'_> {
    fn drop(&mut self) {
        self.0.names.lock().remove(&self.1);
        self.0.ended.notify_all();
    }
}

/// Whether a password is right. As long as this is there, no other attempt of that name is made:
/// who counts it does so before.
pub(super) struct Verified<'a> {
    pub(super) right: bool,
    _turn: Option<NameTurn<'a>>,
}

/// An attempt to log in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attempt<'a> {
    pub(super) user: &'a str,
    pub(super) password: &'a str,
    /// The hash of the user's password; none if there is no such user, or it may not log in.
    pub(super) stored: Option<&'a str>,
    pub(super) address: Option<IpAddr>,
}

fn busy() -> QueryError {
    server_error(ErrorKind::Busy, "too many clients log in at once: try again")
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
        let begun = Instant::now();
        hash(&slow, &generate_salt())?;
        let line = Line {
            free: security.hashes_at_once.max(1),
            next: 0,
            waiting: BTreeMap::new(),
            served: HashMap::new(),
        };
        Ok(Self {
            slow,
            quick: argon2(Params::MIN_M_COST, Params::MIN_T_COST)?,
            salt: generate_salt(),
            times: Mutex::new(VecDeque::from([begun.elapsed()])),
            line: Mutex::new(line),
            moved: Condvar::new(),
            names: Mutex::default(),
            ended: Condvar::new(),
            known: Mutex::default(),
        })
    }

    /// Waits for a turn to hash.
    fn turn(&self, address: Option<IpAddr>) -> Result<Turn<'_>, QueryError> {
        let until = Instant::now() + WAIT_MAX;
        let mut line = self.line.lock();
        let ticket = line.next;
        line.next += 1;
        line.waiting.insert(ticket, address);
        while !line.is_turn(ticket) {
            if self.moved.wait_until(&mut line, until).timed_out() && !line.is_turn(ticket) {
                line.waiting.remove(&ticket);
                self.moved.notify_all();
                return Err(busy());
            }
        }
        line.waiting.remove(&ticket);
        line.free -= 1;
        if line.waiting.is_empty() || line.served.len() >= ADDRESSES_MAX {
            line.served.clear();
        }
        *line.served.entry(address).or_default() += 1;
        // Another one may be free for the next.
        self.moved.notify_all();
        Ok(Turn(self))
    }

    /// Waits until no other attempt of this name is made.
    fn name_turn(&self, name: &str) -> Result<NameTurn<'_>, QueryError> {
        let until = Instant::now() + WAIT_MAX;
        let mut names = self.names.lock();
        while names.contains(name) {
            if self.ended.wait_until(&mut names, until).timed_out() && names.contains(name) {
                return Err(busy());
            }
        }
        names.insert(name.to_owned());
        Ok(NameTurn(self, name.to_owned()))
    }

    /// How long one of the last comparisons took.
    fn time(&self) -> Duration {
        let mut times = self.times.lock();
        times.rotate_left(1);
        times.back().copied().unwrap_or_default()
    }

    fn note(&self, time: Duration) {
        let mut times = self.times.lock();
        times.push_back(time);
        if times.len() > TIMES {
            times.pop_front();
        }
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
        let _turn = self.turn(None)?;
        hash(&self.slow, text.as_bytes())
    }

    /// The hash of the password that Neo4j gives its first user, which is too short to be set.
    pub(super) fn hash_default(&self) -> Result<String, QueryError> {
        hash(&self.slow, b"neo4j")
    }

    /// Whether a password is right. `admit` is asked when it is the turn of the name.
    ///
    /// # Errors
    /// That of `admit`, and if it was not its turn for too long.
    pub(super) fn verify(
        &self,
        attempt: &Attempt<'_>,
        admit: impl Fn() -> Result<(), QueryError>,
    ) -> Result<Verified<'_>, QueryError> {
        let Attempt { user, password, stored, address } = *attempt;
        if password.len() > PASSWORD_BYTES_MAX {
            return Ok(Verified { right: false, _turn: None });
        }
        let mut quick = [0; 32];
        let hashed = self.quick.hash_password_into(password.as_bytes(), &self.salt, &mut quick);
        hashed.map_err(|e| storage("cannot hash a password", e))?;
        let is_known = || {
            let is_it = |known: &Known| Some(&*known.hash) == stored && known.quick == quick;
            self.known.lock().get(user).is_some_and(is_it)
        };
        if is_known() {
            return Ok(Verified { right: true, _turn: None });
        }
        let name_turn = Some(self.name_turn(attempts::key(user))?);
        let verified = |right| Ok(Verified { right, _turn: name_turn });
        if is_known() {
            return verified(true);
        }
        admit()?;
        let Some(stored) = stored else {
            thread::sleep(self.time());
            return verified(false);
        };
        let begun = Instant::now();
        let turn = self.turn(address)?;
        let compared = self.slow.verify_password(password.as_bytes(), stored);
        drop(turn);
        self.note(begun.elapsed());
        if compared.is_err() {
            return verified(false);
        }
        let known = Known { hash: stored.to_owned(), quick };
        self.known.lock().insert(user.to_owned(), known);
        verified(true)
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

    let attempt = |user: &str, password: &str, stored: Option<&str>| {
        let attempt = Attempt { user, password, stored, address: None };
        passwords.verify(&attempt, || Ok(())).map(|verified| verified.right)
    };
    let verify = |password: &str, stored: Option<&str>| attempt("ann", password, stored);
    let refused = |user: &str, password: &str, stored: Option<&str>| {
        let attempt = Attempt { user, password, stored, address: None };
        let verified = passwords.verify(&attempt, || Err(invalid("it is not your turn")));
        verified.map(|verified| verified.right)
    };
    assert_eq!(verify("wrong", Some(&old)), Ok(false));
    assert_eq!(verify("old password", Some(&old)), Ok(true));
    // What is remembered needs no turn; anything else does.
    assert_eq!(refused("ann", "old password", Some(&old)), Ok(true));
    assert!(refused("ann", "wrong", Some(&old)).is_err());
    assert!(refused("ann", "old password", Some(&new)).is_err());
    assert_eq!(verify("old password", Some(&new)), Ok(false));
    assert!(refused("ann", "old password", None).is_err(), "the user is gone, or suspended");
    assert_eq!(verify("old password", None), Ok(false));
    assert_eq!(attempt("bob", "old password", None), Ok(false));
    assert_eq!(verify(&"x".repeat(1 << 20), Some(&old)), Ok(false));
    assert!(passwords.names.lock().is_empty() && passwords.line.lock().waiting.is_empty());
}

#[test]
fn addresses_take_turns() {
    let address = |last| Some(IpAddr::from([127, 0, 0, last]));
    let waiting = BTreeMap::from([(0, address(1)), (1, address(1)), (2, address(2))]);
    let mut line = Line { free: 1, next: 3, waiting, served: HashMap::new() };
    assert!(line.is_turn(0) && !line.is_turn(2));
    line.served.insert(address(1), 1);
    assert!(line.is_turn(2) && !line.is_turn(0));
    line.free = 0;
    assert!(!line.is_turn(2));
}
