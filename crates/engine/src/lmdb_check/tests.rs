//! Real environments pass; damaged ones are refused or harmless to LMDB.

#![expect(unsafe_code, reason = "opening an LMDB environment maps a file")]

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::process::Command;

use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvOpenOptions};
use tempfile::TempDir;

use super::format::*;
use super::*;

const PAGE: u64 = 4096;
const CHILD: &str = "TELAR_LMDB_CHECK_CHILD";

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ z >> 31) % n
    }
}

fn open(dir: &Path) -> heed::Result<(Env, Database<'static, Bytes, Bytes>)> {
    let mut options = EnvOpenOptions::new();
    options.map_size(256 << 20);
    // SAFETY: nobody else has the file open, and it has been checked.
    let env = unsafe { options.open(dir) }?;
    let txn = env.write_txn()?;
    let database = env
        .create_databases_and_commit(txn, |dbo, txn| {
            dbo.create_database(txn, None).map(CommitOrAbort::<_, ()>::Commit)
        })?
        .unwrap_commit();
    Ok((env, database))
}

fn key(n: u64) -> [u8; 9] {
    let mut key = [(n % 3) as u8; 9];
    let shuffled = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    key[1..].copy_from_slice(&shuffled.to_le_bytes());
    key
}

fn check_dir(dir: &Path) -> Result<(), String> {
    check(&dir.join("data.mdb"))
}

/// Random puts and deletes; `each` sees the directory after every commit.
fn churn(dir: &Path, seed: u64, rounds: u64, keys: u64, mut each: impl FnMut(&Path)) {
    let mut random = Random(seed);
    let (env, database) = open(dir).unwrap();
    each(dir);
    for round in 0..rounds {
        let mut txn = env.write_txn().unwrap();
        let reader = (round % 3 == 1).then(|| env.clone().static_read_txn().unwrap());
        for _ in 0..random.below(keys) {
            let key = key(random.below(keys));
            let size = match random.below(100) {
                0 => 5_000 + random.below(195_000),
                1..5 => 1_500 + random.below(4_000),
                _ => 4 + random.below(200),
            };
            if round % 4 == 3 || random.below(4) == 0 {
                database.delete(&mut txn, &key).unwrap();
            } else {
                database.put(&mut txn, &key, &vec![round as u8; size as usize]).unwrap();
            }
        }
        if round % 7 == 5 {
            txn.abort();
        } else {
            txn.commit().unwrap();
        }
        each(dir);
        drop(reader);
    }
    let mut txn = env.write_txn().unwrap();
    database.put(&mut txn, &key(1), b"last").unwrap();
    txn.commit().unwrap();
    each(dir);
    env.prepare_for_closing().wait();
}

/// Every page that a flip could matter on, by the kind its header claims.
fn pages_of_kind(bytes: &[u8], kind: u64) -> Vec<u64> {
    let page = |n: &u64| &bytes[(n * PAGE) as usize..];
    (2..bytes.len() as u64 / PAGE)
        .filter(|n| number::<8>(page(n), 0) == *n && number::<2>(page(n), PAGE_FLAGS) == kind)
        .collect()
}

/// In the child: reads everything from a damaged store, then writes a lot to it.
fn use_store(dir: &Path) -> heed::Result<()> {
    let (env, database) = open(dir)?;
    let mut keys = Vec::new();
    let (mut sum, mut count) = (0u64, 0);
    {
        let txn = env.read_txn()?;
        for entry in database.iter(&txn)? {
            let (key, value) = entry?;
            assert_eq!(database.get(&txn, key)?, Some(value), "found by its key");
            sum = value.iter().fold(sum, |s, &b| s.wrapping_add(u64::from(b)));
            keys.push(key.to_vec());
            count += 1;
        }
        assert_eq!(count, database.len(&txn)?, "as many entries as the meta says");
    }
    std::hint::black_box(sum);
    for round in 0..3 {
        let mut txn = env.write_txn()?;
        for (i, key) in keys.iter().enumerate() {
            match (i + round) % 3 {
                0 => drop(database.delete(&mut txn, key)?),
                1 => database.put(&mut txn, key, &vec![1; i * 37 % 9_000])?,
                _ => {}
            }
        }
        txn.commit()?;
    }
    env.prepare_for_closing().wait();
    check_dir(dir).expect("sound after writing");
    Ok(())
}

/// A no-op unless started by [`survive`]: works through the damages that `check` let pass.
#[test]
fn child() {
    let Some(dir) = std::env::var_os(CHILD) else { return };
    let dir = Path::new(&dir);
    let sound = fs::read(dir.join("sound")).unwrap();
    let work = dir.join("work");
    for line in fs::read_to_string(dir.join("damages")).unwrap().lines() {
        fs::write(dir.join("now"), line).unwrap();
        let (at, bit) = line.split_once(' ').unwrap();
        let (at, bit): (usize, u32) = (at.parse().unwrap(), bit.parse().unwrap());
        let mut bytes = sound.clone();
        if bit < 8 {
            bytes[at] ^= 1 << bit;
        } else {
            bytes.truncate(at);
        }
        fs::create_dir_all(&work).unwrap();
        fs::write(work.join("data.mdb"), bytes).unwrap();
        if let Err(e) = use_store(&work) {
            panic!("damage {line}: {e}");
        }
        fs::remove_dir_all(&work).unwrap();
    }
}

