// Search by words in full-text indexes, and by nearness in vector indexes.

import { effect, signal } from '@preact/signals'

import { put } from '../editor/editor'
import { literal, type Node, type Relationship } from '../server/values'
import { chosen } from '../state/chosen'
import { parametersText } from '../state/kept'
import { called, COUNT_MAX, nearest, numbers, NumbersError, searches, vectorOf, type Like } from '../state/nearest'
import { parameters } from '../state/run'
import { schema, type Index } from '../state/schema'
import { api, database, noteError } from '../state/session'

const index = signal('')
const words = signal('')

const FOUND_MAX = 10

export function Search () {
  const indexes = schema.value.indexes.filter(({ type }) => type === 'FULLTEXT' || type === 'VECTOR')
  if (indexes.length === 0) return <NoIndex />
  const searched = indexes.find(({ name }) => name === index.value) ?? indexes[0]!
  return (
    <>
      {indexes.length > 1 && (
        <label>Index
          <select value={searched.name} onChange={event => { index.value = event.currentTarget.value }}>
            {indexes.map(({ name, type }) => <option key={name} value={name}>{name} ({type === 'VECTOR' ? 'vectors' : 'words'})</option>)}
          </select>
        </label>
      )}
      {searched.type === 'VECTOR' ? <ByNearness index={searched} /> : <ByWords index={searched} />}
    </>
  )
}

function NoIndex () {
  const texts = [
    'CREATE FULLTEXT INDEX words IF NOT EXISTS FOR (n:Person) ON EACH [n.name]',
    'CREATE VECTOR INDEX vectors IF NOT EXISTS FOR (n:Chunk) ON n.embedding\n' +
      "OPTIONS {indexConfig: {`vector.dimensions`: 768, `vector.similarity_function`: 'cosine'}}"
  ]
  return (
    <>
      <p class='muted'>Words are searched by full-text indexes, and what is alike by vector indexes. There is none yet:</p>
      {texts.map(text => (
        <button key={text} class='quiet' onClick={() => put(text)}><code>{text.replace(/ INDEX[^]*/, ' INDEX …')}</code></button>
      ))}
    </>
  )
}

function byWords (index: Index, words: string, limit: number): string {
  const { kind, yields, shows } = searches(index)
  return `CALL db.index.fulltext.query${kind}(${literal(index.name)}, ${literal(words)})\n${yields} RETURN ${shows} LIMIT ${limit}`
}

function ByWords ({ index }: { index: Index }) {
  const submit = (event: Event) => {
    event.preventDefault()
    put(byWords(index, words.value, 50), true)
  }
  return (
    <form onSubmit={submit}>
      <label>Words
        <input type='search' value={words.value} onInput={event => { words.value = event.currentTarget.value }} />
      </label>
      <p class='muted'>In {index.of.join(', ')} ({index.properties.join(', ')}). Lucene's syntax: <code>graph* AND -slow~</code></p>
      <button class='primary' disabled={words.value.trim() === ''}>Search</button>
    </form>
  )
}

const by = signal<'element' | 'numbers'>('element')
const pasted = signal('')
const count = signal(10)
// What was chosen of what words have found; else it is what is selected in the graph, if that was later.
const picked = signal<Node | Relationship | undefined>(undefined)

effect(() => {
  if (chosen.value) picked.value = undefined
})

function like (index: Index): { like?: Like, problem?: string } {
  if (by.value === 'numbers') {
    try {
      return { like: { numbers: numbers(pasted.value, index.dimensions) } }
    } catch (error) {
      if (!(error instanceof NumbersError)) throw error
      return { problem: error.message }
    }
  }
  const element = picked.value ?? chosen.value
  if (!element) return { problem: 'Select a node in the graph, or find one by words.' }
  const property = vectorOf(element, index)
  if (property === undefined) {
    const length = index.dimensions === undefined ? '' : ` of ${index.dimensions} numbers`
    return { problem: `${called(element)} has no vector${length}.` }
  }
  return { like: { element, property } }
}

