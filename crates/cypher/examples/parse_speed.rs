//! Microseconds that each file of queries takes to parse, and to print.
//!
//! ```text
//! cargo run --release -p telar-cypher --example parse_speed -- FILE...
//! ```
//!
//! Each file is one statement. Its tree is checked against that of the printed text before
//! anything is timed; each figure is the smallest of 50 rounds of 100 times.

#![expect(clippy::print_stdout, reason = "it prints what it measures")]

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use telar_cypher::parse;

const ROUNDS: usize = 50;
const TIMES: u32 = 100;

fn main() -> Result<(), Box<dyn Error>> {
    println!("{:>9} {:>9} {:>7}  file", "parse us", "print us", "bytes");
    let (mut parses, mut prints, mut bytes) = (0.0, 0.0, 0);
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path)?;
        let tree = parse(&text).map_err(|errors| format!("{path}\n{}", errors.render(&text)))?;
        if parse(&tree.to_string())? != tree {
            return Err(format!("{path} does not survive printing").into());
        }
        let parsing = microseconds(|| drop(black_box(parse(black_box(&text)))));
        let printing = microseconds(|| drop(black_box(black_box(&tree).to_string())));
        println!("{parsing:9.1} {printing:9.1} {:7}  {path}", text.len());
        parses += parsing;
        prints += printing;
        bytes += text.len();
    }
    println!("{parses:9.1} {prints:9.1} {bytes:7}  all");
    Ok(())
}

fn microseconds(work: impl Fn()) -> f64 {
    let round = || {
        let start = Instant::now();
        (0..TIMES).for_each(|_| work());
        start.elapsed().as_secs_f64() * 1e6 / f64::from(TIMES)
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}
