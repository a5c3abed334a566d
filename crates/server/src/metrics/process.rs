//! Figures of this process and of the disks it uses, as the system has them.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

/// What is asked of the system when somebody reads. What it does not say stays 0.
#[derive(Debug, Default)]
pub(super) struct Process {
    cpu: Counter<f64, AtomicU64>,
    resident: Gauge,
    threads: Gauge,
    files: Gauge,
    files_max: Gauge,
    faults: Counter,
    read: Counter,
    written: Counter,
}

impl Process {
    pub(super) fn register(&self, r: &mut Registry) {
        let help = "Processor time that was used";
        r.register_with_unit("process_cpu", help, Unit::Seconds, self.cpu.clone());
        let help = "Memory of the process";
        r.register_with_unit("process_resident", help, Unit::Bytes, self.resident.clone());
        r.register("process_threads", "Threads of the process", self.threads.clone());
        let help = "Files and connections that are open";
        r.register("process_open_files", help, self.files.clone());
        let help = "Files and connections that may be open at most";
        r.register("process_open_files_max", help, self.files_max.clone());
        let help = "Pages that had to be read from disk as they were not in memory";
        r.register("process_major_page_faults", help, self.faults.clone());
        let help = "What was read from disks";
        r.register_with_unit("process_disk_read", help, Unit::Bytes, self.read.clone());
        let help = "What was written to disks";
        r.register_with_unit("process_disk_written", help, Unit::Bytes, self.written.clone());
    }

    pub(super) fn look(&self) {
        let used = clock_gettime(ClockId::ProcessCPUTime);
        let seconds = used.tv_sec as f64 + used.tv_nsec as f64 / 1e9;
        self.cpu.inner().store(seconds.to_bits(), Ordering::Relaxed);
        if let Some(stat) = fs::read_to_string("/proc/self/stat").ok().as_deref().and_then(stat) {
            self.faults.inner().store(stat.major_faults, Ordering::Relaxed);
            self.threads.set(stat.threads);
            self.resident.set(stat.resident_pages.saturating_mul(page_bytes()));
        }
        if let Ok(open) = fs::read_dir("/proc/self/fd") {
            // One of them is the folder that is read.
            self.files.set(super::signed(open.count().saturating_sub(1)));
        }
        if let Some(most) = getrlimit(Resource::Nofile).current {
            self.files_max.set(i64::try_from(most).unwrap_or(i64::MAX));
        }
        // Not everybody may read it.
        let io = fs::read_to_string("/proc/self/io").unwrap_or_default();
        let of = |name: &str| {
            let line = io.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().parse::<u64>().ok()
        };
        for (counter, name) in [(&self.read, "read_bytes:"), (&self.written, "write_bytes:")] {
            if let Some(bytes) = of(name) {
                counter.inner().store(bytes, Ordering::Relaxed);
            }
        }
    }
}

fn page_bytes() -> i64 {
    i64::try_from(rustix::param::page_size()).unwrap_or(4096)
}

/// What proc(5) says of a process.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    major_faults: u64,
    threads: i64,
    resident_pages: i64,
}

/// The name of the process stands in brackets and may hold anything, brackets too.
fn stat(text: &str) -> Option<Stat> {
    let behind = &text[text.rfind(')')? + 1..];
    // The state, which follows the name, is field 3.
    let field = |number: usize| behind.split_ascii_whitespace().nth(number - 3);
    Some(Stat {
        major_faults: field(12)?.parse().ok()?,
        threads: field(20)?.parse().ok()?,
        resident_pages: field(24)?.parse().ok()?,
    })
}

/// Bytes of a file system: all, and those that this process may still use.
pub(super) fn disk(folder: &Path) -> Option<(u64, u64)> {
    let found = rustix::fs::statvfs(folder).ok()?;
    let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
    Some((bytes(found.f_blocks), bytes(found.f_bavail)))
}

#[test]
fn processes_are_described_whatever_they_are_called() {
    let rest = "S 1 2 3 4 5 6 7 8 77 10 11 12 13 14 15 16 9 18 19 20 4711 22";
    let wanted = Stat { major_faults: 77, threads: 9, resident_pages: 4711 };
    for name in ["telar", "a b", ") S 1 (", "()"] {
        assert_eq!(stat(&format!("42 ({name}) {rest}")).as_ref(), Some(&wanted), "{name}");
    }
    assert_eq!(stat("42 (telar) S 1"), None);
    assert_eq!(stat(""), None);
}

#[test]
fn the_system_says_what_this_process_uses() {
    let process = Process::default();
    process.look();
    assert!(process.cpu.get() > 0.0 && process.resident.get() > 0);
    assert!(process.threads.get() > 0 && process.files.get() > 0);
    assert!(process.files.get() <= process.files_max.get());
    let folder = tempfile::tempdir().unwrap();
    let (all, free) = disk(folder.path()).unwrap();
    assert!(all > 0 && free <= all);
    assert_eq!(disk(&folder.path().join("nowhere")), None);
}
