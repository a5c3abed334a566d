// A result as JSON text.

import { plain } from '../server/values'
import type { Result } from '../state/run'

// Rows that are shown; the download has all.
const ROWS_MAX = 200

export function json (result: Result, most = Infinity): string {
  const fields = result.fields.value
  const rows = result.rows.slice(0, most)
    .map(row => Object.fromEntries(fields.map((field, at) => [field, plain(row[at]!)])))
  return JSON.stringify(rows, null, 2)
}

export function Json ({ result }: { result: Result }) {
  void result.version.value
  const rest = result.rows.length - ROWS_MAX
  return (
    <div class='json' tabIndex={0} role='region' aria-label='JSON'>
      <pre>{json(result, ROWS_MAX)}</pre>
      {rest > 0 && <p class='muted'>{rest.toLocaleString('en')} more rows are in the download.</p>}
    </div>
  )
}
