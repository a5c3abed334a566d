//! A control group with a memory limit, for this process, for a while.

use std::fs;
use std::path::{Path, PathBuf};

/// This process in a group of its own; it goes back when dropped.
#[derive(Debug)]
pub(super) struct Group {
    folder: PathBuf,
    home: PathBuf,
}

fn join(folder: &Path) -> std::io::Result<()> {
    fs::write(folder.join("cgroup.procs"), std::process::id().to_string())
}

impl Group {
    /// Moves this process into a new group that may hold `bytes`, page cache included; `None` where
    /// the system does not let it. What was touched before stays with the old group.
    pub(super) fn enter(bytes: u64) -> Option<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let root = Path::new("/sys/fs/cgroup");
        let of = |line: &str| line.rsplit(':').next().map(|p| p.trim_start_matches('/').to_owned());
        let line = |kind: &str| groups.lines().find(|l| l.contains(kind)).and_then(of);
        let (base, own, file) = match line(":memory:") {
            Some(own) => (root.join("memory"), own, "memory.limit_in_bytes"),
            None => (root.to_owned(), line("0::")?, "memory.max"),
        };
        let name = format!("telar-bench-{}", std::process::id());
        // Below our own group, or where that is not in sight, below the first.
        for parent in [base.join(&own), base.clone()] {
            let folder = parent.join(&name);
            if fs::create_dir(&folder).is_err() {
                continue;
            }
            let limited = fs::write(folder.join(file), bytes.to_string()).is_ok();
            if limited && join(&folder).is_ok() {
                let home = Some(base.join(&own)).filter(|home| home.is_dir()).unwrap_or(base);
                return Some(Self { folder, home });
            }
            // Left empty, it costs nothing.
            let _ = fs::remove_dir(&folder);
        }
        None
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Where this fails the process stays limited, which the figures that follow would show.
        let _ = join(&self.home).and_then(|()| fs::remove_dir(&self.folder));
    }
}
