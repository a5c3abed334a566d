// What chooses an algorithm and what it runs on, and says before it runs what it will take.

import { useEffect, useRef, useState } from 'preact/hooks'

import { counted, messageOf } from '../view/words'
import type { Actions } from './actions'
import {
  ALGORITHMS, algorithmOf, estimate, estimateOf, readable, warning, written, type Estimate, type Scope
} from './algorithms'
import { Dialog } from './dialog'
import type { View } from './view'

interface DialogProps {
  view: View
  actions: Actions
  onStatement: (text: string) => void
}

interface Names {
  labels: string[]
  types: string[]
}

// Time after a change before the server is asked what it means.
const PAUSE_MILLISECONDS = 150

export function AlgorithmDialog ({ view, actions, onStatement }: DialogProps) {
  const onClose = (): void => actions.choose(false)
  const [id, setId] = useState(ALGORITHMS[0]!.id)
  const [isWhole, setWhole] = useState(false)
  const [names, setNames] = useState<Names>({ labels: [], types: [] })
  const [chosen, setChosen] = useState<Names>({ labels: [], types: [] })
  const first = useRef<HTMLSelectElement>(null)
  useEffect(() => { void actions.names().then(setNames) }, [])
  const algorithm = algorithmOf(id)
  const scope: Scope = isWhole ? { kind: 'database', ...chosen } : { kind: 'shown' }
  const { value, problem } = useEstimate(view, actions, id, scope)
  const warned = value && warning(algorithm, value)
  const isBusy = actions.isBusy.value
  const run = async (): Promise<void> => {
    if (await actions.algorithm(algorithm, scope)) onClose()
  }
  return (
    <Dialog title='Algorithms' class='graph-algorithm' first={first} onClose={onClose}>
      <label>
        <span>Compute</span>
        <select ref={first} value={id} onChange={event => setId(event.currentTarget.value)}>
          {[true, false].map(isGroup => (
            <optgroup key={String(isGroup)} label={isGroup ? 'Colours: which groups are there?' : 'Sizes: who matters?'}>
              {ALGORITHMS.filter(one => one.isGroup === isGroup).map(one => (
                <option key={one.id} value={one.id}>{one.title}</option>
              ))}
            </optgroup>
          ))}
        </select>
      </label>
      <fieldset>
        <legend>On</legend>
        <label>
          <input type='radio' name='graph-scope' checked={!isWhole} onChange={() => setWhole(false)} />
          what is shown
        </label>
        <label>
          <input type='radio' name='graph-scope' checked={isWhole} onChange={() => setWhole(true)} />
          the database; what is shown gets its colours or sizes
        </label>
      </fieldset>
      {isWhole && (
        <>
          <Choice
            title='Labels' all={names.labels} chosen={chosen.labels}
            onChange={labels => setChosen({ ...chosen, labels })}
          />
          <Choice
            title='Relationship types' all={names.types} chosen={chosen.types}
            onChange={types => setChosen({ ...chosen, types })}
          />
        </>
      )}
      <p role='status' class='graph-estimate'>{told(value, problem)}</p>
      {warned !== undefined && <p class='graph-form-error' role='alert'>{warned}</p>}
      {actions.error.value !== undefined && actions.error.value !== problem && (
        <p class='graph-form-error' role='alert'>{actions.error.value}</p>
      )}
      <div class='graph-confirm-foot'>
        {isWhole && (
          <button
            type='button' onClick={() => {
              onStatement(written(algorithm, chosen))
              onClose()
            }}
          >As Cypher</button>
        )}
        {isBusy
          ? <button type='button' onClick={() => actions.cancel()}>Stop</button>
          : <button type='button' onClick={onClose}>Cancel</button>}
        <button type='button' class='graph-primary' disabled={isBusy || !value} onClick={() => void run()}>Run</button>
      </div>
    </Dialog>
  )
}

function told (value: Estimate | undefined, problem: string | undefined): string {
  if (problem !== undefined) return problem
  if (!value) return 'Asking what this takes…'
  return `${counted(value.nodes, 'node')}, ${counted(value.relationships, 'relationship')}: ` +
    `about ${readable(value.bytes)} of memory.`
}

interface Answer {
  // What the server was asked about.
  choice: string
  scene: View['scene']['value']
  value?: Estimate
  problem?: string
}

// What the choice will take; nothing while the server is asked.
function useEstimate (view: View, actions: Actions, id: string, scope: Scope): Partial<Answer> {
  const [answer, setAnswer] = useState<Answer | undefined>(undefined)
  const choice = JSON.stringify([id, scope])
  const scene = view.scene.value
  useEffect(() => {
    const abort = new AbortController()
    const timer = setTimeout(async () => {
      try {
        const { nodes, relationships } = scene
        const query = estimate(algorithmOf(id), scope, { nodes: nodes.values(), relationships: relationships.values() })
        const [row] = await actions.look(query, abort.signal)
        const value = estimateOf(algorithmOf(id), row)
        if (abort.signal.aborted || !value) return
        // Nodes that have labels of those that are shown take memory, too, and are no part of what is asked.
        const size = scope.kind === 'shown' ? { nodes: nodes.size, relationships: relationships.size } : {}
        setAnswer({ choice, scene, value: { ...value, ...size } })
      } catch (error) {
        if (!abort.signal.aborted) setAnswer({ choice, scene, problem: messageOf(error) })
      }
    }, PAUSE_MILLISECONDS)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [choice, scene])
  // An effect follows a frame later than what is chosen: an answer about something else is none meanwhile.
  return answer?.choice === choice && answer.scene === scene ? answer : {}
}

function Choice ({ title, all, chosen, onChange }: {
  title: string, all: string[], chosen: string[], onChange: (chosen: string[]) => void
}) {
  if (all.length === 0) return null
  return (
    <fieldset class='graph-choice'>
      <legend>{title}{chosen.length === 0 && ': all'}</legend>
      {all.map(one => (
        <label key={one}>
          <input
            type='checkbox' checked={chosen.includes(one)}
            onChange={event => onChange(event.currentTarget.checked
              ? [...chosen, one]
              : chosen.filter(other => other !== one))}
          />
          {one}
        </label>
      ))}
    </fieldset>
  )
}
