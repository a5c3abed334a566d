// Statements of the graph view. Identities and values are parameters; names are quoted.

import { literal, name, type Node, type Relationship } from '../server/values'
import type { Typed } from './input'

export interface Query {
  text: string
  parameters: Record<string, unknown>
}

export type Element = Node | Relationship

// Neighbours of one type of relationship, direction and set of labels.
export interface Group {
  type: string
  outgoing: boolean
  labels: string[]
  count: number
}

const NODE = 'MATCH (n) WHERE elementId(n) = $id'

const RELATIONSHIP = 'MATCH ()-[r]->() WHERE elementId(r) = $id'

export function neighbours (id: string, limit: number): Query {
  return { text: `${NODE} MATCH (n)-[r]-(m) RETURN r, m LIMIT ${limit}`, parameters: { id } }
}

export function groups (id: string): Query {
  return {
    text: `${NODE} MATCH (n)-[r]-(m) ` +
      'RETURN type(r) AS type, startNode(r) = n AS outgoing, labels(m) AS labels, count(*) AS count ' +
      'ORDER BY count DESC, type LIMIT 200',
    parameters: { id }
  }
}

// Neighbours of a group, or of all, that are not shown yet.
export function more (id: string, shown: string[], limit: number, group?: Group): Query {
  const type = group ? `:${name(group.type)}` : ''
  const pattern = !group ? '(n)-[r]-(m)' : group.outgoing ? `(n)-[r${type}]->(m)` : `(n)<-[r${type}]-(m)`
  return {
    text: `${NODE} MATCH ${pattern} WHERE NOT elementId(r) IN $shown` +
      `${group ? ' AND labels(m) = $labels' : ''} ` +
      `RETURN r, m LIMIT ${limit}`,
    parameters: { id, shown, ...group ? { labels: group.labels } : {} }
  }
}

// Relationships of `from` with nodes of `among`.
export function between (from: string[], among: string[], limit: number): Query {
  return {
    text: 'UNWIND $from AS id MATCH (n) WHERE elementId(n) = id MATCH (n)-[r]-(m) ' +
      `WHERE elementId(m) IN $among RETURN DISTINCT r LIMIT ${limit}`,
    parameters: { from, among }
  }
}

export function nodesOf (ids: string[]): Query {
  return { text: 'UNWIND $ids AS id MATCH (n) WHERE elementId(n) = id RETURN n', parameters: { ids } }
}

export function shortestPath (from: string, to: string): Query {
  return {
    text: 'MATCH (a) WHERE elementId(a) = $from MATCH (b) WHERE elementId(b) = $to ' +
      'MATCH p = shortestPath((a)-[*..15]-(b)) RETURN p',
    parameters: { from, to }
  }
}

// Names of labels and types, and how often there are some.
export const NAMES: Query = {
  text: "CALL telar.statistics() YIELD kind, name, count WHERE kind IN ['label', 'type'] AND count > 0 " +
    'RETURN kind, name ORDER BY kind, name',
  parameters: {}
}

function matched ({ kind, id }: Element): { match: string, variable: string, parameters: Record<string, unknown> } {
  const [match, variable] = kind === 'node' ? [NODE, 'n'] : [RELATIONSHIP, 'r']
  return { match, variable, parameters: { id } }
}

export function setProperty (element: Element, key: string, value: Typed): Query {
  const { match, variable, parameters } = matched(element)
  return {
    text: `${match}\nSET ${variable}.${name(key)} = ${value.expression}\nRETURN ${variable}`,
    parameters: { ...parameters, value: value.parameter }
  }
}

export function removeProperty (element: Element, key: string): Query {
  const { match, variable, parameters } = matched(element)
  return { text: `${match}\nREMOVE ${variable}.${name(key)}\nRETURN ${variable}`, parameters }
}

export function addLabel (node: Node, label: string): Query {
  return { text: `${NODE}\nSET n:${name(label)}\nRETURN n`, parameters: { id: node.id } }
}

export function removeLabel (node: Node, label: string): Query {
  return { text: `${NODE}\nREMOVE n:${name(label)}\nRETURN n`, parameters: { id: node.id } }
}

export function remove (element: Element, isDetached: boolean): Query {
  const { match, variable, parameters } = matched(element)
  return { text: `${match}\n${isDetached ? 'DETACH ' : ''}DELETE ${variable}`, parameters }
}

export interface Shown {
  nodes: Iterable<Node>
  relationships: Iterable<Relationship>
}

const text = (value: string): string => literal(value)

// A statement that finds exactly what is shown.
export function find ({ nodes, relationships }: Shown): string {
  const list = (all: Iterable<Element>): string => `[${[...all].map(({ id }) => text(id)).join(', ')}]`
  const found = [...relationships]
  const lines = [
    `UNWIND ${list(nodes)} AS id`,
    'MATCH (n) WHERE elementId(n) = id',
    'WITH collect(n) AS nodes'
  ]
  if (found.length === 0) return [...lines, 'RETURN nodes'].join('\n')
  return [
    ...lines,
    `UNWIND ${list(found)} AS id`,
    'MATCH ()-[r]->() WHERE elementId(r) = id',
    'RETURN nodes, collect(r) AS relationships'
  ].join('\n')
}

// A statement that makes what is shown once more. Values that have no literal are made by functions.
export function create ({ nodes, relationships }: Shown): string {
  const variables = new Map<string, string>()
  const parts: string[] = []
  for (const node of nodes) {
    const variable = `n${variables.size}`
    variables.set(node.id, variable)
    const labels = node.labels.map(label => `:${name(label)}`).join('')
    parts.push(`(${variable}${labels}${properties(node)})`)
  }
  for (const relationship of relationships) {
    const start = variables.get(relationship.start)
    const end = variables.get(relationship.end)
    if (!start || !end) continue
    parts.push(`(${start})-[:${name(relationship.type)}${properties(relationship)}]->(${end})`)
  }
  return `CREATE\n  ${parts.join(',\n  ')}`
}

function properties (element: Element): string {
  const entries = Object.entries(element.properties)
  if (entries.length === 0) return ''
  return ` {${entries.map(([key, value]) => `${name(key)}: ${written(value)}`).join(', ')}}`
}

const MAKERS: Record<string, string> = {
  Date: 'date',
  Time: 'time',
  OffsetTime: 'time',
  LocalTime: 'localtime',
  OffsetDateTime: 'datetime',
  ZonedDateTime: 'datetime',
  LocalDateTime: 'localdatetime',
  Duration: 'duration'
}

function written (value: Parameters<typeof literal>[0]): string {
  if (Array.isArray(value)) return `[${value.map(written).join(', ')}]`
  if (typeof value === 'number' && !Number.isFinite(value)) return `toFloat('${value}')`
  if (typeof value !== 'object' || value === null || value.kind !== 'typed') return literal(value)
  if (value.type === 'Point') {
    const match = /^SRID=(\d+);\s*POINT\s*Z?\s*\(([^)]+)\)$/i.exec(value.text)
    if (!match) return text(value.text)
    const [x, y, z] = match[2]!.trim().split(/\s+/)
    return `point({srid: ${match[1]}, x: ${x}, y: ${y}${z === undefined ? '' : `, z: ${z}`}})`
  }
  if (value.type === 'Vector') return value.text
  const maker = MAKERS[value.type]
  return maker ? `${maker}(${text(value.text)})` : text(value.text)
}
