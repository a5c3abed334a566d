// Algorithms that the server computes for a graph view, on what is shown or on all of the database.

import { literal, name, type Node, type Relationship, type Value } from '../server/values'
import type { Query } from './statements'

export interface Algorithm {
  id: string
  title: string
  call: string
  column: string
  // Whether its numbers are names of groups; else they are quantities.
  isGroup: boolean
  isUndirected: boolean
  // Whether its steps are about nodes times relationships: no matter of seconds in a large graph.
  isSlow?: boolean
}

const groups = { isGroup: true, isUndirected: true }
const scores = { isGroup: false, isUndirected: false }

export const ALGORITHMS: readonly Algorithm[] = [
  { id: 'communities', title: 'Communities (Louvain)', call: 'algo.louvain', column: 'communityId', ...groups },
  { id: 'leiden', title: 'Communities (Leiden)', call: 'algo.leiden', column: 'communityId', ...groups },
  { id: 'labelPropagation', title: 'Communities (label propagation)', call: 'algo.labelPropagation', column: 'communityId', ...groups },
  { id: 'components', title: 'Connected components', call: 'algo.wcc', column: 'componentId', ...groups },
  { id: 'pagerank', title: 'PageRank', call: 'algo.pageRank', column: 'score', ...scores },
  { id: 'betweenness', title: 'Betweenness', call: 'algo.betweenness', column: 'score', ...scores, isSlow: true },
  { id: 'closeness', title: 'Closeness', call: 'algo.closeness', column: 'score', ...scores, isSlow: true },
  { id: 'allDegree', title: 'Degree', call: 'algo.degree', column: 'score', ...scores, isUndirected: true },
  { id: 'triangles', title: 'Triangles', call: 'algo.triangleCount', column: 'triangleCount', ...scores, isUndirected: true },
  { id: 'cores', title: 'Core number', call: 'algo.kcore', column: 'coreValue', ...scores, isUndirected: true }
]

export const algorithmOf = (id: string): Algorithm => ALGORITHMS.find(one => one.id === id)!

// What an algorithm runs on: all of the database that has one of the labels and types, or all that is shown.
export type Scope = { kind: 'shown' } | {
  kind: 'database'
  // None chosen is all.
  labels: string[]
  types: string[]
}

const WHOLE = ' in the database'

// The name under which a view keeps what an algorithm has found.
export const scoreName = ({ id }: Algorithm, scope: Scope): string => scope.kind === 'shown' ? id : id + WHOLE

// Whether the numbers under a name are those of groups.
export function isGroup (score: string): boolean {
  return ALGORITHMS.some(one => one.isGroup && (score === one.id || score === one.id + WHOLE))
}

export function scoreTitle (score: string): string {
  const found = ALGORITHMS.find(({ id }) => score === id || score === id + WHOLE)
  if (!found) return score
  return found.title.replace(' (Louvain)', '') + (score.endsWith(WHOLE) ? WHOLE : '')
}

interface Shown {
  nodes: Iterable<Node>
  relationships: Iterable<Relationship>
}

interface Graph {
  // What stands before the call.
  before: string
  // The first argument.
  argument: string
  parameters: Record<string, unknown>
}

function graphOf ({ isUndirected }: Algorithm, scope: Scope, shown: Shown): Graph {
  const orientation = isUndirected ? ", orientation: 'UNDIRECTED'" : ''
  if (scope.kind === 'database') {
    const { labels, types } = scope
    return {
      before: '',
      argument: `{nodes: $labels, relationships: $types${orientation}}`,
      parameters: { labels: labels.length > 0 ? labels : '*', types: types.length > 0 ? types : '*' }
    }
  }
  const nodes = [...shown.nodes]
  const isLabelled = nodes.every(node => node.labels.length > 0)
  return {
    before: 'UNWIND $pairs AS pair MATCH (a) WHERE elementId(a) = pair[0] ' +
      'MATCH (b) WHERE elementId(b) = pair[1] WITH collect([a, b]) AS pairs ',
    argument: `{nodes: $labels, pairs: pairs${orientation}}`,
    parameters: {
      pairs: [...shown.relationships].map(({ start, end }) => [start, end]),
      // Fewer nodes to look at than those of all the database.
      labels: isLabelled ? [...new Set(nodes.flatMap(node => node.labels))] : '*'
    }
  }
}

// Runs an algorithm and returns a number for each node that is shown.
export function compute (algorithm: Algorithm, scope: Scope, shown: Shown): Query {
  const nodes = [...shown.nodes]
  const { call, column } = algorithm
  const { before, argument, parameters } = graphOf(algorithm, scope, { ...shown, nodes })
  return {
    text: `${before}CALL ${call}(${argument}) YIELD node, ${column} ` +
      `WITH elementId(node) AS id, ${column} AS value WHERE id IN $nodes RETURN id, value`,
    parameters: { ...parameters, nodes: nodes.map(node => node.id) }
  }
}

// What a run would take, as the server reckons.
export function estimate (algorithm: Algorithm, scope: Scope, shown: Shown): Query {
  const { before, argument, parameters } = graphOf(algorithm, scope, shown)
  const columns = 'nodeCount, relationshipCount, bytesMax, bytesLimit'
  return {
    text: `${before}CALL ${algorithm.call}.estimate(${argument}) YIELD ${columns} RETURN ${columns}`,
    parameters
  }
}

export interface Estimate {
  nodes: number
  relationships: number
  bytes: number
  // The most that a statement may hold, if that is bounded.
  limit: number | undefined
}

// Reads an estimate of the server, which counts relationships twice where they lead both ways.
export function estimateOf ({ isUndirected }: Algorithm, row: Value[] | undefined): Estimate | undefined {
  if (!row) return undefined
  const [nodes, relationships, bytes, limit] = row
  return {
    nodes: Number(nodes),
    relationships: Number(relationships) / (isUndirected ? 2 : 1),
    bytes: Number(bytes),
    limit: limit === null || limit === undefined ? undefined : Number(limit)
  }
}

// From here on, an algorithm of many steps is one to think about first.
const STEPS_MANY = 1e10

// What speaks against a run.
export function warning ({ isSlow }: Algorithm, { nodes, relationships, bytes, limit }: Estimate): string | undefined {
  if (limit !== undefined && bytes > limit) {
    return `That is more than the ${readable(limit)} that a statement may hold here: the server will refuse it.`
  }
  if (isSlow && nodes * relationships > STEPS_MANY) return 'This is much work, and may take minutes or hours.'
  return undefined
}

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']

export function readable (bytes: number): string {
  let unit = 0
  let value = bytes
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024
    unit++
  }
  return `${value.toFixed(unit === 0 || value >= 100 ? 0 : 1)} ${UNITS[unit]}`
}

// The statement for the editor: the greatest scores, or the largest groups.
export function written (algorithm: Algorithm, { labels, types }: { labels: string[], types: string[] }): string {
  const { call, column, isUndirected } = algorithm
  const entries = [
    ...labels.length > 0 ? [`nodes: ${literal(labels)}`] : [],
    ...types.length > 0 ? [`relationships: ${literal(types)}`] : [],
    ...isUndirected ? ["orientation: 'UNDIRECTED'"] : []
  ]
  const rest = algorithm.isGroup
    ? `RETURN ${name(column)}, count(*) AS members ORDER BY members DESC LIMIT 25`
    : `RETURN node, ${name(column)} ORDER BY ${name(column)} DESC LIMIT 25`
  return `CALL ${call}({${entries.join(', ')}})\nYIELD node, ${column}\n${rest}`
}
