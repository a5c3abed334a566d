// Graphs of the harness.

import type { GraphSource } from '../../../src/graph/panel'
import type { Node, Properties, Relationship } from '../../../src/server/values'

type Graph = GraphSource

const NAMES = [
  'Ada Lovelace', 'Grace Hopper', 'Alan Turing', 'Edsger Dijkstra', 'Barbara Liskov', 'Donald Knuth',
  'Frances Allen', 'John Backus', 'Leslie Lamport', 'Radia Perlman', 'Tony Hoare', 'Shafi Goldwasser',
  'Ken Thompson', 'Niklaus Wirth', 'Margaret Hamilton', 'Dennis Ritchie', 'Jean Sammet',
  'Adele Goldberg', 'Lynn Conway', 'Robin Milner'
]
const CITIES = ['London', 'New York', 'Zürich', 'Boston', 'Amsterdam']
const FIELDS = ['Compilers', 'Cryptography', 'Networks', 'Databases', 'Logic', 'Hardware']

export const XSS = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'

// Numbers between 0 and 1, always the same.
function random (seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1664525 + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

class Builder {
  readonly graph: Graph = { nodes: new Map(), relationships: new Map() }

  node (labels: string[], properties: Properties): Node {
    const node: Node = { kind: 'node', id: `n:${this.graph.nodes.size}`, labels, properties }
    this.graph.nodes.set(node.id, node)
    return node
  }

  join (start: Node, type: string, end: Node, properties: Properties = {}): void {
    const id = `r:${this.graph.relationships.size}`
    this.graph.relationships.set(id, {
      kind: 'relationship', id, type, start: start.id, end: end.id, properties
    })
  }
}

// Everything that the made-up server knows: people, cities, fields, and a hub with 400 neighbours.
export function people (): Graph {
  const builder = new Builder()
  const next = random(7)
  const pick = <T>(items: T[]): T => items[Math.floor(next() * items.length)]!
  const population = (): bigint => BigInt(Math.floor(next() * 9e6))
  const cities = CITIES.map(name => builder.node(['City'], { name, population: population() }))
  const fields = FIELDS.map(title => builder.node(['Field'], { title }))
  const all = NAMES.map((name, index) => builder.node(index % 5 === 0 ? ['Person', 'Author'] : ['Person'], {
    name,
    born: { kind: 'typed', type: 'Date', text: `19${10 + index}-0${1 + index % 9}-12` },
    score: Math.round(next() * 1000) / 10,
    papers: BigInt(Math.floor(next() * 90)),
    tags: ['pioneer', index % 2 ? 'theory' : 'systems']
  }))
  for (const person of all) {
    builder.join(person, 'LIVES_IN', pick(cities), { since: BigInt(1950 + Math.floor(next() * 50)) })
    builder.join(person, 'WORKS_ON', pick(fields))
    builder.join(person, 'KNOWS', pick(all))
    if (next() > 0.4) builder.join(person, 'KNOWS', pick(all))
  }
  // Parallel ones, a bundle and a loop.
  builder.join(all[0]!, 'WROTE_TO', all[1]!)
  builder.join(all[1]!, 'WROTE_TO', all[0]!)
  builder.join(all[0]!, 'CITES', all[1]!)
  for (let i = 0; i < 9; i++) builder.join(all[2]!, 'CITES', all[3]!)
  builder.join(all[4]!, 'CITES', all[4]!)
  const hub = builder.node(['Venue'], { name: 'Big Conference' })
  builder.join(all[5]!, 'SPOKE_AT', hub)
  for (let i = 0; i < 400; i++) {
    const guest = builder.node([i % 3 ? 'Guest' : 'Speaker'], { name: `Guest ${i}` })
    builder.join(guest, i % 3 ? 'VISITED' : 'SPOKE_AT', hub)
  }
  return builder.graph
}

function large (order: number, size: number): Graph {
  const builder = new Builder()
  const next = random(11)
  const labels = ['Account', 'Device', 'Merchant', 'Person']
  const nodes = Array.from({ length: order }, (_, index) =>
    builder.node([labels[index % 4]!], { name: `Node ${index}` }))
  const groups = Math.max(1, Math.floor(order / 100))
  for (let i = 0; i < size; i++) {
    const group = Math.floor(next() * groups)
    const start = nodes[group * 100 + Math.floor(next() * 100)]!
    const isNear = next() < 0.9
    const end = nodes[isNear ? group * 100 + Math.floor(next() * 100) : Math.floor(next() * order)]!
    builder.join(start, next() < 0.5 ? 'PAYS' : 'USES', end)
  }
  return builder.graph
}

function hostile (): Graph {
  const builder = new Builder()
  const a = builder.node([XSS], { name: XSS, [XSS]: XSS, formula: '=HYPERLINK("http://x")' })
  const b = builder.node(['B'], { name: '"><svg onload=window.hacked=1>' })
  builder.join(a, XSS, b, { [XSS]: XSS })
  return builder.graph
}

// What a result holds: a part of the world, or something of its own.
export function source (name: string, world: Graph): Graph {
  switch (name) {
    case 'people': {
      const guests = ['Guest', 'Speaker']
      const nodes = new Map([...world.nodes].filter(([, node]) => !guests.includes(node.labels[0]!)))
      const relationships = new Map([...world.relationships]
        .filter(([, { start, end }]) => nodes.has(start) && nodes.has(end)))
      return { nodes, relationships }
    }
    case 'one': return { nodes: new Map([...world.nodes].slice(11, 12)), relationships: new Map() }
    case 'hostile': return hostile()
    case '5000': return large(5000, 20_000)
    case '20000': return large(20_000, 40_000)
    case '100000': return large(100_000, 200_000)
    default: return { nodes: new Map(), relationships: new Map() }
  }
}

// The same a while later: some gone, some changed, some new.
export function changed ({ nodes, relationships }: Graph): Graph {
  const after: Graph = { nodes: new Map(nodes), relationships: new Map(relationships) }
  const persons = [...nodes.values()].filter(node => node.labels.includes('Person'))
  const [first, second, third] = persons as [Node, Node, Node]
  after.nodes.delete(first.id)
  for (const { id, start, end } of relationships.values()) {
    if (start === first.id || end === first.id) after.relationships.delete(id)
  }
  after.nodes.set(second.id, { ...second, properties: { ...second.properties, score: 1 } })
  const fresh: Node = { kind: 'node', id: 'n:new', labels: ['Person'], properties: { name: 'Newcomer' } }
  after.nodes.set(fresh.id, fresh)
  after.relationships.set('r:new', {
    kind: 'relationship', id: 'r:new', type: 'KNOWS', start: fresh.id, end: third.id, properties: {}
  })
  return after
}
