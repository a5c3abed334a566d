//! Looks for anomalies in a history that another program has recorded (`telar_tests::recording`).
//!
//! ```text
//!  check-history FILE
//! ```
#![expect(clippy::print_stdout, reason = "it is what the program is for")]

use std::process::ExitCode;

use telar_tests::recording::check_text;

fn main() -> ExitCode {
    let [_, file] = &std::env::args().collect::<Vec<_>>()[..] else {
        println!("usage: check-history FILE");
        return ExitCode::from(2);
    };
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"));
    match text.and_then(|text| check_text(&text)) {
        Ok((counts, found)) => {
            println!("no anomaly: {counts:?}, {found:?}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            println!("{why}");
            ExitCode::FAILURE
        }
    }
}
