// How the server is: from /metrics, asked every few seconds while one looks.

import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'

import { api, database, noteError, version } from '../state/session'
import { duration } from '../view/results'
import { histogram, quantile, samples, sum, type Sample } from './metrics'
import { SlowQueries } from './slow'

const EVERY_MS = 2000
const POINTS_MAX = 90

interface Look {
  at: number
  all: Sample[]
}

interface Point {
  rate: number
  p50: number
  p99: number
  memory: number
}

let before: Look | undefined
const latest = signal<Sample[]>([])
const points = signal<Point[]>([])
const problem = signal('')

async function look (): Promise<void> {
  try {
    const response = await api.value.fetch('metrics', { headers: { Accept: 'text/plain' } })
    const now: Look = { at: performance.now(), all: samples(await response.text()) }
    if (before) points.value = [...points.value, point(before, now)].slice(-POINTS_MAX)
    before = now
    latest.value = now.all
    problem.value = ''
  } catch (error) {
    noteError(error)
    problem.value = (error as Error).message
  }
}

function point (from: Look, to: Look): Point {
  const taken = histogram(from.all, to.all, 'telar_statement_seconds')
  return {
    rate: Math.max(0, (taken.counts.at(-1) ?? 0) / ((to.at - from.at) / 1000)),
    p50: quantile(taken, 0.5) * 1000,
    p99: quantile(taken, 0.99) * 1000,
    memory: sum(to.all, 'telar_process_resident_bytes')
  }
}

export function Status () {
  useEffect(() => {
    before = undefined
    points.value = []
    void look()
    const timer = setInterval(() => { void look() }, EVERY_MS)
    return () => clearInterval(timer)
  }, [])
  const all = latest.value
  const now = points.value.at(-1)
  const of = { database: database.value }
  const mib = (name: string, labels = {}) => `${(sum(all, name, labels) / 2 ** 20).toFixed(1)} MiB`
  const has = (name: string) => all.some(one => one.name === name)
  const rows: [string, string][] = [
    ['Up for', elapsed(sum(all, 'telar_uptime_seconds'))],
    ['Connections', `${sum(all, 'telar_connections', { protocol: 'Bolt' })} Bolt, ${sum(all, 'telar_connections', { protocol: 'Http' })} HTTP`],
    ['Transactions open', String(sum(all, 'telar_transactions', of))],
    ['Statements', sum(all, 'telar_statements_total').toLocaleString('en')],
    ['of which failed', (sum(all, 'telar_statements_total') - sum(all, 'telar_statements_total', { outcome: 'ok' })).toLocaleString('en')],
    ['Conflicts', sum(all, 'telar_conflicts_total', of).toLocaleString('en')],
    ['Memory of the process', mib('telar_process_resident_bytes')],
    ['of it allocated', mib('telar_heap_bytes')],
    ['of it this graph', mib('telar_graph_memory_bytes', of)],
    ['Store on disk', mib('telar_store_bytes')],
    ['Log since the checkpoint', mib('telar_log_bytes', of)],
    ['Disk that is free', `${(sum(all, 'telar_disk_free_bytes') / 2 ** 30).toFixed(1)} GiB`],
    ['Commits', sum(all, 'telar_commit_timestamp', of).toLocaleString('en')],
    ['Commits since the checkpoint', sum(all, 'telar_checkpoint_commits_behind').toLocaleString('en')],
    ...has('telar_backup_age_seconds') ? [['Last backup', `${elapsed(sum(all, 'telar_backup_age_seconds', of))} ago`] as [string, string]] : [],
    ...has('telar_follow_behind_seconds') ? [['Behind its source', elapsed(sum(all, 'telar_follow_behind_seconds', of))] as [string, string]] : [],
    ...has('telar_cluster_commits_behind') ? [['Commits behind the leader', String(sum(all, 'telar_cluster_commits_behind', of))] as [string, string]] : [],
    ['Oldest reader', elapsed(sum(all, 'telar_oldest_reader_seconds', of))],
    ['Plans kept', String(sum(all, 'telar_plans', of))]
  ]
  return (
    <>
      <Chart title='Statements a second' values={points.value.map(one => one.rate)} text={now ? now.rate.toFixed(1) : ''} />
      <Chart title='Half are faster than' values={points.value.map(one => one.p50)} text={now ? took(now.p50) : ''} />
      <Chart title='99 % are faster than' values={points.value.map(one => one.p99)} text={now ? took(now.p99) : ''} />
      <Chart title='Memory' values={points.value.map(one => one.memory)} text={now ? mib('telar_process_resident_bytes') : ''} />
      <table class='status'>
        <tbody>{rows.map(([what, value]) => <tr key={what}><th scope='row'>{what}</th><td>{value}</td></tr>)}</tbody>
      </table>
      <p class='error' role='status'>{problem.value}</p>
      <SlowQueries />
      <p class='muted'>Telar {version.value}. The page is made with packages of others: <a href={LICENCES}>their licences</a>.</p>
    </>
  )
}

const took = (ms: number): string => Number.isNaN(ms) ? 'none ran' : duration(ms)

function elapsed (seconds: number): string {
  if (seconds < 90) return `${seconds.toFixed(0)} s`
  if (seconds < 5400) return `${(seconds / 60).toFixed(0)} min`
  return `${(seconds / 3600).toFixed(1)} h`
}

const WIDTH = 240
const HEIGHT = 40

function Chart ({ title, values, text }: { title: string, values: number[], text: string }) {
  const known = values.filter(value => !Number.isNaN(value))
  const most = Math.max(...known, 1e-9)
  const line = values
    .map((value, at) => Number.isNaN(value) ? '' : `${(at / (POINTS_MAX - 1) * WIDTH).toFixed(1)},${(HEIGHT - value / most * (HEIGHT - 4) - 1).toFixed(1)}`)
    .filter(point => point !== '')
    .join(' ')
  return (
    <figure class='chart'>
      <figcaption>{title} <b>{text}</b></figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role='img' aria-label={`${title}: ${text}`} preserveAspectRatio='none'>
        <polyline points={line} />
      </svg>
    </figure>
  )
}
