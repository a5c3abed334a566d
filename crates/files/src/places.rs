//! Rows and lines: on which line of a file a row begins.

/// Lines of rows that were read, as the rows at which they stop to follow each other by one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    jumps: Vec<(u64, u64)>,
    rows: u64,
}

impl Places {
    /// Notes the line of the next row.
    pub(crate) fn push(&mut self, line: u64) {
        if self.line(self.rows) != line {
            self.jumps.push((self.rows, line));
        }
        self.rows += 1;
    }

    /// The line of a row; 0 if none was noted.
    pub(crate) fn line(&self, row: u64) -> u64 {
        let at = self.jumps.partition_point(|(first, _)| *first <= row);
        at.checked_sub(1).map_or(0, |at| self.jumps[at].1 + (row - self.jumps[at].0))
    }
}

#[test]
fn lines_are_kept_where_they_jump() {
    let lines = [2, 3, 4, 7, 8, 20];
    let mut places = Places::default();
    lines.iter().for_each(|line| places.push(*line));
    assert!((0..).zip(lines).all(|(row, line)| places.line(row) == line), "{places:?}");
    assert_eq!(places.jumps.len(), 3);
}
