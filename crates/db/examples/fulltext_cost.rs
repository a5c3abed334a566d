//! The cost of a full-text index: `cargo run --release -p telar-db --example fulltext_cost 200000`.
//!
//! Documents are of 20 words, drawn by Zipf's law from 50,000. Prints the time to build the index,
//! its memory for each byte of text, the time of a commit of one document with the index and
//! without it, and of searches: the first one for its words, and the same again.
//!
//! A folder after the number of documents is for `bench/compare/fulltext.py`: documents and
//! answers are written there.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
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

/// Searches of one kind each.
fn queries() -> Vec<(&'static str, String)> {
    let of = |ranks: &[u64]| ranks.iter().map(|rank| word(*rank)).collect::<Vec<_>>().join(" ");
    let rare = word(30_000);
    vec![
        ("frequent and frequent", of(&[1, 2])),
        ("frequent and middling", of(&[3, 40])),
        ("frequent and rare", of(&[4, 30_001])),
        ("middling and middling", of(&[30, 41])),
        ("middling and rare", of(&[50, 30_002])),
        ("rare and rare", of(&[30_003, 30_004])),
        ("both, middling", format!("{} AND {}", word(31), word(42))),
        ("both, frequent and rare", format!("{} AND {}", word(5), word(30_005))),
        ("rare", rare.clone()),
        ("phrase", format!("\"{} {}\"", word(30), word(41))),
        ("prefix", format!("{rare}*")),
        ("fuzzy", format!("{rare}~1")),
    ]
}

/// Fills the database with documents, and a file with their texts; returns the bytes of these.
fn fill(
    session: &Session,
    words: &mut Words,
    count: i64,
    mut file: Option<BufWriter<File>>,
) -> Result<usize, Failure> {
    let mut text_bytes = 0;
    for first in (0..count).step_by(10_000) {
        let texts: Vec<String> = (first..count.min(first + 10_000)).map(|_| words.text()).collect();
        text_bytes += texts.iter().map(String::len).sum::<usize>();
        if let Some(file) = &mut file {
            texts.iter().try_for_each(|text| writeln!(file, "{text}"))?;
        }
        let texts = Value::list(texts.iter().map(String::as_str));
        session.run(
            "UNWIND range(0, size($texts) - 1) AS i CREATE (:D {t: $texts[i], id: $first + i})",
            &[("texts", texts), ("first", first.into())],
        )?;
    }
    Ok(text_bytes)
}

/// Searches, with the times of the first and of later ones; the answers go to a file.
fn search(session: &Session, mut file: Option<BufWriter<File>>) -> Result<(), Failure> {
    const TIMES: u32 = 50;
    let mut out = std::io::stdout();
    let call = "CALL db.index.fulltext.queryNodes('i', $q, {limit: 10}) YIELD node, score";
    for (what, query) in queries() {
        let parameters = [("q", Value::from(query.as_str()))];
        let text = format!("{call} RETURN node.id, score");
        session.run(&text, &[("q", "nothing".into())])?;
        let mut times = Vec::new();
        let mut best = Vec::new();
        for _ in 0..TIMES {
            let begin = Instant::now();
            best = session.run(&text, &parameters)?.rows;
            times.push(begin.elapsed().as_secs_f64() * 1e3);
            // Slow ones a few times.
            if times.len() > 3 && times[1..].iter().sum::<f64>() > 2e3 {
                break;
            }
        }
        let first = times[0];
        times.remove(0);
        times.sort_by(f64::total_cmp);
        let again = times[times.len() / 2];
        let all = call.replace(", {limit: 10}", "") + " RETURN count(*)";
        let begin = Instant::now();
        let hits = session.run(&all, &parameters)?.rows[0][0].clone();
        let all = begin.elapsed().as_secs_f64() * 1e3;
        let Value::Int(hits) = hits else { return Err("no count".into()) };
        writeln!(
            out,
            "search, {what}: first {first:.2} ms, again {again:.3} ms, all {all:.1} ms, {hits} hits"
        )?;
        if let Some(file) = &mut file {
            let number = |value: &Value| match value {
                Value::Int(id) => id.to_string(),
                Value::Float(score) => score.to_string(),
                other => format!("{other:?}"),
            };
            let column = |at: usize| {
                let numbers: Vec<String> = best.iter().map(|row| number(&row[at])).collect();
                numbers.join(",")
            };
            let (ids, scores) = (column(0), column(1));
            writeln!(file, "{what}\t{query}\t{first}\t{again}\t{hits}\t{ids}\t{scores}")?;
        }
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    let count: i64 = std::env::args().nth(1).map_or(Ok(100_000), |count| count.parse())?;
    let folder = std::env::args().nth(2);
    let file = |name: &str| -> Result<Option<BufWriter<File>>, Failure> {
        let path = folder.as_ref().map(|folder| Path::new(folder).join(name));
        Ok(path.map(File::create).transpose()?.map(BufWriter::new))
    };
    let db = Database::in_memory(Settings::default())?;
    let session = Session::new(&db);
    let mut out = std::io::stdout();
    let mut words = Words(7);
    let text_bytes = fill(&session, &mut words, count, file("documents.txt")?)?;
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
    let memory = |what: &str| -> Result<(), Failure> {
        let info = db.indexes().into_iter().find(|info| info.name == "i").ok_or("no index")?;
        let bytes = info.bytes as f64;
        writeln!(
            std::io::stdout(),
            "index, {what}: {} postings, {:.1} bytes each, {:.2} x text",
            info.entries,
            bytes / info.entries as f64,
            bytes / text_bytes as f64
        )?;
        Ok(())
    };
    memory("built")?;
    search(&session, file("answers.tsv")?)?;
    memory("searched")?;
    let with = commits(&mut words, "D")?;
    writeln!(out, "commit of a document: {with:.3} ms, without index {without:.3} ms")?;
    memory("after 1,000 commits")?;
    Ok(())
}
