//! Rules that tests break, to show that the checker of histories finds each.

/// A rule that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(test), expect(dead_code, reason = "only tests make faults"))]
pub(crate) enum Fault {
    /// A lease is taken over as soon as it is seen.
    TakesOverAtOnce,
    /// A group is acknowledged before its slot is won.
    AcknowledgesEarly,
    /// A leader reads after its lease has lapsed.
    ReadsAfterLapse,
    /// A leader reads in snapshots from before it led.
    ReadsOldSnapshots,
    /// A slot with an unknown outcome counts as won.
    UnknownIsWon,
    /// After an unknown outcome the group is put again as another one.
    NewIdentity,
    /// A lease is valid from when the answer came, not from when the renewal was sent.
    ValidFromAnswer,
    /// A leader that lost a slot goes on with the next.
    KeepsLeading,
}
