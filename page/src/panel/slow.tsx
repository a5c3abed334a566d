// Statements of late that took long, as the server keeps them.

import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'

import { put } from '../editor/editor'
import { api, database, databases, noteError } from '../state/session'
import { duration } from '../view/results'
import { counted } from '../view/words'

const EVERY_MS = 10_000

interface Slow {
  start: string
  database: string
  user: string
  milliseconds: number
  rows: number
  error: string
  query: string
}

const all = signal<Slow[] | undefined>(undefined)
const problem = signal('')

async function look (): Promise<void> {
  try {
    const { rows } = await api.value.on('system').run(
      'CALL telar.slowQueries() YIELD startTime, database, username, elapsedTimeMillis, rows, error, query'
    )
    all.value = rows.map(([start, database, user, milliseconds, rows, error, query]) => ({
      start: start as string,
      database: database as string,
      user: user as string,
      milliseconds: Number(milliseconds),
      rows: Number(rows),
      error: (error as string | null) ?? '',
      query: query as string
    }))
    problem.value = ''
  } catch (error) {
    noteError(error)
    problem.value = (error as Error).message
  }
}

// Puts the statement into the editor, with the database where it ran.
function open (slow: Slow): void {
  if (databases.value.some(({ name, isOnline }) => name === slow.database && isOnline)) database.value = slow.database
  put(slow.query)
}

export function SlowQueries () {
  useEffect(() => {
    void look()
    const timer = setInterval(() => { void look() }, EVERY_MS)
    return () => clearInterval(timer)
  }, [])
  return (
    <section aria-label='Slow queries'>
      <h3>Slow queries</h3>
      {all.value?.length === 0 && <p class='muted'>None: a statement is slow from <code>log.slow</code> on, a second unless set.</p>}
      <ul class='texts'>
        {all.value?.map((slow, at) => {
          const { start, database, user, milliseconds, rows, error, query } = slow
          const told = [
            duration(milliseconds), counted(rows, 'row'), user, database,
            new Date(start).toLocaleString(), error.replace(/^.*\./, '')
          ]
          return (
            <li key={`${start} ${at}`}>
              <button class={error === '' ? 'ok' : 'failed'} title={`Open in the editor:\n${query}`} onClick={() => open(slow)}>
                <code>{query}</code>
                <small>{told.filter(part => part !== '').join(' · ')}</small>
              </button>
            </li>
          )
        })}
      </ul>
      <p class='error' role='status'>{problem.value}</p>
    </section>
  )
}
