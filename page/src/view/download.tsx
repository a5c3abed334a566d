// A result as a file.

import { csv } from '../server/csv'
import { shown } from '../server/values'
import { parameters, type Result } from '../state/run'
import { api, noteError } from '../state/session'
import { json } from './json'

export function save (name: string, parts: BlobPart[], type: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob(parts, { type }))
  link.download = name
  link.click()
  // The download has begun by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}

// Runs the statement again, as only the server knows the types of all columns.
async function arrow (result: Result): Promise<void> {
  const past = result.asOf === '' ? '' : `AT TIMESTAMP ${result.asOf} `
  try {
    const response = await api.value.on(result.database).fetch(`db/${encodeURIComponent(result.database)}/query/v2`, {
      method: 'POST',
      headers: { Accept: 'application/vnd.apache.arrow.stream', 'Content-Type': 'application/json' },
      body: JSON.stringify({ statement: past + result.text, parameters: parameters(), accessMode: 'READ' })
    })
    save('result.arrows', [await response.arrayBuffer()], 'application/vnd.apache.arrow.stream')
  } catch (error) {
    noteError(error)
    result.error.value = (error as Error).message
  }
}

export function Download ({ result }: { result: Result }) {
  const table = () => csv([result.fields.value, ...result.rows.map(row => row.map(shown))])
  return (
    <span class='download' role='group' aria-label='Download'>
      <button class='quiet' onClick={() => save('result.csv', [table()], 'text/csv')}>CSV</button>
      <button class='quiet' onClick={() => save('result.json', [json(result)], 'application/json')}>JSON</button>
      {result.summary.value?.queryType === 'r' && <button class='quiet' onClick={() => { void arrow(result) }}>Arrow</button>}
    </span>
  )
}