function ByNearness ({ index }: { index: Index }) {
  const found = like(index)
  const search = found.like && nearest(index, found.like, count.value)
  const submit = (event: Event) => {
    event.preventDefault()
    if (!search) return
    if (search.parameters.vector) {
      const others = ownParameters()
      parametersText.value = JSON.stringify({ ...others, ...search.parameters })
    }
    put(search.text, true)
  }
  const element = picked.value ?? chosen.value
  return (
    <form onSubmit={submit}>
      <fieldset>
        <legend>Near to</legend>
        <label class='choice'>
          <input type='radio' name='like' checked={by.value === 'element'} onChange={() => { by.value = 'element' }} />
          a node or relationship
        </label>
        <label class='choice'>
          <input type='radio' name='like' checked={by.value === 'numbers'} onChange={() => { by.value = 'numbers' }} />
          numbers
        </label>
        {by.value === 'element'
          ? (
            <>
              {element && <p>Like <b>{called(element)}</b></p>}
              <Finder />
            </>
            )
          : (
            <label>Vector
              <textarea
                class='numbers' spellcheck={false} value={pasted.value} placeholder='[0.12, -0.5, …]'
                onInput={event => { pasted.value = event.currentTarget.value }}
              />
            </label>
            )}
      </fieldset>
      <label>How many
        <input
          type='number' min={1} max={COUNT_MAX} value={count.value}
          onInput={event => {
            const wanted = event.currentTarget.valueAsNumber
            if (Number.isInteger(wanted) && wanted >= 1) count.value = Math.min(wanted, COUNT_MAX)
          }}
        />
      </label>
      <p class='muted'>In {index.of.join(', ')} ({index.properties.join(', ')}).</p>
      {search && <pre class='statement' tabIndex={0} aria-label='The statement'>{search.text}</pre>}
      {found.problem !== undefined && <p class='muted' role='status'>{found.problem}</p>}
      <button class='primary' disabled={!search}>Search</button>
    </form>
  )
}

// The parameters of the panel, without those that cannot be read.
function ownParameters (): Record<string, unknown> {
  try {
    return parameters()
  } catch {
    return {}
  }
}

// What a search is to be near to, as it is found: in which index, and by which words.
const foundIn = signal('')
const finding = signal('')
const hits = signal<(Node | Relationship)[] | undefined>(undefined)
const problem = signal('')

// What was found, or selected, is of its database only.
effect(() => {
  void database.value
  hits.value = undefined
  picked.value = undefined
  chosen.value = undefined
})

async function find (index: Index): Promise<void> {
  try {
    const { fields, rows } = await api.value.run(byWords(index, finding.value, FOUND_MAX))
    const at = fields.indexOf(searches(index).found)
    hits.value = rows.map(row => row[at] as Node | Relationship)
    problem.value = ''
  } catch (error) {
    noteError(error)
    hits.value = undefined
    problem.value = (error as Error).message
  }
}

// Finds what a search is to be near to, where there is an index of words.
function Finder () {
  const indexes = schema.value.indexes.filter(({ type }) => type === 'FULLTEXT')
  const searched = indexes.find(({ name }) => name === foundIn.value) ?? indexes[0]
  if (!searched) return null
  const enter = (event: KeyboardEvent) => {
    if (event.key !== 'Enter') return
    event.preventDefault()
    if (finding.value.trim() !== '') void find(searched)
  }
  return (
    <>
      {indexes.length > 1 && (
        <label>Find in
          <select value={searched.name} onChange={event => { foundIn.value = event.currentTarget.value }}>
            {indexes.map(({ name }) => <option key={name}>{name}</option>)}
          </select>
        </label>
      )}
      <label>Find one by words
        <input
          type='search' value={finding.value} onKeyDown={enter}
          onInput={event => { finding.value = event.currentTarget.value }}
        />
      </label>
      <button type='button' disabled={finding.value.trim() === ''} onClick={() => { void find(searched) }}>Find</button>
      {hits.value && (
        <ul class='texts' aria-label='Found'>
          {hits.value.map(hit => (
            <li key={hit.id}>
              <button
                type='button' aria-pressed={picked.value?.id === hit.id}
                onClick={() => { picked.value = picked.value?.id === hit.id ? undefined : hit }}
              >{called(hit)}</button>
            </li>
          ))}
        </ul>
      )}
      {hits.value?.length === 0 && <p class='muted'>Nothing has these words.</p>}
      <p class='error' role='status'>{problem.value}</p>
    </>
  )
}
