//! The same on a real file system: an ext4 image on a loop device, copied while a program writes.
//!
//! Such a copy is what a power failure leaves of a disk that writes in any order: pages of the
//! image are read one after the other while the kernel writes others. Only in the long mode, and
//! where this process may attach loop devices and mount.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use telar_tests::process::Process;
use telar_tests::{PrintSeed, Rng, unit};

use super::opened;

const IMAGE_BYTES: u64 = 64 << 20;

fn succeeds(program: &str, arguments: &[&Path]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// A mounted image; taken away again when it is dropped.
struct Mounted(PathBuf);

impl Mounted {
    fn new(image: &Path, at: &Path) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let options = Path::new("loop");
        let mounted = succeeds("mount", &[Path::new("-o"), options, image, at]);
        mounted.then(|| Self(at.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        succeeds("umount", &[&self.0]);
    }
}

#[test]
fn what_was_acknowledged_is_on_a_copy_of_a_real_disk() {
    if !telar_tests::long() {
        return;
    }
    let seed = telar_tests::seed();
    let _print = PrintSeed(seed);
    let mut rng = Rng::new(seed);
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    for round in 0..12 {
        let image = at("image");
        fs::File::create(&image).unwrap().set_len(IMAGE_BYTES).unwrap();
        let made = succeeds("mkfs.ext4", &[Path::new("-q"), &image]);
        let Some(mounted) = made.then(|| Mounted::new(&image, &at("disk"))).flatten() else {
            telar_tests::skipped("right to mount a file system, or mkfs.ext4");
            return;
        };
        let mut command = Command::new(env!("CARGO_BIN_EXE_telar-child"));
        command.arg("run").arg(at("disk/graph")).args(["1", "full", "0", "100000"]);
        let mut child = Process::start(command.stdout(Stdio::piped())).unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut acknowledged = 0;
        let wanted = 1 + rng.below(60) as i64;
        while acknowledged < wanted {
            let line = lines.next().unwrap().unwrap();
            acknowledged = line.strip_prefix("ack 0 ").map_or(0, |n| n.parse().unwrap());
        }
        std::thread::sleep(Duration::from_millis(rng.below(700)));
        // What the loop device has not written yet is lost; the image is what the disk has.
        fs::copy(&image, at("copy")).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        drop(mounted);
        let after =
            Mounted::new(&at("copy"), &at("after")).expect("a journal that can be replayed");
        let found = opened(&at("after/graph"), |db| unit::verify(db, 1)).unwrap();
        assert!(found[0] >= acknowledged, "round {round}: {found:?}, {acknowledged} acknowledged");
        println!("round {round}: {acknowledged} acknowledged, {} there", found[0]);
        drop(after);
    }
}
