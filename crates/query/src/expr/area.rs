//! Conditions that say where a point lies: `point.withinBBox`, and bounds of `point.distance`.

use super::{Binary, Expr};

/// Where a point is to lie.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Area<T> {
    /// In the box between two corners, the lower left one first.
    Box(T, T),
    /// No farther from a point than a distance.
    Circle {
        center: T,
        radius: T,
        /// At that distance, too.
        inclusive: bool,
    },
}

impl<T> Area<T> {
    /// What it is made of: the corners, or center and radius.
    pub(crate) fn parts(&self) -> [&T; 2] {
        match self {
            Self::Box(low, high) => [low, high],
            Self::Circle { center, radius, .. } => [center, radius],
        }
    }

    /// The same of what `f` makes of the parts.
    pub(crate) fn map<U>(&self, f: impl FnMut(&T) -> U) -> Area<U> {
        let [first, second] = self.parts().map(f);
        self.of(first, second)
    }

    /// As [`map`](Self::map), unless `f` fails.
    pub(crate) fn try_map<U, E>(
        &self,
        mut f: impl FnMut(&T) -> Result<U, E>,
    ) -> Result<Area<U>, E> {
        let [first, second] = self.parts();
        Ok(self.of(f(first)?, f(second)?))
    }

    fn of<U>(&self, first: U, second: U) -> Area<U> {
        match self {
            Self::Box(..) => Area::Box(first, second),
            Self::Circle { inclusive, .. } => {
                Area::Circle { center: first, radius: second, inclusive: *inclusive }
            }
        }
    }
}

/// The areas in which a condition demands an expression to lie: with a distance of two, either may
/// be the one that is sought.
pub(crate) fn areas(condition: &Expr) -> Vec<(&Expr, Area<&Expr>)> {
    match condition {
        Expr::Function(f, arguments) if f.name == "point.withinBBox" => match &arguments[..] {
            [point, low, high] => vec![(point, Area::Box(low, high))],
            _ => Vec::new(),
        },
        Expr::Binary(Binary::Less, distance, radius) => circles(distance, radius, false),
        Expr::Binary(Binary::LessOrEqual, distance, radius) => circles(distance, radius, true),
        Expr::Binary(Binary::Greater, radius, distance) => circles(distance, radius, false),
        Expr::Binary(Binary::GreaterOrEqual, radius, distance) => circles(distance, radius, true),
        _ => Vec::new(),
    }
}

fn circles<'e>(
    distance: &'e Expr,
    radius: &'e Expr,
    inclusive: bool,
) -> Vec<(&'e Expr, Area<&'e Expr>)> {
    match distance {
        Expr::Function(f, points) if f.name == "point.distance" => match &points[..] {
            [a, b] => vec![
                (a, Area::Circle { center: b, radius, inclusive }),
                (b, Area::Circle { center: a, radius, inclusive }),
            ],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}
