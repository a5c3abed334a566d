// Running what is in the editor: statement after statement, with a limit on rows, and stopped at will.

import { batch, signal, type Signal } from '@preact/signals'

import { RequestError, type Api, type Operator, type Summary } from '../server/api'
import { elements, type Node, type Relationship, type Value } from '../server/values'
import { parametersText, remember, rowLimit } from './kept'
import { api, noteError } from './session'

export type Progress = 'waiting' | 'running' | 'done' | 'failed' | 'stopped' | 'skipped'

// One statement of a run and what it has answered so far.
export interface Result {
  text: string
  // Where it begins in the editor.
  offset: number
  database: string
  // The moment that the time slider asked for.
  asOf: string
  // What it may do; none if it could not be planned.
  kind: Summary['queryType'] | undefined
  progress: Signal<Progress>
  fields: Signal<string[]>
  // Grows in place; `version` tells that it has.
  rows: Value[][]
  version: Signal<number>
  summary: Signal<Summary | undefined>
  error: Signal<string>
  tookMs: Signal<number>
  // Whether there are rows beyond the limit.
  hasMore: Signal<boolean>
  limit: number
}

export const results = signal<Result[]>([])
export const shown = signal(0)
export const isRunning = signal(false)
// The moment at which queries read, as Cypher; empty for the present.
export const asOf = signal('')

let aborting: AbortController | undefined

// A statement as the server has found it in a text.
interface Checked {
  start: number
  end: number
  queryType?: Summary['queryType']
  error?: { code: string, title: string, message: string, start?: number, end?: number }
}

export async function check (asking: Api, text: string, signal?: AbortSignal): Promise<Checked[]> {
  const path = `db/${encodeURIComponent(asking.database)}/check`
  return (await asking.json<{ statements: Checked[] }>(path, { statement: text }, signal)).statements
}

export class ParametersError extends Error {}

// The parameters as the panel has them.
export function parameters (): Record<string, unknown> {
  const text = parametersText.value.trim()
  if (text === '') return {}
  let read: unknown
  try {
    read = JSON.parse(text)
  } catch (error) {
    throw new ParametersError(`Parameters: ${(error as Error).message}`)
  }
  if (typeof read !== 'object' || read === null || Array.isArray(read)) {
    throw new ParametersError('Parameters: expected a JSON object, {"name": value}')
  }
  return read as Record<string, unknown>
}

type Wanted = Pick<Result, 'text' | 'offset' | 'limit' | 'asOf' | 'kind'>

function newResult (wanted: Wanted): Result {
  return {
    ...wanted,
    database: api.value.database,
    progress: signal<Progress>('waiting'),
    fields: signal<string[]>([]),
    rows: [],
    version: signal(0),
    summary: signal<Summary | undefined>(undefined),
    error: signal(''),
    tookMs: signal(0),
    hasMore: signal(false)
  }
}

// Runs all statements of `text`, of which each begins so many characters after `offset`.
export async function run (text: string, options: { offset?: number, prefix?: 'EXPLAIN' | 'PROFILE', limit?: number } = {}): Promise<void> {
  const { offset = 0, prefix, limit = rowLimit.value } = options
  stop()
  const asking = api.value
  const abort = new AbortController()
  aborting = abort
  isRunning.value = true
  const moment = asOf.value
  try {
    const given = parameters()
    const found = await check(asking, text, abort.signal)
    if (found.length === 0) return
    const all = found.map(({ start, end, queryType: kind }) => newResult({
      text: text.slice(start, end),
      offset: offset + start,
      limit,
      // History is of the past only for what reads.
      asOf: kind === 'r' ? moment : '',
      kind
    }))
    batch(() => {
      results.value = all
      shown.value = 0
    })
    for (const [at, result] of all.entries()) {
      shown.value = at
      await runOne(asking, result, given, abort.signal, prefix)
      const outcome = result.error.value === '' ? 'ok' : 'failed'
      remember({ text: result.text, database: result.database, at: Date.now(), outcome })
      if (result.progress.value !== 'done') {
        for (const rest of all.slice(at + 1)) rest.progress.value = 'skipped'
        break
      }
    }
  } catch (error) {
    if (abort.signal.aborted) return
    noteError(error)
    const failed = newResult({ text, offset, limit, asOf: moment, kind: undefined })
    failed.progress.value = 'failed'
    failed.error.value = (error as Error).message
    batch(() => {
      results.value = [failed]
      shown.value = 0
    })
  } finally {
    if (aborting === abort) {
      aborting = undefined
      isRunning.value = false
      // The slider was moved meanwhile.
      if (asOf.value !== moment) void rerun()
    }
  }
}

async function runOne (
  asking: Api, result: Result, given: Record<string, unknown>, abort: AbortSignal, prefix?: 'EXPLAIN' | 'PROFILE'
): Promise<void> {
  const past = result.asOf === '' ? '' : `AT TIMESTAMP ${result.asOf} `
  const text = (prefix ? `${prefix} ` : '') + past + result.text
  const begun = performance.now()
  result.progress.value = 'running'
  try {
    const { summary } = await asking.stream({ text, parameters: given, signal: abort }, {
      fields: names => { result.fields.value = names },
      rows: rows => {
        const room = result.limit - result.rows.length
        for (const row of rows.slice(0, room)) result.rows.push(row)
        batch(() => {
          result.version.value += 1
          result.hasMore.value = rows.length > room
        })
        return rows.length <= room
      }
    })
    batch(() => {
      result.summary.value = summary
      result.progress.value = 'done'
    })
  } catch (error) {
    batch(() => {
      if (abort.aborted) {
        result.progress.value = 'stopped'
      } else {
        noteError(error)
        result.error.value = (error as Error).message
        result.progress.value = 'failed'
      }
    })
    if (!(error instanceof RequestError) && !abort.aborted) throw error
  } finally {
    result.tookMs.value = performance.now() - begun
  }
}

let rerunning: AbortController | undefined

// Runs again what is shown, if it only reads, and puts the new answer in the place of the old one when it
// is complete, so that one sees what has changed. `abort` gives it up.
export async function rerun (abort = new AbortController()): Promise<void> {
  const at = shown.value
  const old = results.value[at]
  if (old?.kind !== 'r' || isRunning.value) return
  rerunning?.abort()
  rerunning = abort
  const { text, offset, limit, kind } = old
  const fresh = newResult({ text, offset, limit, kind, asOf: asOf.value })
  try {
    await runOne(api.value.on(old.database), fresh, parameters(), abort.signal)
  } catch (error) {
    fresh.error.value = (error as Error).message
    fresh.progress.value = 'failed'
  }
  if (!abort.signal.aborted && results.value[at] === old) results.value = results.value.with(at, fresh)
}

// Ends what runs; the server ends the statement when its reader hangs up.
export function stop (): void {
  aborting?.abort()
  rerunning?.abort()
  aborting = undefined
  isRunning.value = false
}

export function plan (result: Result): Operator | undefined {
  const summary = result.summary.value
  return summary?.profiledQueryPlan ?? summary?.queryPlan
}

// The nodes and relationships of a result.
export function graphOf (result: Result): { nodes: Map<string, Node>, relationships: Map<string, Relationship> } {
  return elements(function * () { for (const row of result.rows) yield * row }())
}
