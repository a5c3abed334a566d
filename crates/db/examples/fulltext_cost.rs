//! The cost of a full-text index: `cargo run --release -p telar-db --example fulltext_cost 200000`.
//!
//! Documents are of 20 words, drawn by Zipf's law from 50,000. Prints the time to build the index,
//! its memory for each byte of text, the time of a commit of one document with the index and
//! without it, and of searches.

use std::io::Write;
use std::time::Instant;

use telar_db::{Database, Session, Settings, Value};

type Failure = Box<dyn std::error::Error>;

/// A generator of words, rare ones longer.
struct Words(u64);

impl Words {
    fn next(&mut self) -> String {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let uniform = (self.0 >> 11) as f64 / (1_u64 << 53) as f64;
        word(50_000_f64.powf(uniform) as u64)
    }

    fn text(&mut self) -> String {
        let words: Vec<String> = (0..20).map(|_| self.next()).collect();
        words.join(" ")
    }
}

/// The word of a rank.
fn word(rank: u64) -> String {
    const SYLLABLES: [&str; 16] = [
        "ka", "lo", "mi", "ne", "ru", "sa", "ti", "vo", "be", "da", "fu", "go", "hy", "ja", "pe",
        "zu",
    ];
    let mut text = String::new();
    let mut left = rank;
    while left > 0 || text.is_empty() {
        text.push_str(SYLLABLES[(left % 16) as usize]);
        left /= 16;
    }
    text
}

fn main() -> Result<(), Failure> {
    let count: i64 = std::env::args().nth(1).map_or(Ok(100_000), |count| count.parse())?;
    let db = Database::in_memory(Settings::default())?;
    let session = Session::new(&db);
    let mut out = std::io::stdout();
    let mut words = Words(7);
    let mut text_bytes = 0;
    for first in (0..count).step_by(10_000) {
        let texts: Vec<String> = (first..count.min(first + 10_000)).map(|_| words.text()).collect();
        text_bytes += texts.iter().map(String::len).sum::<usize>();
        let texts = Value::list(texts.iter().map(String::as_str));
        session.run("UNWIND $texts AS t CREATE (:D {t: t, u: t})", &[("texts", texts)])?;
    }
    let commits = |words: &mut Words, label: &str| -> Result<f64, Failure> {
        let begin = Instant::now();
        for _ in 0..1000 {
            let text = words.text();
            let create = format!("CREATE (:{label} {{t: $t}})");
            session.run(&create, &[("t", text.as_str().into())])?;
        }
        Ok(begin.elapsed().as_secs_f64())
    };
    commits(&mut words, "E")?;
    let without = commits(&mut words, "E")?;
    let begin = Instant::now();
    session.run("CREATE FULLTEXT INDEX i FOR (n:D) ON EACH [n.t]", &[])?;
    writeln!(out, "build: {:.2} s for {count} documents", begin.elapsed().as_secs_f64())?;
    let info = db.indexes().into_iter().find(|info| info.name == "i").ok_or("no index")?;
    writeln!(
        out,
        "index: {} postings, {:.1} bytes each, {:.1} x text",
        info.entries,
        info.bytes as f64 / info.entries as f64,
        info.bytes as f64 / text_bytes as f64
    )?;
    let with = commits(&mut words, "D")?;
    writeln!(out, "commit of a document: {:.3} ms, without index {:.3} ms", with, without)?;
    let (a, b, rare) = (word(1), word(40), word(30_000));
    let queries = [
        ("frequent and middling", format!("{a} {b}")),
        ("two middling", format!("{} {b}", word(30))),
        ("two middling, both", format!("{} AND {b}", word(30))),
        ("rare", rare.clone()),
        ("phrase", format!("\"{} {b}\"", word(30))),
        ("prefix", format!("{rare}*")),
        ("fuzzy", format!("{rare}~1")),
    ];
    for (what, query) in queries {
        let text = "CALL db.index.fulltext.queryNodes('i', $q, {limit: 10}) YIELD score \
                    RETURN count(*)";
        let all = text.replace(", {limit: 10}", "");
        let hits = session.run(&all, &[("q", query.as_str().into())])?.rows[0][0].clone();
        let begin = Instant::now();
        for _ in 0..10 {
            session.run(text, &[("q", query.as_str().into())])?;
        }
        let ms = begin.elapsed().as_secs_f64() * 100.0;
        writeln!(out, "search, {what}: {ms:.2} ms, {hits:?} hits")?;
    }
    Ok(())
}
