//! Chinese, Japanese and Korean: each two neighbours are a term, as are words of other scripts.

use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// Latin letters and Kana of full and half width as they are usually written.
pub(super) fn width(text: &str) -> String {
    let is_wide = |c: char| matches!(c, '\u{ff01}'..='\u{ff9f}');
    if !text.contains(is_wide) {
        return text.to_owned();
    }
    // Voiced marks of half width join the character before them.
    text.nfkc().collect()
}

fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{11ff}' | '\u{3040}'..='\u{30ff}' | '\u{3130}'..='\u{318f}'
        | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

/// Calls `f` with each word, or pair of characters, in order.
pub(super) fn for_each(text: &str, f: &mut dyn FnMut(&str)) {
    let text = width(text);
    let mut run: Vec<char> = Vec::new();
    let mut end = 0;
    let flush = |run: &mut Vec<char>, f: &mut dyn FnMut(&str)| {
        match run[..] {
            [] => {}
            [one] => f(one.encode_utf8(&mut [0; 4])),
            _ => run.windows(2).for_each(|pair| f(&pair.iter().collect::<String>())),
        }
        run.clear();
    };
    for (start, word) in text.unicode_word_indices() {
        let all_cjk = word.chars().all(is_cjk);
        // Characters that stand apart are no neighbours.
        if !all_cjk || start != end {
            flush(&mut run, f);
        }
        end = start + word.len();
        if all_cjk {
            run.extend(word.chars());
        } else {
            f(word);
        }
    }
    flush(&mut run, f);
}
