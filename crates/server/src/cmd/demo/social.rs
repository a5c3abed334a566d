//! The generated social network as something a database can load.

use telar_db::import::{GraphSource, Properties};
use telar_db::{Database, Error, PropertyKeyId};
use telar_generate::{Person, SocialNetwork};

use super::facts::SINCE_KEY;

/// A network with the property keys it is loaded under.
#[derive(Debug)]
pub(super) struct SocialSource {
    network: SocialNetwork,
    name: PropertyKeyId,
    age: PropertyKeyId,
    city: PropertyKeyId,
    joined: PropertyKeyId,
    since: PropertyKeyId,
}

impl SocialSource {
    pub(super) fn prepare(db: &Database, network: SocialNetwork) -> Result<Self, Error> {
        Ok(Self {
            network,
            name: db.property_key("name")?,
            age: db.property_key("age")?,
            city: db.property_key("city")?,
            joined: db.property_key("joined")?,
            since: db.property_key(SINCE_KEY)?,
        })
    }

    pub(super) fn person(&self, number: u32) -> Option<&Person> {
        self.network.persons.get(number as usize)
    }
}

impl GraphSource for SocialSource {
    fn vertex_count(&self) -> u32 {
        self.network.persons.len() as u32
    }

    fn edge_count(&self) -> usize {
        self.network.knows.len()
    }

    fn edge(&self, edge: usize) -> (u32, u32) {
        let knows = &self.network.knows[edge];
        (knows.a, knows.b)
    }

    fn vertex_properties(&self, vertex: u32, out: &mut Properties) {
        let person = &self.network.persons[vertex as usize];
        out.extend([
            (self.name, person.name().into()),
            (self.age, person.age.into()),
            (self.city, person.city.into()),
            (self.joined, person.joined_ms.into()),
        ]);
    }

    fn edge_properties(&self, edge: usize, out: &mut Properties) {
        out.push((self.since, self.network.knows[edge].since_ms.into()));
    }
}
