//! Streams of files: whole, damaged, cut off, hostile.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use proptest::prelude::*;

use super::*;

const FILES: [(&str, &[u8]); 4] =
    [("MANIFEST", b"text"), ("image", &[7; 200]), ("wal/wal-1.log", b""), ("wal/wal-2.log", b"x")];

fn packed(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut packer = Packer::begin(Vec::new()).unwrap();
    for (name, content) in files {
        packer.file(name, content.len() as u64, *content).unwrap();
    }
    packer.end().unwrap()
}

/// A file frame as somebody else might send it.
fn raw(name: &[u8], bytes: u64, content: &[u8]) -> Vec<u8> {
    let mut stream = packed(&[])[..16].to_vec();
    let mut frame = vec![FILE];
    frame.extend_from_slice(&(name.len() as u16).to_le_bytes());
    frame.extend_from_slice(&bytes.to_le_bytes());
    frame.extend_from_slice(name);
    frame.extend_from_slice(content);
    let crc = crc32fast::hash(&frame);
    frame.extend_from_slice(&crc.to_le_bytes());
    stream.extend_from_slice(&frame);
    let mut end = vec![END, 1, 0, 0, 0];
    let crc = crc32fast::hash(&end);
    end.extend_from_slice(&crc.to_le_bytes());
    stream.extend_from_slice(&end);
    stream
}

/// Unpacks below `outer/in`; nothing may land in `outer` itself.
fn unpacked(stream: &[u8]) -> Result<(Unpacked, tempfile::TempDir), FrameError> {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("in");
    fs::create_dir(&folder).unwrap();
    let done = unpack(stream, &folder);
    assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 1);
    done.map(|done| (done, outer))
}

#[test]
fn files_come_out_as_they_went_in() {
    let (done, outer) = unpacked(&packed(&FILES)).unwrap();
    assert_eq!(done, Unpacked { files: 4, bytes: 205 });
    for (name, content) in FILES {
        assert_eq!(fs::read(outer.path().join("in").join(name)).unwrap(), content, "{name}");
    }
    assert_eq!(unpacked(&packed(&[])).unwrap().0, Unpacked::default());
}

#[test]
fn every_changed_bit_and_every_cut_is_noticed() {
    let stream = packed(&FILES);
    for at in 0..stream.len() {
        assert!(unpacked(&stream[..at]).is_err(), "cut at {at}");
    }
    // The bytes after the version are for later versions.
    for at in (0..stream.len()).filter(|at| !(12..16).contains(at)) {
        for bit in [0, 3, 7] {
            let mut changed = stream.clone();
            changed[at] ^= 1 << bit;
            assert!(unpacked(&changed).is_err(), "bit {bit} of byte {at}");
        }
    }
    assert!(unpacked(&[&stream[..], b"x"].concat()).is_err());
}

#[test]
fn no_name_leads_out_of_the_folder() {
    assert!(unpacked(&raw(b"wal/a.log", 1, b"x")).is_ok());
    let long = [b'a'; 256];
    let hostile: [&[u8]; 15] = [
        b"",
        b".",
        b"..",
        b"../x",
        b"wal/../x",
        b"/etc/x",
        b"a/b/c",
        b"a//b",
        b"a/",
        b"/",
        b".ssh",
        b"a\0b",
        b"a\\b",
        b"\xff\xfe",
        &long,
    ];
    for name in hostile {
        let failed = unpacked(&raw(name, 1, b"x")).unwrap_err();
        assert!(matches!(failed, FrameError::Broken(_)), "{name:?}: {failed}");
    }
    let mut packer = Packer::begin(Vec::new()).unwrap();
    assert!(packer.file("../x", 1, &b"x"[..]).is_err());
}

#[test]
fn sizes_are_not_believed() {
    // Neither memory nor disk is taken for what does not come.
    for bytes in [2, 1 << 40, u64::MAX] {
        let failed = unpacked(&raw(b"image", bytes, b"x")).unwrap_err();
        assert!(matches!(failed, FrameError::Read(_) | FrameError::Broken(_)), "{failed}");
    }
    let mut packer = Packer::begin(Vec::new()).unwrap();
    assert!(packer.file("image", 5, &b"four"[..]).is_err());
}

#[test]
fn a_name_comes_once() {
    let failed = unpacked(&packed(&[("image", b"1"), ("image", b"2")])).unwrap_err();
    assert!(matches!(failed, FrameError::Write(_)), "{failed}");
    // A file is no folder.
    assert!(unpacked(&packed(&[("wal", b"1"), ("wal/a", b"2")])).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn whatever_comes_ends_with_an_answer(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        from in 0usize..120,
        valid in any::<bool>(),
    ) {
        let mut stream = packed(&FILES);
        if valid {
            // Nearly a stream.
            stream.splice(from.min(stream.len()).., bytes);
        } else {
            stream = bytes;
        }
        let _ = unpacked(&stream);
    }

    #[test]
    fn any_files_come_out_as_they_went_in(
        contents in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..500), 0..6),
    ) {
        let names: Vec<String> = (0..contents.len()).map(|at| format!("wal/f{at}")).collect();
        let files = names.iter().map(String::as_str).zip(contents.iter().map(Vec::as_slice));
        let (done, outer) = unpacked(&packed(&files.clone().collect::<Vec<_>>())).unwrap();
        prop_assert_eq!(done.files as usize, contents.len());
        for (name, content) in files {
            prop_assert_eq!(fs::read(outer.path().join("in").join(name)).unwrap(), content);
        }
    }
}
