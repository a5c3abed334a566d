// The time slider: queries read the graph as it was.

import { signal } from '@preact/signals'

import { asOf, rerun } from '../state/run'
import { api, noteError } from '../state/session'
import { Icon } from './icons'

interface Commit {
  timestamp: number
  // None where the log says none.
  time: string
}

export const isOpen = signal(false)
// The commits that can be gone back to, oldest first; the last stands for the present.
const commits = signal<Commit[]>([])
const problem = signal('')

const COMMITS_MAX = 1000

async function look (): Promise<void> {
  problem.value = ''
  try {
    const found = await api.value.run(
      'CALL telar.history() YIELD oldest, newest WITH oldest, newest ' +
      'WITH CASE WHEN newest - oldest > $most THEN newest - $most ELSE oldest END AS first, newest ' +
      'CALL telar.changes(first, $most) YIELD commit, time RETURN first, newest, commit, time ORDER BY commit',
      { most: COMMITS_MAX }
    )
    commits.value = found.rows.map(row => ({
      timestamp: Number(row[2]), time: row[3] === null ? '' : (row[3] as { text: string }).text
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
      {all.length <= 1 && (
        <span class='muted'>{problem.value || 'There is no past to go to yet: store.retention says how much is kept.'}</span>
      )}
    </div>
  )
}

function label (commit: Commit | undefined, isLast: boolean): string {
  if (!commit || isLast) return 'now'
  const time = commit.time === '' ? '' : new Date(commit.time.replace(/\[.*\]$/, '')).toLocaleString()
  return `after commit ${commit.timestamp}${time && `, ${time}`}`
}
