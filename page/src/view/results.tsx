// What a run has answered: a tab for each statement, and for each of these several ways to look at it.

import { useEffect, useMemo } from 'preact/hooks'

import { put } from '../editor/editor'
import { chosen } from '../state/chosen'
import { kept } from '../state/kept'
import { graphOf, plan, results, run, shown, type Result } from '../state/run'
import { refreshSchema } from '../state/schema'
import { api, dark, mayWrite } from '../state/session'
import { Download } from './download'
import { Json } from './json'
import { lazy } from './lazy'
import { PlanView } from './plan'
import { Slider } from './slider'
import { Table } from './table'
import { counted } from './words'

type Look = 'graph' | 'table' | 'json' | 'plan'

const NAMES: Record<Look, string> = { graph: 'Graph', table: 'Table', json: 'JSON', plan: 'Plan' }

// How one looked last, which the next result follows where it can.
const wanted = kept<Look>('look', 'graph')

function looks (result: Result): Look[] {
  // Reading it here makes the caller follow what comes in.
  void result.version.value
  const { nodes } = graphOf(result)
  const found: Look[] = []
  if (nodes.size > 0) found.push('graph')
  if (result.fields.value.length > 0) found.push('table', 'json')
  if (plan(result)) found.push('plan')
  return found
}

export function Results () {
  const all = results.value
  const result = all[shown.value]
  return (
    <section class='results' aria-label='Results'>
      <Slider />
      {all.length > 1 && (
        <div class='statements' role='tablist' aria-label='Statements'>
          {all.map((one, at) => (
            <button
              key={at} role='tab' aria-selected={at === shown.value} class={one.progress.value} title={one.text}
              aria-label={`${at + 1}, ${one.progress.value}`} onClick={() => { shown.value = at }}
            >
              {at + 1}
            </button>
          ))}
        </div>
      )}
      {result ? <One key={`${shown.value} ${result.text}`} result={result} /> : <Nothing />}
    </section>
  )
}

function Nothing () {
  return <p class='nothing muted'>Ctrl+Enter runs what is in the editor.</p>
}

function One ({ result }: { result: Result }) {
  const possible = looks(result)
  const profiled = plan(result)
  const look = profiled && result.fields.value.length === 0
    ? 'plan'
    : possible.includes(wanted.value) ? wanted.value : possible[0]
  // What changes the schema or brings labels is worth another look at it.
  useEffect(() => {
    const { counters, queryType } = result.summary.value ?? {}
    if (queryType === 's' || counters?.containsUpdates === true) void refreshSchema()
  }, [result.summary.value])
  return (
    <div class='result'>
      <div class='looks'>
        <div role='tablist' aria-label='Ways to look at the result'>
          {possible.map(one => (
            <button key={one} role='tab' aria-selected={one === look} onClick={() => { wanted.value = one }}>{NAMES[one]}</button>
          ))}
        </div>
        <Outcome result={result} />
        <span class='space' />
        {result.rows.length > 0 && look !== 'graph' && <Download result={result} />}
      </div>
      <Notes result={result} />
      {result.error.value !== '' && <pre class='failure' role='alert'>{result.error.value}</pre>}
      <div class='view' role='tabpanel' aria-label={look && NAMES[look]}>
        {look === 'graph' && <Graph result={result} />}
        {look === 'table' && <Table result={result} />}
        {look === 'json' && <Json result={result} />}
        {look === 'plan' && profiled && <PlanView root={profiled} text={result.text} offset={result.offset} />}
      </div>
    </div>
  )
}

// What draws is larger than all else together, and is loaded once there is something to draw.
const GraphPanel = lazy(async () => (await import('../graph/panel')).GraphPanel)

function Graph ({ result }: { result: Result }) {
  const version = result.version.value
  const source = useMemo(() => graphOf(result), [result, version])
  return (
    <GraphPanel
      source={source} api={api.value} dark={dark.value}
      readOnly={!mayWrite.value} timestamp={result.asOf === '' ? undefined : `AT TIMESTAMP ${result.asOf}`}
      showChanges onStatement={text => put(text)} onChosen={element => { chosen.value = element }}
    />
  )
}

const COUNTED: [string, string][] = [
  ['nodesCreated', 'nodes created'], ['nodesDeleted', 'nodes deleted'],
  ['relationshipsCreated', 'relationships created'], ['relationshipsDeleted', 'relationships deleted'],
  ['propertiesSet', 'properties set'], ['labelsAdded', 'labels added'], ['labelsRemoved', 'labels removed'],
  ['indexesAdded', 'indexes added'], ['indexesRemoved', 'indexes removed'],
  ['constraintsAdded', 'constraints added'], ['constraintsRemoved', 'constraints removed']
]

function Outcome ({ result }: { result: Result }) {
  void result.version.value
  const progress = result.progress.value
  const counters = result.summary.value?.counters ?? {}
  const changes = COUNTED.filter(([key]) => Number(counters[key] ?? 0) > 0)
    .map(([key, text]) => `${Number(counters[key]).toLocaleString('en')} ${text}`)
  const rows = result.rows.length
  const parts = [
    ...result.fields.value.length > 0 ? [counted(rows, 'row')] : [],
    ...changes,
    ...progress === 'running' ? ['running…'] : progress === 'done' ? [duration(result.tookMs.value)] : [progress],
    ...result.asOf === '' ? [] : [`as of ${result.asOf}`]
  ]
  const again = result.limit * 10
  return (
    <span class='outcome' role='status'>
      {parts.join(' · ')}
      {result.hasMore.value && (
        <button
          class='more' title={`The first ${rows.toLocaleString('en')} rows are shown.`}
          onClick={() => { void run(result.text, { offset: result.offset, limit: again }) }}
        >
          more rows
        </button>
      )}
    </span>
  )
}

export function duration (ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`
  if (ms < 1000) return `${ms.toFixed(0)} ms`
  return `${(ms / 1000).toFixed(2)} s`
}

function Notes ({ result }: { result: Result }) {
  const notes = result.summary.value?.notifications ?? []
  if (notes.length === 0) return null
  return (
    <ul class='notes' aria-label='Notifications'>
      {notes.map((one, at) => <li key={at}><strong>{one.title}</strong> {one.description}</li>)}
    </ul>
  )
}
