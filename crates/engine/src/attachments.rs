//! Values that belong to an open database and whose types the engine does not know: what the crates
//! above keep once per database, however many handles and sessions it has.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

/// At most one value of each type.
#[derive(Default)]
pub(crate) struct Attachments(Mutex<Vec<Arc<dyn Any + Send + Sync>>>);

impl Attachments {
    /// The value of type `T`, made if there is none.
    pub(crate) fn get<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        let mut values = self.0.lock();
        let found = values.iter().find_map(|value| Arc::clone(value).downcast().ok());
        found.unwrap_or_else(|| {
            let made = Arc::new(make());
            values.push(Arc::<T>::clone(&made));
            made
        })
    }
}

impl fmt::Debug for Attachments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attachments").field("count", &self.0.lock().len()).finish()
    }
}

#[test]
fn there_is_one_value_of_each_type() {
    let attachments = Attachments::default();
    let first = attachments.get(|| Mutex::new(7));
    *first.lock() += 1;
    assert_eq!(*attachments.get(|| "other"), "other");
    assert_eq!(*attachments.get(|| Mutex::new(0)).lock(), 8);
}
