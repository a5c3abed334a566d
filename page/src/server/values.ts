// Values of Cypher as the page holds them, and how the Query API's typed JSON becomes one.

export interface Node {
  kind: 'node'
  id: string
  labels: string[]
  properties: Properties
}

export interface Relationship {
  kind: 'relationship'
  id: string
  type: string
  start: string
  end: string
  properties: Properties
}

export interface Path {
  kind: 'path'
  // Node, relationship, node...
  steps: (Node | Relationship)[]
}

// A value that JavaScript has no type for: what it is and how it is written.
export interface Typed {
  kind: 'typed'
  type: 'Date' | 'Time' | 'LocalTime' | 'OffsetDateTime' | 'ZonedDateTime' | 'LocalDateTime' | 'Duration' |
    'Point' | 'Base64' | 'Vector' | string
  text: string
}

// An integer is a bigint, a float a number: 1 and 1.0 are different values of Cypher.
export type Value = null | boolean | bigint | number | string | Value[] | MapValue | Node | Relationship | Path | Typed

export interface MapValue {
  kind: 'map'
  entries: Properties
}

export type Properties = Record<string, Value>

interface Encoded {
  $type: string
  _value: unknown
}

// Reads a value of application/vnd.neo4j.query.
export function decode (encoded: Encoded): Value {
  const { $type: type, _value: value } = encoded
  switch (type) {
    case 'Null': return null
    case 'Boolean': return value as boolean
    case 'Integer': return BigInt(value as string)
    case 'Float': return float(value as string)
    case 'String': return value as string
    case 'List': return (value as Encoded[]).map(decode)
    case 'Map': return { kind: 'map', entries: properties(value as Record<string, Encoded>) }
    case 'Node': return node(value as EncodedNode)
    case 'Relationship': return relationship(value as EncodedRelationship)
    case 'Path': return {
      kind: 'path',
      steps: (value as Encoded[]).map(step => decode(step) as Node | Relationship)
    }
    case 'Vector': {
      const { coordinates } = value as { coordinates: string[] }
      return { kind: 'typed', type, text: `[${coordinates.join(', ')}]` }
    }
    default: return { kind: 'typed', type, text: String(value) }
  }
}

function float (text: string): number {
  switch (text) {
    case 'Infinity': return Infinity
    case '-Infinity': return -Infinity
    default: return Number(text)
  }
}

function properties (encoded: Record<string, Encoded>): Properties {
  // Without a prototype, so that a property may be called `__proto__`.
  const all: Properties = Object.create(null)
  for (const [key, value] of Object.entries(encoded)) all[key] = decode(value)
  return all
}

interface EncodedNode {
  _element_id: string
  _labels: string[]
  _properties: Record<string, Encoded>
}

function node (encoded: EncodedNode): Node {
  const { _element_id: id, _labels: labels, _properties } = encoded
  return { kind: 'node', id, labels, properties: properties(_properties) }
}

interface EncodedRelationship {
  _element_id: string
  _start_node_element_id: string
  _end_node_element_id: string
  _type: string
  _properties: Record<string, Encoded>
}

function relationship (encoded: EncodedRelationship): Relationship {
  return {
    kind: 'relationship',
    id: encoded._element_id,
    type: encoded._type,
    start: encoded._start_node_element_id,
    end: encoded._end_node_element_id,
    properties: properties(encoded._properties)
  }
}

// Whether `value` is one of the kinds that are objects with a `kind`.
export function isKind<K extends 'node' | 'relationship' | 'path' | 'typed' | 'map'> (
  value: Value, kind: K
): value is Extract<Value, { kind: K }> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && value.kind === kind
}

// A name in Cypher, quoted where it has to be.
export function name (text: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(text) ? text : '`' + text.replaceAll('`', '``') + '`'
}

// `value` as a literal of Cypher, as far as there is one; for people to read, and to copy.
export function literal (value: Value): string {
  if (value === null) return 'null'
  switch (typeof value) {
    case 'boolean': case 'bigint': return String(value)
    case 'number': return number(value)
    case 'string': return quoted(value)
  }
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  switch (value.kind) {
    case 'map': return map(value.entries)
    case 'node': return `(${value.labels.map(label => ':' + name(label)).join('')}${after(value.properties)})`
    case 'relationship': return `[:${name(value.type)}${after(value.properties)}]`
    case 'path': return value.steps.map(literal).join('-')
    case 'typed': return value.text
  }
}

function number (value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e21) return `${value}.0`
  return String(value)
}

function quoted (text: string): string {
  const escaped = text.replace(/[\\'\n\r\t]/g, char => {
    switch (char) {
      case '\n': return '\\n'
      case '\r': return '\\r'
      case '\t': return '\\t'
      default: return '\\' + char
    }
  })
  return `'${escaped}'`
}

function map (entries: Properties): string {
  return `{${Object.entries(entries).map(([key, value]) => `${name(key)}: ${literal(value)}`).join(', ')}}`
}

function after (entries: Properties): string {
  return Object.keys(entries).length === 0 ? '' : ' ' + map(entries)
}

// `value` as a cell of a table shows it: texts without quotes.
export function shown (value: Value): string {
  if (typeof value === 'string') return value
  return literal(value)
}

// `value` as plain JSON; integers beyond 2^53 are texts, so that none changes.
export function plain (value: Value): unknown {
  if (typeof value === 'bigint') {
    return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : String(value)
  }
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(plain)
  const all = (entries: Properties) => Object.fromEntries(Object.entries(entries).map(([k, v]) => [k, plain(v)]))
  switch (value.kind) {
    case 'map': return all(value.entries)
    case 'node': return { id: value.id, labels: value.labels, properties: all(value.properties) }
    case 'relationship': {
      const { id, type, start, end } = value
      return { id, type, start, end, properties: all(value.properties) }
    }
    case 'path': return value.steps.map(plain)
    case 'typed': return value.text
  }
}

// All nodes and relationships in `values`, each once.
export function elements (values: Iterable<Value>): { nodes: Map<string, Node>, relationships: Map<string, Relationship> } {
  const found = { nodes: new Map<string, Node>(), relationships: new Map<string, Relationship>() }
  const visit = (value: Value): void => {
    if (typeof value !== 'object' || value === null) return
    if (Array.isArray(value)) return value.forEach(visit)
    switch (value.kind) {
      case 'node': found.nodes.set(value.id, value); break
      case 'relationship': found.relationships.set(value.id, value); break
      case 'path': value.steps.forEach(visit); break
      case 'map': Object.values(value.entries).forEach(visit); break
      case 'typed': break
    }
  }
  for (const value of values) visit(value)
  return found
}
