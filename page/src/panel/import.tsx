// Files become nodes and relationships: drop one, look at its columns, say what they are, run.

import { signal } from '@preact/signals'

import { read, statement, command, type Column, type End, type Mapping, type Nodes, type Relationships, type Table, type Type } from '../state/files'
import { refreshSchema, schema } from '../state/schema'
import { api, mayWrite, noteError } from '../state/session'
import { name } from '../server/values'

const TYPES: Type[] = ['string', 'integer', 'float', 'boolean', 'date', 'datetime', 'skip']

interface Progress { rows: number, made: number, state: 'running' | 'done' | 'stopped' | 'failed', problem: string }

const table = signal<Table | undefined>(undefined)
const columns = signal<Column[]>([])
const mapping = signal<Mapping>({ kind: 'nodes', label: '', key: undefined })
const unique = signal(true)
const progress = signal<Progress | undefined>(undefined)
const problem = signal('')

let stopping = false

async function take (file: File | undefined): Promise<void> {
  if (!file) return
  problem.value = ''
  progress.value = undefined
  try {
    const found = await read(file)
    table.value = found
    columns.value = found.columns
    mapping.value = guessed(file.name, found.columns)
  } catch (error) {
    table.value = undefined
    problem.value = `${file.name} cannot be read: ${(error as Error).message}`
  }
}

// Two columns whose names speak of ends make relationships; anything else nodes, by an id if there is one.
function guessed (file: string, all: Column[]): Mapping {
  const stem = file.replace(/\.[^.]*$/, '').replace(/[^\p{L}\p{N}_]+/gu, '_')
  const at = (pattern: RegExp) => all.findIndex(column => pattern.test(column.name))
  const [from, to] = [at(/^:?(from|source|src|start|start_id)(_?id)?$/i), at(/^:?(to|target|dst|end|end_id)(_?id)?$/i)]
  if (from >= 0 && to >= 0) {
    return { kind: 'relationships', type: stem.toUpperCase(), from: likelyEnd(from), to: likelyEnd(to) }
  }
  const key = at(/^(id|.*_id|key|code)$/i)
  return { kind: 'nodes', label: stem.charAt(0).toUpperCase() + stem.slice(1), key: key < 0 ? undefined : key }
}

// The label and property by which nodes are most likely named: those of a unique property.
function likelyEnd (column: number): End {
  const unique = schema.value.constraints.find(({ entity, type }) => entity === 'NODE' && /UNIQUE|KEY/.test(type))
  if (unique) return { label: unique.of[0]!, property: unique.properties[0]!, column }
  const label = schema.value.labels[0]?.name ?? ''
  const known = schema.value.properties.get(label) ?? schema.value.keys
  return { label, property: known.find(key => /^(id|name|key)$/i.test(key)) ?? known[0] ?? 'id', column }
}

async function run (found: Table): Promise<void> {
  const [all, wanted] = [columns.value, mapping.value]
  stopping = false
  const so = { rows: 0, made: 0, problem: '' }
  progress.value = { ...so, state: 'running' }
  try {
    if (wanted.kind === 'nodes' && wanted.key !== undefined && unique.value) await constrain(wanted, all)
    const text = statement(all, wanted)
    for await (const rows of found.batches()) {
      if (stopping) break
      const answer = await api.value.run(text, { rows })
      so.rows += rows.length
      so.made += Number(answer.rows[0]?.[0] ?? 0)
      progress.value = { ...so, state: 'running' }
    }
    progress.value = { ...so, state: stopping ? 'stopped' : 'done' }
  } catch (error) {
    noteError(error)
    const where = `Rows ${(so.rows + 1).toLocaleString('en')} and on were not imported: `
    progress.value = { ...so, state: 'failed', problem: where + (error as Error).message }
  }
  void refreshSchema()
}

async function constrain ({ label, key }: Nodes, all: Column[]): Promise<void> {
  await api.value.run(`CREATE CONSTRAINT IF NOT EXISTS FOR (n:${name(label)}) REQUIRE n.${name(all[key!]!.name)} IS UNIQUE`)
}

export function Import () {
  const found = table.value
  if (!mayWrite.value) return <p class='muted'>This user, or this server, may not write.</p>
  return (
    <>
      <label
        class='drop' onDragOver={event => event.preventDefault()}
        onDrop={event => { event.preventDefault(); void take(event.dataTransfer?.files[0]) }}
      >
        <span>Drop a CSV, TSV or Parquet file here, or choose one. It is read in the browser.</span>
        <input
          type='file' accept='.csv,.tsv,.txt,.parquet' aria-label='File to import'
          onChange={event => { void take(event.currentTarget.files?.[0]) }}
        />
      </label>
      <p class='error' role='alert'>{problem.value}</p>
      {found && (
        <>
          <h3>{found.file.name}{found.rows === undefined ? '' : `, ${found.rows.toLocaleString('en')} rows`}</h3>
          <Columns />
          <What />
          <details>
            <summary>What is run</summary>
            <pre class='statement'>{statement(columns.value, mapping.value)}</pre>
          </details>
          <details>
            <summary>The same from a terminal</summary>
            <pre class='statement'>{command({ ...found, columns: columns.value }, mapping.value)}</pre>
          </details>
          <Go found={found} />
        </>
      )}
    </>
  )
}

