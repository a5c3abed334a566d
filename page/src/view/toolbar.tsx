// What can be done with the text in the editor.

import { signal } from '@preact/signals'

import { chosen, text } from '../editor/editor'
import { rowLimit, saved } from '../state/kept'
import { isLive, problem } from '../state/live'
import { isRunning, run, stop } from '../state/run'
import { Icon } from './icons'
import { SliderButton } from './slider'

const LIMITS = [100, 1000, 10_000, 100_000, 1_000_000]

const note = signal('')
const naming = signal<string | undefined>(undefined)

function say (what: string): void {
  note.value = what
  setTimeout(() => { if (note.value === what) note.value = '' }, 3000)
}

function start (prefix?: 'EXPLAIN' | 'PROFILE'): void {
  const { text, offset } = chosen()
  void run(text, prefix ? { offset, prefix } : { offset })
}

async function share (): Promise<void> {
  const address = `${location.origin}${location.pathname}#cypher=${encodeURIComponent(text())}`
  try {
    await navigator.clipboard.writeText(address)
    say('The address is in the clipboard.')
  } catch {
    // Without a clipboard the address can be copied from where addresses are.
    history.replaceState(null, '', address)
    say('Copy the address from the address bar.')
  }
}

function save (event: Event): void {
  event.preventDefault()
  const name = (naming.value ?? '').trim()
  if (name === '') return
  saved.value = [...saved.value.filter(one => one.name !== name), { name, text: text() }]
    .sort((a, b) => a.name.localeCompare(b.name))
  naming.value = undefined
  say(`Saved as ${name}.`)
}

export function Toolbar () {
  return (
    <div class='toolbar' role='toolbar' aria-label='Query'>
      {isRunning.value
        ? <button class='primary danger' onClick={stop}><Icon name='stop' />Stop</button>
        : <button class='primary' title='Run (Ctrl+Enter)' onClick={() => start()}><Icon name='play' />Run</button>}
      <button title='Show the plan without running' onClick={() => start('EXPLAIN')}><Icon name='plan' />Explain</button>
      <button title='Run and measure each operator (Ctrl+Shift+Enter)' onClick={() => start('PROFILE')}>
        <Icon name='status' />Profile
      </button>
      <label class='inline'>Rows
        <select
          aria-label='Most rows' value={rowLimit.value}
          onChange={event => { rowLimit.value = Number(event.currentTarget.value) }}
        >
          {LIMITS.map(limit => <option key={limit} value={limit}>{limit.toLocaleString('en')}</option>)}
        </select>
      </label>
      <SliderButton />
      <button
        aria-pressed={isLive.value} title='Ask again whenever something is committed'
        onClick={() => { isLive.value = !isLive.value }}
      >
        <Icon name='running' />Live
      </button>
      <span class='space' />
      <span class='muted' role='status'>{note.value || problem.value}</span>
      {naming.value === undefined
        ? <button title='Keep this text in the browser' onClick={() => { naming.value = '' }}><Icon name='save' />Save</button>
        : (
          <form class='inline' onSubmit={save}>
            <input
              aria-label='Name of the query' placeholder='Name' value={naming.value} ref={input => input?.focus()}
              onInput={event => { naming.value = event.currentTarget.value }}
              onKeyDown={event => { if (event.key === 'Escape') naming.value = undefined }}
            />
            <button>Save</button>
          </form>
          )}
      <button title='Copy an address that opens this text' onClick={() => { void share() }}><Icon name='share' />Share</button>
    </div>
  )
}
