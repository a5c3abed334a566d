// A plan as a tree: estimated and real rows, hot operators marked, and the part of the text lit that an
// operator is about.

import { lightUp } from '../editor/editor'
import type { Operator } from '../server/api'
import { duration } from './results'
import { counted } from './words'

// The share of all hits, or of the time, from which on an operator counts as hot.
const HOT = 0.4

interface Totals { hits: number, time: number }

function totals (operator: Operator): Totals {
  return operator.children.map(totals).reduce(
    (sum, one) => ({ hits: sum.hits + one.hits, time: sum.time + one.time }),
    { hits: operator.dbHits ?? 0, time: operator.time ?? 0 }
  )
}

export function PlanView ({ root, text, offset }: { root: Operator, text: string, offset: number }) {
  const all = totals(root)
  return (
    <div class='plan' tabIndex={0} role='region' aria-label='Plan' onMouseLeave={() => lightUp([])}>
      <ul role='tree' aria-label='Operators'>
        <Branch operator={root} all={all} text={text} offset={offset} />
      </ul>
      <p class='muted'>
        Rows flow upwards. {all.hits > 0 && <>Hits are looks at the graph: {all.hits.toLocaleString('en')} in all. </>}
        Point at an operator to see what of the text it does.
      </p>
    </div>
  )
}

function Branch ({ operator, all, text, offset }: { operator: Operator, all: Totals, text: string, offset: number }) {
  const { arguments: args, children } = operator
  const share = all.hits > 0 ? (operator.dbHits ?? 0) / all.hits : all.time > 0 ? (operator.time ?? 0) / all.time : 0
  const estimated = Number(args.EstimatedRows ?? 0)
  const point = () => lightUp(places(operator, text).map(({ from, to }) => ({ from: from + offset, to: to + offset })))
  return (
    <li role='treeitem' aria-expanded={children.length > 0 ? true : undefined}>
      <div class={share >= HOT ? 'operator hot' : 'operator'} tabIndex={0} onMouseEnter={point} onFocus={point}>
        <span><strong>{operator.operatorType}</strong> <span class='details'>{args.Details}</span></span>
        <span class='figures'>
          {operator.records !== undefined && <b>{counted(operator.records, 'row')}</b>}
          <span class='muted'>estimated {Math.round(estimated).toLocaleString('en')}</span>
          {operator.dbHits !== undefined && <span>{counted(operator.dbHits, 'hit')}</span>}
          {operator.time !== undefined && <span>{duration(operator.time / 1e6)}</span>}
          {operator.records !== undefined && off(estimated, operator.records) && <span class='off'>estimate is off</span>}
        </span>
        <meter aria-label='Share of the work' min={0} max={1} value={share} />
      </div>
      {children.length > 0 && (
        <ul role='group'>
          {children.map((child, at) => <Branch key={at} operator={child} all={all} text={text} offset={offset} />)}
        </ul>
      )}
    </li>
  )
}

// Whether the estimate is ten times too large or too small, and it matters.
function off (estimated: number, real: number): boolean {
  return Math.max(estimated, real) > 100 && (estimated + 1) / (real + 1) > 10 || (real + 1) / (estimated + 1) > 10
}

// Where in `text` the operator comes from: what its details say, or else the names that it brings in.
export function places (operator: Operator, text: string): { from: number, to: number }[] {
  const details = String(operator.arguments.Details ?? '')
  // Elements without a name in the text have one in the plan.
  const found = details === '' ? [] : occurrences(spaced(details.replace(/\banon_\d+/g, '')), text)
  if (found.length > 0) return found
  const below = new Set(operator.children.flatMap(child => child.identifiers))
  return operator.identifiers.filter(one => !below.has(one))
    .flatMap(one => occurrences(new RegExp(`(?<![\\p{L}\\p{N}_.])${escaped(one)}(?![\\p{L}\\p{N}_])`, 'gu'), text))
}

function escaped (text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

// Finds the text whatever blanks are in it.
function spaced (details: string): RegExp {
  const parts = details.match(/[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? []
  return new RegExp(parts.map(escaped).join('\\s*'), 'giu')
}

function occurrences (pattern: RegExp, text: string): { from: number, to: number }[] {
  return [...text.matchAll(pattern)].map(({ 0: found, index }) => ({ from: index, to: index + found.length }))
}
