// What was run in this browser, newest first.

import { signal } from '@preact/signals'

import { put } from '../editor/editor'
import { history } from '../state/kept'

const wanted = signal('')

export function History () {
  const words = wanted.value.toLowerCase()
  const found = history.value.filter(({ text }) => text.toLowerCase().includes(words))
  return (
    <>
      <input
        type='search' aria-label='Find in the history' placeholder='Find' value={wanted.value}
        onInput={event => { wanted.value = event.currentTarget.value }}
      />
      <ul class='texts'>
        {found.map(({ text, at, outcome, database }) => (
          <li key={`${at} ${text}`}>
            <button class={outcome} title={text} onClick={() => put(text)}>
              <code>{text}</code>
              <small>{new Date(at).toLocaleString()} · {database}{outcome === 'failed' ? ' · failed' : ''}</small>
            </button>
          </li>
        ))}
      </ul>
      {history.value.length === 0
        ? <p class='muted'>Nothing was run yet.</p>
        : <button class='quiet' onClick={() => { history.value = [] }}>Clear the history</button>}
    </>
  )
}
