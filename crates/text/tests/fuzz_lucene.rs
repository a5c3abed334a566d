//! The entry point of the fuzz target `lucene`, on random and on nearly valid queries.

#[path = "../../../fuzz/entry/lucene.rs"]
mod entry;
#[path = "../../../fuzz/entry/random.rs"]
mod random;

#[test]
fn lucene_takes_any_bytes() {
    let texts = [
        "title:(a AND b^2) OR \"c d\"~3 -e +f* g?h",
        "[a TO b} x:{* TO \"y z\"] /re[g]ex\\//^0.5 ~",
        "fuzzy~1 NOT (\\A\\N\\D \\u0041 && || !) *:* 日本語 ｶﾞ",
    ];
    let valid: Vec<Vec<u8>> = texts.map(|text| text.as_bytes().to_vec()).to_vec();
    random::run(1, 4000, 60, &valid, entry::lucene);
}