function Columns () {
  const change = (at: number, type: Type) => {
    columns.value = columns.value.map((column, other) => other === at ? { ...column, type } : column)
  }
  return (
    <table class='columns'>
      <thead><tr><th scope='col'>Column</th><th scope='col'>Type</th></tr></thead>
      <tbody>
        {columns.value.map(({ name, type, examples }, at) => (
          <tr key={at}>
            <th scope='row' title={examples.join(', ')}>{name}<small class='muted'>{examples.join(', ')}</small></th>
            <td>
              <select aria-label={`Type of ${name}`} value={type} onChange={event => change(at, event.currentTarget.value as Type)}>
                {TYPES.map(one => <option key={one}>{one}</option>)}
              </select>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function What () {
  const wanted = mapping.value
  const labels = <datalist id='labels'>{schema.value.labels.map(({ name }) => <option key={name} value={name} />)}</datalist>
  const kinds: Mapping['kind'][] = ['nodes', 'relationships']
  const turn = (kind: Mapping['kind']) => {
    mapping.value = kind === 'nodes'
      ? { kind, label: '', key: undefined }
      : { kind, type: '', from: likelyEnd(0), to: likelyEnd(Math.min(1, columns.value.length - 1)) }
  }
  return (
    <fieldset>
      <legend>Each row becomes</legend>
      <div class='inline'>
        {kinds.map(kind => (
          <label key={kind} class='choice'>
            <input type='radio' name='kind' checked={wanted.kind === kind} onChange={() => turn(kind)} />
            {kind === 'nodes' ? 'a node' : 'a relationship'}
          </label>
        ))}
      </div>
      {labels}
      {wanted.kind === 'nodes' ? <NodeForm wanted={wanted} /> : <RelationshipForm wanted={wanted} />}
    </fieldset>
  )
}

function NodeForm ({ wanted }: { wanted: Nodes }) {
  return (
    <>
      <label>Label
        <input list='labels' value={wanted.label} onInput={event => { mapping.value = { ...wanted, label: event.currentTarget.value } }} />
      </label>
      <label>Told apart by
        <select
          value={wanted.key ?? -1}
          onChange={event => {
            const key = Number(event.currentTarget.value)
            mapping.value = { ...wanted, key: key < 0 ? undefined : key }
          }}
        >
          <option value={-1}>nothing: each row is a new node</option>
          {columns.value.map(({ name }, at) => <option key={at} value={at}>{name}</option>)}
        </select>
      </label>
      {wanted.key !== undefined && (
        <label class='choice'>
          <input type='checkbox' checked={unique.value} onChange={event => { unique.value = event.currentTarget.checked }} />
          with a constraint that keeps it unique, and an index
        </label>
      )}
    </>
  )
}

function RelationshipForm ({ wanted }: { wanted: Relationships }) {
  return (
    <>
      <label>Type
        <input value={wanted.type} onInput={event => { mapping.value = { ...wanted, type: event.currentTarget.value } }} />
      </label>
      <EndForm title='From' end={wanted.from} onChange={from => { mapping.value = { ...wanted, from } }} />
      <EndForm title='To' end={wanted.to} onChange={to => { mapping.value = { ...wanted, to } }} />
    </>
  )
}

function EndForm ({ title, end, onChange }: { title: string, end: End, onChange: (end: End) => void }) {
  return (
    <div class='end' role='group' aria-label={title}>
      <label>{title}: label
        <input list='labels' value={end.label} onInput={event => onChange({ ...end, label: event.currentTarget.value })} />
      </label>
      <label>whose
        <input value={end.property} onInput={event => onChange({ ...end, property: event.currentTarget.value })} />
      </label>
      <label>is in
        <select value={end.column} onChange={event => onChange({ ...end, column: Number(event.currentTarget.value) })}>
          {columns.value.map(({ name }, at) => <option key={at} value={at}>{name}</option>)}
        </select>
      </label>
    </div>
  )
}

function Go ({ found }: { found: Table }) {
  const so = progress.value
  const wanted = mapping.value
  const isNamed = wanted.kind === 'nodes' ? wanted.label !== '' : wanted.type !== '' && wanted.from.label !== '' && wanted.to.label !== ''
  const what = wanted.kind
  return (
    <>
      {so?.state === 'running'
        ? <button class='danger' onClick={() => { stopping = true }}>Stop</button>
        : <button class='primary' disabled={!isNamed} onClick={() => { void run(found) }}>Import</button>}
      {so && (
        <p role='status'>
          {so.rows.toLocaleString('en')} rows, {so.made.toLocaleString('en')} {what}, {so.state}
          {so.state === 'stopped' && ': what was imported stays'}
          {wanted.kind === 'relationships' && so.made < so.rows && so.state !== 'running' && '; the other rows name ends that are not there'}
        </p>
      )}
      {so && so.problem !== '' && <pre class='failure' role='alert'>{so.problem}</pre>}
    </>
  )
}
