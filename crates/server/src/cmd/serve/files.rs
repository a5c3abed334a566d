//! Connections as many as the system allows files for.

use anyhow::bail;
use telar_server::net::files::{self, FILES_MIN, Limit};
use telar_server::server::Settings;

/// Raises the limit of open files as far as may be.
///
/// # Errors
/// If there are too few files to serve anybody.
pub(super) fn raise_limit() -> anyhow::Result<Limit> {
    let limit = files::raise_limit();
    if let Some(now @ ..FILES_MIN) = limit.now {
        bail!(
            "no more than {now} files may be open, and a server needs {FILES_MIN} at least: raise \
             the hard limit (LimitNOFILE, ulimit -n)"
        );
    }
    Ok(limit)
}

/// Makes the numbers of connections fit into it. Whether they had to change.
#[must_use]
pub(super) fn fit(limit: Limit, settings: &mut Settings) -> bool {
    let Settings { bolt, http } = settings;
    let mut wanted = vec![&mut bolt.connections_max, &mut bolt.newcomers_max];
    if let Some(http) = http {
        wanted.extend([&mut http.settings.connections_max, &mut http.settings.newcomers_max]);
    }
    files::fit(limit.now, &mut wanted)
}

/// Logs what became of the limit, and of the numbers of connections if they did not fit.
pub(super) fn report(limit: Limit, fitted: bool, Settings { bolt, http }: &Settings) {
    let (before, now) = (limit.before, limit.now);
    match before == now {
        true => tracing::debug!(now, "limit of open files"),
        false => tracing::info!(before, now, "the limit of open files was raised"),
    }
    if fitted {
        tracing::warn!(
            files = now,
            bolt.connections = bolt.connections_max,
            bolt.newcomers = bolt.newcomers_max,
            http.connections = http.as_ref().map(|http| http.settings.connections_max),
            http.newcomers = http.as_ref().map(|http| http.settings.newcomers_max),
            "fewer connections than are set, as no more files may be open (LimitNOFILE, ulimit -n)"
        );
    }
}
