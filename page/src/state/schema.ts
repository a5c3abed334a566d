// What is in the database and what the language has, for completion and the schema panel.

import { effect, signal } from '@preact/signals'

import type { Api } from '../server/api'
import { isKind, type Value } from '../server/values'
import { api, noteError, stage } from './session'

export interface Counted {
  name: string
  count: number
}

export interface Callable {
  name: string
  signature: string
  description: string
}

export interface Index {
  name: string
  type: string
  entity: 'NODE' | 'RELATIONSHIP'
  of: string[]
  properties: string[]
  state: string
  // Numbers of its vectors, if it is an index of vectors and says so.
  dimensions: number | undefined
}

export interface Schema {
  nodes: number
  relationships: number
  labels: Counted[]
  types: Counted[]
  // By label and by type.
  properties: Map<string, string[]>
  keys: string[]
  indexes: Index[]
  constraints: Index[]
}

const NOTHING: Schema = {
  nodes: 0, relationships: 0, labels: [], types: [], properties: new Map(), keys: [], indexes: [], constraints: []
}

export const schema = signal<Schema>(NOTHING)
export const functions = signal<Callable[]>([])
export const procedures = signal<Callable[]>([])

// Time that a look at all properties may take: a huge graph is not read for a menu.
const PROPERTIES_S = 5

let asked = 0

// Asks anew what is in the database.
export async function refreshSchema (): Promise<void> {
  const asking = api.value
  if (asking.database === '') return
  const turn = ++asked
  try {
    const [statistics, keys, indexes, constraints] = await Promise.all([
      asking.run('CALL telar.statistics() YIELD kind, name, count RETURN kind, name, count'),
      asking.run('CALL db.propertyKeys() YIELD propertyKey RETURN propertyKey ORDER BY propertyKey'),
      asking.run('SHOW INDEXES YIELD name, type, entityType, labelsOrTypes, properties, state, options'),
      asking.run('SHOW CONSTRAINTS YIELD name, type, entityType, labelsOrTypes, properties')
    ])
    if (turn !== asked) return
    const of = (kind: string): Counted[] => statistics.rows
      .filter(row => row[0] === kind && row[1] !== null && row[1] !== '')
      .map(row => ({ name: row[1] as string, count: Number(row[2]) }))
      .sort((a, b) => a.name.localeCompare(b.name))
    const total = (kind: string): number =>
      Number(statistics.rows.find(row => row[0] === kind)?.[2] ?? 0)
    schema.value = {
      nodes: total('nodes'),
      relationships: total('relationships'),
      labels: of('label'),
      types: of('type'),
      properties: schema.value.properties,
      keys: keys.rows.map(row => row[0] as string),
      indexes: indexes.rows.map(index),
      constraints: constraints.rows.map(index)
    }
    await refreshProperties(asking, turn)
  } catch (error) {
    noteError(error)
  }
}

function index (row: unknown[]): Index {
  const [name, type, entity, of, properties, state, options] = row
  return {
    name: name as string,
    type: type as string,
    entity: entity as Index['entity'],
    of: (of as string[] | null) ?? [],
    properties: (properties as string[] | null) ?? [],
    state: (state as string | undefined) ?? 'ONLINE',
    dimensions: dimensions(options as Value | undefined)
  }
}

function dimensions (options: Value | undefined): number | undefined {
  if (!options || !isKind(options, 'map')) return undefined
  const config = options.entries.indexConfig
  if (!config || !isKind(config, 'map')) return undefined
  const found = config.entries['vector.dimensions']
  return typeof found === 'bigint' ? Number(found) : undefined
}

async function refreshProperties (asking: Api, turn: number): Promise<void> {
  const late = AbortSignal.timeout(PROPERTIES_S * 1000)
  const [nodes, relationships] = await Promise.all([
    asking.run('CALL db.schema.nodeTypeProperties() YIELD nodeLabels, propertyName RETURN nodeLabels, propertyName', {}, late),
    asking.run('CALL db.schema.relTypeProperties() YIELD relType, propertyName RETURN relType, propertyName', {}, late)
  ]).catch(() => [undefined, undefined])
  if (turn !== asked || !nodes || !relationships) return
  const found = new Map<string, Set<string>>()
  const add = (of: string, property: unknown): void => {
    if (typeof property !== 'string') return
    if (!found.has(of)) found.set(of, new Set())
    found.get(of)!.add(property)
  }
  for (const [labels, property] of nodes.rows) for (const label of labels as string[]) add(label, property)
  // A type is written :`NAME`.
  for (const [type, property] of relationships.rows) add((type as string).replace(/^:`|`$/g, ''), property)
  schema.value = {
    ...schema.value,
    properties: new Map([...found].map(([of, all]) => [of, [...all].sort()]))
  }
}

async function learnLanguage (): Promise<void> {
  const read = (found: { rows: unknown[][] }): Callable[] =>
    found.rows.map(([name, signature, description]) => ({
      name: name as string, signature: signature as string, description: description as string
    }))
  try {
    const [known, callable] = await Promise.all([
      api.value.run('SHOW FUNCTIONS YIELD name, signature, description RETURN name, signature, description'),
      api.value.run('SHOW PROCEDURES YIELD name, signature, description RETURN name, signature, description')
    ])
    functions.value = read(known)
    procedures.value = read(callable)
  } catch (error) {
    noteError(error)
  }
}

effect(() => {
  if (stage.value !== 'ready' || api.value.database === '') return
  schema.value = NOTHING
  void refreshSchema()
  if (functions.peek().length === 0) void learnLanguage()
})