/// Has LMDB work with every damage that was not refused, in a process that may die.
fn survive(sound: &[u8], accepted: &[(usize, u32)]) {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("sound"), sound).unwrap();
    let mut list = fs::File::create(dir.path().join("damages")).unwrap();
    for (at, bit) in accepted {
        writeln!(list, "{at} {bit}").unwrap();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "--nocapture",
            concat!(module_path!(), "::child").split_once("::").unwrap().1,
        ])
        .env(CHILD, dir.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("1 passed") || !output.status.success(), "the child ran: {text}");
    let now = fs::read_to_string(dir.path().join("now")).unwrap_or_default();
    assert!(output.status.success(), "damage {now}: {} {text}", output.status);
}

fn sound_store(seed: u64, keys: u64) -> (TempDir, Vec<u8>) {
    let dir = TempDir::new().unwrap();
    churn(dir.path(), seed, 12, keys, |_| {});
    check_dir(dir.path()).unwrap();
    let bytes = fs::read(dir.path().join("data.mdb")).unwrap();
    (dir, bytes)
}

/// Flips the bits one by one; returns those that `check` let pass.
fn flip(dir: &Path, sound: &[u8], bits: &[(usize, u32)]) -> Vec<(usize, u32)> {
    let file = OpenOptions::new().write(true).open(dir.join("data.mdb")).unwrap();
    let accepted = bits.iter().copied().filter(|&(at, bit)| {
        file.write_all_at(&[sound[at] ^ 1 << bit], at as u64).unwrap();
        let passed = check_dir(dir).is_ok();
        file.write_all_at(&[sound[at]], at as u64).unwrap();
        passed
    });
    accepted.collect()
}

#[test]
fn sound_stores_pass() {
    for (seed, keys) in [(1, 40), (2, 800), (3, 8_000), (4, 30_000)] {
        let dir = TempDir::new().unwrap();
        churn(dir.path(), seed, 24, keys, |dir| check_dir(dir).unwrap());
        let (env, database) = open(dir.path()).unwrap();
        let mut txn = env.write_txn().unwrap();
        database.clear(&mut txn).unwrap();
        txn.commit().unwrap();
        check_dir(dir.path()).unwrap();
    }
}

#[test]
fn flipped_meta_bits() {
    let (dir, sound) = sound_store(5, 3_000);
    let bits: Vec<_> = (0..2 * META_BYTES * 8)
        .map(|n| (n / 8 % META_BYTES + n / 8 / META_BYTES * PAGE as usize, n as u32 % 8))
        .collect();
    let accepted = flip(dir.path(), &sound, &bits);
    let newest = Meta::newest(&File::open(dir.path().join("data.mdb")).unwrap()).unwrap().page;
    for &(at, _) in &accepted {
        let (page, at) = (at as u64 / PAGE, at % PAGE as usize);
        let unused = matches!(at, 8..10 | 12..16 | 24..40 | 48..72 | 96..120);
        assert!(unused || page != newest, "byte {at} of the newest meta");
    }
    survive(&sound, &accepted);
}

#[test]
fn flipped_page_bits() {
    let (dir, sound) = sound_store(6, 3_000);
    let mut random = Random(7);
    let mut bits = Vec::new();
    for (kind, per_page) in [(P_BRANCH, 1500), (P_LEAF, 60), (P_OVERFLOW, 20)] {
        // Only pages that are in use: those whose own number is looked at.
        let mut pages = pages_of_kind(&sound, kind);
        pages.retain(|page| flip(dir.path(), &sound, &[((page * PAGE) as usize, 0)]).is_empty());
        assert!(!pages.is_empty());
        for page in pages {
            let (lower, upper) = {
                let page = &sound[(page * PAGE) as usize..];
                (size_at(page, PAGE_LOWER) as u64, size_at(page, PAGE_UPPER) as u64)
            };
            for n in 0..per_page {
                let at = match n % 3 {
                    _ if kind == P_OVERFLOW => random.below(16),
                    0 => random.below(16),
                    1 => random.below(lower),
                    _ => upper + random.below(PAGE - upper),
                };
                bits.push(((page * PAGE + at) as usize, random.below(8) as u32));
            }
        }
    }
    let accepted = flip(dir.path(), &sound, &bits);
    println!("{} of {} flips accepted", accepted.len(), bits.len());
    let step =
        accepted.len() / if std::env::var_os("FULL").is_some() { 1_000_000 } else { 400 } + 1;
    survive(&sound, &accepted.into_iter().step_by(step).collect::<Vec<_>>());
}

#[test]
fn cut_files() {
    let (dir, sound) = sound_store(8, 3_000);
    let mut random = Random(9);
    let mut lengths: Vec<_> = (0..sound.len()).step_by(PAGE as usize).chain(0..300).collect();
    lengths.extend((0..300).map(|_| random.below(sound.len() as u64) as usize));
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    let file = OpenOptions::new().write(true).open(dir.path().join("data.mdb")).unwrap();
    let cut = |&length: &usize| {
        file.set_len(length as u64).unwrap();
        check_dir(dir.path()).is_ok()
    };
    let accepted: Vec<_> = lengths.into_iter().filter(cut).map(|length| (length, 8)).collect();
    println!("{} cuts accepted", accepted.len());
    survive(&sound, &accepted);
}

#[test]
fn arbitrary_bytes_are_refused() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("data.mdb");
    assert!(check(&path).is_err());
    assert!(check(dir.path()).is_err());
    let mut random = Random(10);
    for length in [0, 1, 152, 4096, 8192, 100_000] {
        fs::write(&path, vec![0; length]).unwrap();
        assert!(check(&path).is_err());
        let bytes: Vec<_> = (0..length).map(|_| random.below(256) as u8).collect();
        fs::write(&path, bytes).unwrap();
        assert!(check(&path).is_err());
    }
}
