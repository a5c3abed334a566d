// Search by words in full-text indexes.

import { signal } from '@preact/signals'

import { put } from '../editor/editor'
import { schema } from '../state/schema'

const index = signal('')
const words = signal('')

export function Search () {
  const indexes = schema.value.indexes.filter(({ type }) => type === 'FULLTEXT')
  if (indexes.length === 0) {
    return (
      <>
        <p class='muted'>Words are searched by full-text indexes, and there is none yet:</p>
        <button class='quiet' onClick={() => put('CREATE FULLTEXT INDEX words IF NOT EXISTS FOR (n:Person) ON EACH [n.name]')}>
          <code>CREATE FULLTEXT INDEX …</code>
        </button>
      </>
    )
  }
  const chosen = indexes.find(({ name }) => name === index.value) ?? indexes[0]!
  const submit = (event: Event) => {
    event.preventDefault()
    const isNode = chosen.entity === 'NODE'
    const quoted = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`
    const called = `CALL db.index.fulltext.query${isNode ? 'Nodes' : 'Relationships'}(${quoted(chosen.name)}, ${quoted(words.value)})`
    const rest = isNode
      ? 'YIELD node, score RETURN node, score LIMIT 50'
      : 'YIELD relationship AS r, score RETURN startNode(r) AS a, r, endNode(r) AS b, score LIMIT 50'
    put(`${called}\n${rest}`, true)
  }
  return (
    <form onSubmit={submit}>
      {indexes.length > 1 && (
        <label>Index
          <select value={chosen.name} onChange={event => { index.value = event.currentTarget.value }}>
            {indexes.map(({ name }) => <option key={name}>{name}</option>)}
          </select>
        </label>
      )}
      <label>Words
        <input type='search' value={words.value} onInput={event => { words.value = event.currentTarget.value }} />
      </label>
      <p class='muted'>In {chosen.of.join(', ')} ({chosen.properties.join(', ')}). Lucene's syntax: <code>graph* AND -slow~</code></p>
      <button class='primary' disabled={words.value.trim() === ''}>Search</button>
    </form>
  )
}
