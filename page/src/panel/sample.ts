// A sample graph: who knows whom among the weavers of a small town, in which workshop they work and in
// which quarter they live. It is drawn by a generator with a fixed seed, so that everybody gets the same.

import { history, keepHistory } from '../state/history'
import { refreshSchema } from '../state/schema'
import { api, isAdmin, noteError } from '../state/session'
import { put } from '../editor/editor'

const GIVEN = ('Alba Bruno Carla Diego Elena Fabio Greta Hugo Irene Jaime Karla Luis Marta Nico Olga Pablo Quima Raul ' +
  'Sara Tomas Ursula Victor Wanda Ximena Yago Zoe Adela Blas Celia Dario').split(' ')
const FAMILY = ['Rivas', 'Ortega', 'Molina', 'Vidal', 'Serra', 'Campos', 'Prieto']
const WORKSHOPS = ['La Lanzadera', 'El Telar', 'Hilo y Lana', 'La Rueca', 'El Batán']
const QUARTERS = ['Harbour', 'Old Town', 'Mill Hill', 'Riverside', 'Market']
const PEOPLE = 75
const HUB = 0

interface Person { id: number, name: string, born: number, workshop: string, quarter: string }

function generator (): () => number {
  let state = 0x7e1a
  // Numerical Recipes' linear congruential generator.
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

export function sample (): { people: Person[], knows: { a: number, b: number, since: number }[] } {
  const random = generator()
  const people = Array.from({ length: PEOPLE }, (_, id) => {
    const circle = id % WORKSHOPS.length
    return {
      id,
      name: `${GIVEN[id % GIVEN.length]} ${FAMILY[(id + Math.floor(id / GIVEN.length)) % FAMILY.length]}`,
      born: 1950 + Math.floor(random() * 50),
      workshop: WORKSHOPS[circle]!,
      quarter: QUARTERS[random() < 0.7 ? circle : Math.floor(random() * QUARTERS.length)]!
    }
  })
  const knows = []
  for (let a = 0; a < PEOPLE; a++) {
    for (let b = a + 1; b < PEOPLE; b++) {
      const close = a % WORKSHOPS.length === b % WORKSHOPS.length
      const chance = a === HUB ? 0.35 : close ? 0.3 : 0.012
      if (random() < chance) knows.push({ a, b, since: 1975 + Math.floor(random() * 50) })
    }
  }
  return { people, knows }
}

const STATEMENT = `
UNWIND $people AS p
MERGE (w:Workshop {name: p.workshop})
MERGE (q:Quarter {name: p.quarter})
CREATE (n:Person {id: p.id, name: p.name, born: p.born})-[:WORKS_AT]->(w), (n)-[:LIVES_IN]->(q)`

// Who they know came later than they: there is something to go back to.
const LATER = `
UNWIND $knows AS k
MATCH (a:Person {id: k.a}), (b:Person {id: k.b})
CREATE (a)-[:KNOWS {since: k.since}]->(b)`

// Fills an empty database, whose past is kept from then on if that can be; true if it did.
export async function loadSample (): Promise<boolean> {
  try {
    if (isAdmin.value && !await history()) await keepHistory().catch(noteError)
    const { people, knows } = sample()
    await api.value.run(STATEMENT, { people })
    await api.value.run(LATER, { knows })
    await refreshSchema()
    return true
  } catch (error) {
    noteError(error)
    put(`// The sample could not be loaded: ${(error as Error).message.split('\n')[0]}`)
    return false
  }
}
