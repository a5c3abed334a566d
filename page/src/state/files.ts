// Files that are dropped on the page: read here, a batch of rows at a time, and sent as parameters. The
// server opens none of them.

import { parquetMetadataAsync, parquetReadObjects, type AsyncBuffer } from 'hyparquet'
import Papa from 'papaparse'

import { name } from '../server/values'

export type Type = 'string' | 'integer' | 'float' | 'boolean' | 'date' | 'datetime' | 'skip'

export interface Column {
  name: string
  type: Type
  // A few values, for people.
  examples: string[]
}

export interface Table {
  file: File
  columns: Column[]
  // None where nobody knows before the end.
  rows: number | undefined
  // All rows in batches; a cell without a value is null.
  batches: () => AsyncGenerator<Row[]>
}

export type Row = (string | null)[]

// Rows that say what a column holds.
const SAMPLE = 1000
const BATCH = 2000

export async function read (file: File): Promise<Table> {
  return /\.parquet$/i.test(file.name) ? parquet(file) : text(file)
}

async function text (file: File): Promise<Table> {
  const head: Row[] = []
  for await (const batch of textRows(file)) {
    head.push(...batch)
    if (head.length > SAMPLE) break
  }
  const [header, ...rows] = head
  if (!header) throw new Error(`${file.name} is empty`)
  const names = header.map((one, at) => one?.trim() || `column${at + 1}`)
  return {
    file,
    columns: columns(names, rows.slice(0, SAMPLE)),
    rows: undefined,
    batches: async function * () {
      let first = true
      for await (const batch of textRows(file)) {
        const rows = first ? batch.slice(1) : batch
        first = false
        if (rows.length > 0) yield rows
      }
    }
  }
}

// The records of a text, its header among them. The parser stands still while its rows are worked on.
async function * textRows (file: File): AsyncGenerator<Row[]> {
  const ready: Row[][] = []
  let batch: Row[] = []
  let parser: Papa.Parser | undefined
  let ended = false
  let failure: Error | undefined
  let wake = () => {}
  const told = () => new Promise<void>(resolve => { wake = resolve })
  Papa.parse<string[]>(file, {
    skipEmptyLines: true,
    step ({ data, errors }, itself) {
      parser = itself
      const [error] = errors
      if (error && error.code !== 'UndetectableDelimiter') {
        failure = new Error(`${file.name}, row ${(error.row ?? 0) + 1}: ${error.message}`)
        itself.abort()
        return wake()
      }
      batch.push(data.map(cell => cell === '' ? null : cell))
      if (batch.length < BATCH) return
      ready.push(batch)
      batch = []
      itself.pause()
      wake()
    },
    complete () {
      ended = true
      if (batch.length > 0) ready.push(batch)
      wake()
    },
    error (error) {
      failure = error
      wake()
    }
  })
  try {
    for (;;) {
      if (failure) throw failure
      const next = ready.shift()
      if (next) {
        yield next
        if (!ended && ready.length === 0) parser?.resume()
      } else if (ended) {
        return
      } else {
        await told()
      }
    }
  } finally {
    parser?.abort()
  }
}

async function parquet (file: File): Promise<Table> {
  const buffer: AsyncBuffer = {
    byteLength: file.size,
    slice: (start, end) => file.slice(start, end).arrayBuffer()
  }
  const metadata = await parquetMetadataAsync(buffer)
  const total = Number(metadata.num_rows)
  const rows = async (from: number, to: number): Promise<Record<string, unknown>[]> =>
    await parquetReadObjects({ file: buffer, metadata, rowStart: from, rowEnd: Math.min(to, total) })
  const names = metadata.schema.slice(1).filter(element => !element.num_children).map(element => element.name)
  const asRow = (record: Record<string, unknown>): Row => names.map(name => cell(record[name]))
  const head = (await rows(0, SAMPLE)).map(asRow)
  return {
    file,
    columns: columns(names, head),
    rows: total,
    batches: async function * () {
      for (let at = 0; at < total; at += BATCH) yield (await rows(at, at + BATCH)).map(asRow)
    }
  }
}

function cell (value: unknown): string | null {
  if (value === null || value === undefined) return null
  if (value instanceof Date) return value.toISOString()
  if (typeof value === 'object') return JSON.stringify(value, (_, one) => typeof one === 'bigint' ? String(one) : one)
  return String(value)
}

