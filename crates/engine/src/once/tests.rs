//! The table of ids: claims, windows, limits, bytes.

use std::thread;

use super::*;

const LONG: Duration = Duration::from_secs(600);

fn own(ids: &Arc<OnceIds>, id: &str) -> Held {
    match ids.claim(&id.into(), &Stop::never()).unwrap() {
        Claim::Own(held) => held,
        Claim::Earlier(ts) => panic!("{id} was committed at {ts}"),
    }
}

#[test]
fn a_claim_that_fails_leaves_the_id_free() {
    let ids = OnceIds::new(LONG);
    drop(own(&ids, "a"));
    let held = own(&ids, "a");
    assert_eq!(ids.find("a"), None, "a claim is no commit");
    ids.note(&"a".into(), 7);
    drop(held);
    assert_eq!(ids.find("a"), Some(7));
    assert!(matches!(ids.claim(&"a".into(), &Stop::never()), Ok(Claim::Earlier(7))));
}

#[test]
fn the_second_waits_for_what_becomes_of_the_first() {
    for fails in [true, false] {
        let ids = OnceIds::new(LONG);
        let held = own(&ids, "a");
        thread::scope(|scope| {
            let second = scope.spawn(|| match ids.claim(&"a".into(), &Stop::never()).unwrap() {
                Claim::Own(_) => None,
                Claim::Earlier(ts) => Some(ts),
            });
            thread::yield_now();
            if !fails {
                ids.note(&"a".into(), 9);
            }
            drop(held);
            assert_eq!(second.join().unwrap(), (!fails).then_some(9));
        });
    }
}

#[test]
fn waiting_ends_when_it_is_told_to() {
    let ids = OnceIds::new(LONG);
    let _held = own(&ids, "a");
    let asked = || true;
    let waited = ids.claim(&"a".into(), &Stop::when(&asked));
    assert!(matches!(waited, Err(Error::Interrupted)));
}

#[test]
fn ids_are_forgotten_after_the_window_and_when_there_are_too_many() {
    let ids = OnceIds::new(Duration::ZERO);
    ids.note(&"a".into(), 1);
    thread::sleep(Duration::from_millis(2));
    ids.note(&"b".into(), 2);
    assert_eq!((ids.find("a"), ids.len() <= 1), (None, true));

    let ids = OnceIds::new(LONG);
    for ts in 1..=IDS_MAX as u64 + 3 {
        ids.note(&ts.to_string().into(), ts);
    }
    assert_eq!((ids.find("3"), ids.find("4"), ids.len()), (None, Some(4), IDS_MAX));
}

#[test]
fn an_id_that_was_used_again_is_kept_by_its_last_use() {
    let ids = OnceIds::new(LONG);
    ids.note(&"a".into(), 1);
    ids.note(&"a".into(), 1);
    assert_eq!(ids.len(), 1, "the same record, applied again");
    ids.note(&"a".into(), IDS_MAX as u64 + 9);
    (0..IDS_MAX as u64 - 1).for_each(|n| ids.note(&format!("b{n}").into(), n + 2));
    assert_eq!(ids.find("a"), Some(IDS_MAX as u64 + 9));
}

/// Since November 2026.
#[test]
fn stored_ids_have_these_bytes() {
    let ids = OnceIds::new(LONG);
    let mut value = Vec::new();
    ids.encode(u64::MAX, &mut value);
    assert!(value.is_empty(), "no value without ids");
    ids.note(&"xy".into(), 300);
    ids.note(&"é".into(), 5);
    ids.note(&"later".into(), 301);
    ids.encode(300, &mut value);
    assert_eq!(value, [2, 5, 2, 0xC3, 0xA9, 0xAC, 2, 2, b'x', b'y']);
    assert_eq!(decode(&value).unwrap(), [("é".into(), 5), ("xy".into(), 300)]);
    for end in 0..value.len() {
        assert!(decode(&value[..end]).is_err(), "cut at {end}");
    }
    for wrong in [&[0][..], &[1, 0, 1, b'x'], &[1, 5, 0], &[1, 5, 1, b'x', 0]] {
        assert!(decode(wrong).is_err(), "{wrong:?}");
    }
    assert!(decode(&[2, 5, 1, b'x', 5, 1, b'y']).is_err(), "timestamps ascend");
}
