//! Addresses in text: of the web, and of e-mail.

/// Calls `f` with each address, in order.
pub(super) fn for_each(text: &str, urls: bool, emails: bool, f: &mut dyn FnMut(&str)) {
    let between = |c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | '(' | ')' | '|');
    for piece in text.split(between) {
        let piece =
            piece.trim_matches(|c: char| matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | '\''));
        let email = piece.strip_prefix("mailto:").unwrap_or(piece);
        if emails && is_email(email) {
            f(email);
        } else if urls && is_url(piece) {
            f(piece);
        }
    }
}

fn is_host(text: &str) -> bool {
    let Some((_, top)) = text.rsplit_once('.') else { return false };
    let is_label = |label: &str| {
        !label.is_empty()
            && label.chars().all(|c| c.is_alphanumeric() || c == '-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let is_number = text.split('.').filter(|part| part.parse::<u8>().is_ok()).count() == 4;
    text.split('.').all(is_label)
        && (top.len() >= 2 && top.chars().all(char::is_alphabetic) || is_number)
}

fn is_email(text: &str) -> bool {
    let allowed = |c: char| c.is_alphanumeric() || ".!#$%&'*+-/=?^_`{|}~".contains(c);
    match text.split_once('@') {
        Some((name, host)) => !name.is_empty() && name.chars().all(allowed) && is_host(host),
        None => false,
    }
}

fn is_url(text: &str) -> bool {
    let after = match text.split_once("://") {
        Some((scheme, after)) => {
            let known = ["http", "https", "ftp", "file"];
            if !known.iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
                return false;
            }
            after
        }
        None => text,
    };
    let host = after.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let (host, port) = host.split_once(':').unwrap_or((host, "0"));
    let named = text.len() > after.len() && host == "localhost";
    (named || is_host(host)) && port.parse::<u16>().is_ok()
}
