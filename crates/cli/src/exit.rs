//! The end of a program: its exit code, and its error on standard error.

use std::io;
use std::process::ExitCode;

/// The exit code of a program's result; an error is written to standard error first.
///
/// A closed pipe is no news to whoever closed it (`telar info | head`), so it is not written.
pub fn exit_code(result: anyhow::Result<ExitCode>) -> ExitCode {
    match result {
        Ok(code) => code,
        Err(error) if is_closed_pipe(&error) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {}", message(&error));
            ExitCode::FAILURE
        }
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let kind = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().map(io::Error::kind)
    };
    error.chain().any(|cause| kind(cause) == Some(io::ErrorKind::BrokenPipe))
}

/// The error and its causes on one line; a cause that an outer message quotes is not said twice.
fn message(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_names_every_cause_once() {
        let error = anyhow::anyhow!("no room").context("writing a.json: no room").context("bench");
        assert_eq!(message(&error), "bench: writing a.json: no room");
    }

    #[test]
    fn closed_pipe_is_found_below_other_errors() {
        let closed = io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(is_closed_pipe(&anyhow::Error::new(closed).context("writing the table")));
        assert!(!is_closed_pipe(&anyhow::anyhow!("broken pipe")));
    }
}