const PATTERNS: [Type, RegExp][] = [
  ['integer', /^[-+]?\d{1,18}$/],
  ['float', /^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/],
  ['boolean', /^(true|false)$/i],
  ['date', /^\d{4}-\d{2}-\d{2}$/],
  ['datetime', /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[-+]\d{2}:?\d{2})?$/]
]

// The narrowest type that all values have. Numbers that begin with a zero are names of something.
export function inferred (values: string[]): Type {
  if (values.length === 0 || values.some(value => /^[-+]?0\d/.test(value))) return 'string'
  return PATTERNS.find(([, pattern]) => values.every(value => pattern.test(value)))?.[0] ?? 'string'
}

function columns (names: string[], rows: Row[]): Column[] {
  return names.map((name, at) => {
    const values = rows.map(row => row[at] ?? null).filter(value => value !== null)
    return { name, type: inferred(values), examples: [...new Set(values)].slice(0, 3) }
  })
}

// How a cell becomes a value of Cypher.
export function converted (cell: string, type: Type): string {
  switch (type) {
    case 'integer': return `toInteger(${cell})`
    case 'float': return `toFloat(${cell})`
    case 'boolean': return `toBoolean(${cell})`
    case 'date': return `date(${cell})`
    case 'datetime': return `datetime(replace(${cell}, ' ', 'T'))`
    default: return cell
  }
}

export interface Nodes {
  kind: 'nodes'
  label: string
  // The column by which nodes are told apart; none: each row is a new node.
  key: number | undefined
}

export interface End { label: string, property: string, column: number }

export interface Relationships {
  kind: 'relationships'
  type: string
  from: End
  to: End
}

export type Mapping = Nodes | Relationships

// How a row's cell is written: the page sends rows as lists, files are loaded as maps.
type Cell = (column: number) => string

const listed: Cell = column => `row[${column}]`

function set (variable: string, columns: Column[], but: number[], cell: Cell): string {
  const parts = columns.flatMap(({ name: key, type }, at) =>
    type === 'skip' || but.includes(at) ? [] : [`${variable}.${name(key)} = ${converted(cell(at), type)}`])
  return parts.length === 0 ? '' : `\nSET ${parts.join(',\n    ')}`
}

// What makes nodes or relationships of `row`.
function clauses (columns: Column[], mapping: Mapping, cell: Cell): string {
  if (mapping.kind === 'nodes') {
    const { label, key } = mapping
    if (key === undefined) return `CREATE (n:${name(label)})${set('n', columns, [], cell)}`
    const { name: property, type } = columns[key]!
    return `MERGE (n:${name(label)} {${name(property)}: ${converted(cell(key), type)}})${set('n', columns, [key], cell)}`
  }
  const { type, from, to } = mapping
  const end = (variable: string, { label, property, column }: End) =>
    `MATCH (${variable}:${name(label)} {${name(property)}: ${converted(cell(column), columns[column]!.type)}})`
  const made = `CREATE (a)-[r:${name(type)}]->(b)${set('r', columns, [from.column, to.column], cell)}`
  return `${end('a', from)}\n${end('b', to)}\n${made}`
}

// The statement that is run for each batch of rows.
export function statement (columns: Column[], mapping: Mapping): string {
  const made = mapping.kind === 'nodes' ? 'n' : 'r'
  return `UNWIND $rows AS row\n${clauses(columns, mapping, listed)}\nRETURN count(${made}) AS done`
}

// What does the same to the file from a terminal, in its folder.
export function command ({ file, columns }: Table, mapping: Mapping): string {
  const isParquet = /\.parquet$/i.test(file.name)
  const path = file.name.replace(/[\\']/g, '\\$&')
  const load = isParquet ? `LOAD PARQUET FROM '${path}' AS row` : `LOAD CSV WITH HEADERS FROM 'file:///${path}' AS row`
  const cell: Cell = at => isParquet ? `toString(row.${name(columns[at]!.name)})` : `row.${name(columns[at]!.name)}`
  const inner = clauses(columns, mapping, cell).replaceAll('\n', '\n  ')
  const text = `${load}\nCALL (row) {\n  ${inner}\n} IN TRANSACTIONS OF ${BATCH} ROWS`
  return `telar shell bolt://localhost --import-folder . -c "${text.replace(/[\\"$`]/g, '\\$&')}"`
}
