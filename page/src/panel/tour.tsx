// Four steps through the sample graph, each of which does what it says.

import { signal } from '@preact/signals'

import { put } from '../editor/editor'
import { toured } from '../state/kept'
import { Icon } from '../view/icons'

interface Step {
  title: string
  text: string
  query?: string
}

const STEPS: Step[] = [
  {
    title: 'Who knows the most people?',
    text: 'A query goes into the editor and is run with Ctrl+Enter. This one counts.',
    query: 'MATCH (p:Person)-[:KNOWS]-(other)\nRETURN p.name AS person, count(other) AS knows\nORDER BY knows DESC LIMIT 5'
  },
  {
    title: 'Draw her neighbourhood',
    text: 'What returns nodes and paths can be looked at as a graph. Drag a node, double-click it to see more of it.',
    query: 'MATCH (p:Person)-[:KNOWS]-(other)\nWITH p, count(other) AS knows ORDER BY knows DESC LIMIT 1\n' +
      'MATCH path = (p)-[:KNOWS*1..2]-()\nRETURN path LIMIT 400'
  },
  {
    title: 'Colour it by community',
    text: 'The palette above the graph has Communities: the server finds out who belongs together. The labels at the left change how their nodes look.'
  },
  {
    title: 'Go back in time',
    text: 'Now, above the results, opens the commits that are kept. Move it, and the same query reads the graph as it was.'
  }
]

const at = signal<number | undefined>(undefined)

export function startTour (): void {
  at.value = 0
  show()
}

function show (): void {
  const { query } = STEPS[at.value!]!
  if (query) put(query, true)
}

function end (): void {
  at.value = undefined
  toured.value = true
}

export function Tour () {
  if (at.value === undefined) return null
  const { title, text } = STEPS[at.value]!
  const last = at.value === STEPS.length - 1
  return (
    <div class='tour' role='dialog' aria-label='Tour' onKeyDown={event => { if (event.key === 'Escape') end() }}>
      <button class='quiet remove' aria-label='End the tour' onClick={end}><Icon name='close' /></button>
      <small class='muted'>{at.value + 1} of {STEPS.length}</small>
      <h2>{title}</h2>
      <p>{text}</p>
      <div class='actions'>
        {at.value > 0 && <button onClick={() => { at.value! -= 1; show() }}>Back</button>}
        <button class='primary' onClick={() => { if (last) end(); else { at.value! += 1; show() } }}>{last ? 'Done' : 'Next'}</button>
      </div>
    </div>
  )
}
