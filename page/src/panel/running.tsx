// What runs on the server, and how it is ended.

import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'

import { shown as text, type Value } from '../server/values'
import { api, noteError } from '../state/session'

const EVERY_MS = 2000

interface Transaction {
  id: string
  database: string
  user: string
  query: string
  elapsed: string
}

const all = signal<Transaction[]>([])
const problem = signal('')

async function look (): Promise<void> {
  try {
    const { rows } = await api.value.run(
      'SHOW TRANSACTIONS YIELD transactionId, database, username, currentQuery, elapsedTime'
    )
    const found = rows.map(row => row.map(value => text(value as Value)))
    all.value = found
      .map(([id, database, user, query, elapsed]) => ({ id: id!, database: database!, user: user!, query: query!, elapsed: elapsed! }))
      .filter(({ query }) => !query.startsWith('SHOW TRANSACTIONS'))
    problem.value = ''
  } catch (error) {
    noteError(error)
    problem.value = (error as Error).message
  }
}

async function end (id: string): Promise<void> {
  try {
    await api.value.run(`TERMINATE TRANSACTIONS '${id.replace(/[\\']/g, '\\$&')}'`)
    await look()
  } catch (error) {
    noteError(error)
    problem.value = (error as Error).message
  }
}

export function Running () {
  useEffect(() => {
    void look()
    const timer = setInterval(() => { void look() }, EVERY_MS)
    return () => clearInterval(timer)
  }, [])
  return (
    <>
      <ul class='texts'>
        {all.value.map(({ id, database, user, query, elapsed }) => (
          <li key={id}>
            <div>
              <code>{query || '(idle in a transaction)'}</code>
              <small>{[user, database, elapsed].filter(part => part !== '').join(' · ')}</small>
            </div>
            <button class='danger' aria-label={`Stop ${id}`} onClick={() => { void end(id) }}>Stop</button>
          </li>
        ))}
      </ul>
      {all.value.length === 0 && <p class='muted'>Nothing runs at the moment.</p>}
      <p class='error' role='status'>{problem.value}</p>
    </>
  )
}
