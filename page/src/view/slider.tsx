// The time slider: queries read the graph as it was.

import { signal } from '@preact/signals'

import { history, keepHistory } from '../state/history'
import { asOf, rerun } from '../state/run'
import { api, isAdmin, noteError } from '../state/session'
import { Icon } from './icons'

interface Commit {
  timestamp: number
  // None where the log says none.
  time: string
}

export const isOpen = signal(false)
// The commits that can be gone back to, oldest first; the last stands for the present.
const commits = signal<Commit[]>([])
const isKept = signal(false)
const problem = signal('')

const COMMITS_MAX = 1000

async function look (): Promise<void> {
  problem.value = ''
  try {
    const kept = await history()
    isKept.value = kept !== undefined
    if (!kept) {
      commits.value = []
      return
    }
    const [oldest, newest] = kept
    const found = await api.value.run(
      'CALL telar.changes($first, $most) YIELD commit, time RETURN commit, time ORDER BY commit',
      { first: Math.max(oldest, newest - COMMITS_MAX), most: COMMITS_MAX }
    )
    commits.value = found.rows.map(([commit, time]) => ({
      timestamp: Number(commit), time: time === null ? '' : (time as { text: string }).text
    }))
  } catch (error) {
    noteError(error)
    commits.value = []
    problem.value = (error as Error).message
  }
}

// Shows what is shown as it was at a commit.
function goTo (at: number): void {
  const commit = commits.value[at]
  const last = at >= commits.value.length - 1
  asOf.value = last || !commit ? '' : String(commit.timestamp)
  void rerun()
}

// Opens and closes the slider; closed, queries read the present.
export function SliderButton () {
  const toggle = () => {
    isOpen.value = !isOpen.value
    if (isOpen.value) void look()
    else if (asOf.value !== '') goTo(Infinity)
  }
  return (
    <button aria-expanded={isOpen.value} title='Read the graph as it was' onClick={toggle}>
      <Icon name='history' />{asOf.value === '' ? 'Now' : 'Past'}
    </button>
  )
}

export function Slider () {
  if (!isOpen.value) return null
  const all = commits.value
  const at = asOf.value === '' ? all.length - 1 : all.findIndex(one => String(one.timestamp) === asOf.value)
  const commit = all[at]
  return (
    <div class='slider'>
      {all.length > 1 && (
        <>
          <input
            type='range' min={0} max={all.length - 1} value={at} aria-label='Moment at which queries read'
            aria-valuetext={label(commit, at === all.length - 1)}
            onChange={event => goTo(Number(event.currentTarget.value))}
          />
          <output>{label(commit, at === all.length - 1)}</output>
        </>
      )}
      {all.length <= 1 && <NoPast />}
    </div>
  )
}

function NoPast () {
  if (problem.value !== '') return <span class='muted'>{problem.value}</span>
  if (isKept.value) return <span class='muted'>There is no past to go to yet: what is committed from now on is kept.</span>
  return (
    <>
      <span class='muted'>There is no past to go to yet: none is kept.</span>
      {isAdmin.value && <button onClick={() => { void keep() }}>Keep a day from now on</button>}
    </>
  )
}

async function keep (): Promise<void> {
  try {
    await keepHistory()
    await look()
  } catch (error) {
    noteError(error)
    problem.value = (error as Error).message
  }
}

function label (commit: Commit | undefined, isLast: boolean): string {
  if (!commit || isLast) return 'now'
  const time = commit.time === '' ? '' : new Date(commit.time.replace(/\[.*\]$/, '')).toLocaleString()
  return `after commit ${commit.timestamp}${time && `, ${time}`}`
}
