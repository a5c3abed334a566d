//! One suite for all stores: what the traits promise, checked from outside.
//!
//! A store is a [`Fixture`]: how to open it, empty, several times. The functions of `log`,
//! `coordination`, `images` and `groups` check one promise each.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod coordination;
mod etcd_server;
mod groups;
mod histories;
mod images;
mod log;
mod postgres_server;
mod processes;
mod promotion;
#[path = "../../../../tests/src/rng.rs"]
#[allow(dead_code, unreachable_pub, reason = "of this file a part is used")]
mod rng;
#[path = "../../../../tests/src/test_data.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "of this file only the note about what is skipped is used"
)]
mod test_data;

use std::path::PathBuf;
use std::sync::Arc;

use telar_cluster::store::directory::Directory;
use telar_cluster::store::simulated::{Faults, Simulated};
use telar_cluster::store::{Name, SlotRange, Stores};
use tempfile::TempDir;

/// The longest body in these tests: small, so that parts are many.
const LIMIT: usize = 4096;

/// An empty store.
trait Fixture: Sync {
    /// Opens it; each call gives a handle as another process would have it.
    fn open(&self) -> Stores;

    /// Loses a slot, as a store may not.
    fn lose(&self, stream: &Name, first: u64);

    /// True if calls may have unknown outcomes, and reads may fail.
    fn is_faulty(&self) -> bool {
        false
    }
}

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("store")
    }
}

fn open_folder(path: &std::path::Path) -> Stores {
    let store = Arc::new(Directory::open(path).unwrap().with_body_bytes_max(LIMIT));
    Stores { log: store.clone(), coordination: store.clone(), images: Some(store) }
}

impl Fixture for Folder {
    fn open(&self) -> Stores {
        open_folder(&self.path())
    }

    fn lose(&self, stream: &Name, first: u64) {
        let slots = self.path().join("log").join(stream.as_str()).join("slots");
        std::fs::remove_file(slots.join(format!("{first:020}"))).unwrap();
    }
}

struct Memory(Simulated, bool);

impl Memory {
    fn new() -> Self {
        Self(Simulated::new(1, Faults::default()).with_body_bytes_max(LIMIT), false)
    }

    fn faulty(seed: u64) -> Self {
        let faults = Faults { lost_request: 7, lost_answer: 7, late: 7, failed_read: 11, stale: 3 };
        Self(Simulated::new(seed, faults).with_body_bytes_max(LIMIT), true)
    }
}

impl Fixture for Memory {
    fn open(&self) -> Stores {
        let store = Arc::new(self.0.clone());
        Stores { log: store.clone(), coordination: store.clone(), images: Some(store) }
    }

    fn lose(&self, stream: &Name, first: u64) {
        self.0.lose(stream, first);
    }

    fn is_faulty(&self) -> bool {
        self.1
    }
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn range(first: u64, next: u64) -> SlotRange {
    SlotRange::new(first, next).unwrap()
}

/// A test for each store that does what it is told at once, and for the simulated one with faults
/// if the check says so.
macro_rules! suite {
    (all { $($module:ident::$check:ident $(+ $faulty:ident)?;)* }
     images { $($images:ident;)* }) => {
        mod directory {
            $(#[test]
            fn $check() {
                crate::$module::$check(&crate::Folder::new());
            })*
            $(#[test]
            fn $images() {
                crate::images::$images(&crate::Folder::new());
            })*
        }
        mod simulated {
            $(#[test]
            fn $check() {
                crate::$module::$check(&crate::Memory::new());
            })*
            $(#[test]
            fn $images() {
                crate::images::$images(&crate::Memory::new());
            })*
        }
        mod etcd {
            $(#[test]
            fn $check() {
                if let Some(store) = crate::etcd_server::Server::new(false) {
                    crate::$module::$check(&store);
                }
            })*
        }
        mod postgres {
            $(#[test]
            fn $check() {
                if let Some(store) = crate::postgres_server::Server::new(false) {
                    crate::$module::$check(&store);
                }
            })*
            $(#[test]
            fn $images() {
                if let Some(store) = crate::postgres_server::Server::new(false) {
                    crate::images::$images(&store);
                }
            })*
        }
        mod faulty_postgres {
            $($(#[test]
            fn $check() {
                let _ = stringify!($faulty);
                if let Some(store) = crate::postgres_server::Server::new(true) {
                    crate::$module::$check(&store);
                }
            })?)*
        }
        mod faulty_etcd {
            $($(#[test]
            fn $check() {
                let _ = stringify!($faulty);
                if let Some(store) = crate::etcd_server::Server::new(true) {
                    crate::$module::$check(&store);
                }
            })?)*
        }
        mod faulty {
            $($(#[test]
            fn $check() {
                for seed in 0..20 {
                    crate::$module::$check(&crate::Memory::$faulty(seed));
                }
            })?)*
        }
    };
}

suite! {
    all {
    log::one_of_many_writers_wins_a_slot + faulty;
    log::slots_come_in_order_and_from_the_middle;
    log::a_long_log_is_read_piece_by_piece;
    log::stale_reads_show_a_beginning_of_the_log + faulty;
    log::bodies_of_all_sizes_come_back;
    log::trimmed_slots_cannot_be_won_again;
    log::a_slot_comes_after_the_one_before_it;
    log::what_a_store_has_lost_is_missed;
    log::trimming_keeps_whole_slots_and_never_goes_back;
    log::readers_before_the_mark_are_told_so_however_much_follows;
    log::trims_at_once_tell_the_mark;
    log::a_stream_knows_its_beginning_and_its_bytes;
    log::readers_of_a_log_that_is_trimmed_see_no_gap;
    log::followers_wake_up;
    log::streams_are_apart;
    groups::groups_of_all_sizes_come_back;
    groups::orphans_are_swept_and_others_are_not;
    groups::racing_appenders_make_one_log + faulty;
    groups::damage_is_noticed;
    groups::a_stream_begins_where_it_is_told;
    coordination::one_of_many_replaces_a_version;
    coordination::counters_count_every_win + faulty;
    coordination::versions_grow_and_values_of_all_sizes_come_back;
    coordination::lists_are_by_prefix_and_sorted;
    coordination::watchers_see_the_last_value + faulty;
    histories::slots_are_linearizable + faulty;
    histories::values_are_linearizable + faulty;
    }
    images {
    images_of_all_sizes_come_back;
    an_image_is_replaced_whole_and_read_to_its_end;
    a_failed_image_leaves_what_was_there;
    }
}
