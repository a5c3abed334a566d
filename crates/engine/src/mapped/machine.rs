//! How much memory there is.

use std::fs;
use std::path::Path;

/// Memory of the machine or of the control group this process is in, whichever is less, in bytes;
/// `u64::MAX` where it cannot be told.
#[must_use]
pub fn memory_bytes() -> u64 {
    let read = |path: &Path| fs::read_to_string(path).ok();
    let machine = read(Path::new("/proc/meminfo")).and_then(|text| total(&text));
    let groups = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let mut least = machine.unwrap_or(u64::MAX);
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (root, file) = match parts.next() {
            Some("") => ("/sys/fs/cgroup", "memory.max"),
            Some("memory") => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            _ => continue,
        };
        let group = parts.next().unwrap_or("/").trim_start_matches('/');
        // A limit of a group holds for those below it, too.
        for group in Path::new(group).ancestors() {
            let limit = read(&Path::new(root).join(group).join(file));
            least = limit.and_then(|text| text.trim().parse().ok()).unwrap_or(u64::MAX).min(least);
        }
    }
    least
}

/// The line `MemTotal:  N kB`.
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn total_is_read_from_its_line() {
        assert_eq!(total("MemTotal:       16384 kB\nMemFree: 1 kB\n"), Some(16 << 20));
        assert_eq!(total("MemFree: 1 kB\n"), None);
        assert_eq!(total("MemTotal: many kB\n"), None);
    }

    #[test]
    fn some_memory_is_found() {
        assert!(memory_bytes() >= 1 << 20);
    }
}
