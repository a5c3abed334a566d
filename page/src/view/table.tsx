// A result as a table: only the rows that are in sight are there, so that a million scroll as ten do.

import { useEffect, useRef, useState } from 'preact/hooks'

import { literal, shown, type Value } from '../server/values'
import type { Result } from '../state/run'

const ROW_PX = 26
const SPARE_ROWS = 8
// Rows at the start that say how wide a column is.
const SAMPLE = 60
const CHAR_PX = 8.2
const COLUMN_PX = { min: 64, max: 420 }
const CELL_CHARS_MAX = 300
// The highest element that browsers lay out rightly; beyond it the scroll bar is stretched.
const HEIGHT_PX_MAX = 8_000_000

interface Place { row: number, column: number }

function widths (fields: string[], rows: Value[][]): number[] {
  return fields.map((field, column) => {
    const longest = rows.slice(0, SAMPLE)
      .reduce((most, row) => Math.max(most, Math.min(cell(row[column]!).length, 80)), field.length + 2)
    return Math.round(Math.min(Math.max(longest * CHAR_PX + 20, COLUMN_PX.min), COLUMN_PX.max))
  })
}

function cell (value: Value): string {
  const text = shown(value)
  return text.length > CELL_CHARS_MAX ? text.slice(0, CELL_CHARS_MAX) + '…' : text
}

function kindOf (value: Value): string {
  if (value === null) return 'null'
  if (typeof value === 'object') return Array.isArray(value) ? 'list' : value.kind
  return typeof value
}

export function Table ({ result }: { result: Result }) {
  const scroller = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  const [height, setHeight] = useState(400)
  const [at, setAt] = useState<Place>({ row: 0, column: 0 })
  void result.version.value
  const { rows } = result
  const fields = result.fields.value
  const columns = useRef<number[]>([])
  if (columns.current.length !== fields.length || rows.length <= SAMPLE) columns.current = widths(fields, rows)

  useEffect(() => {
    const element = scroller.current!
    const watcher = new ResizeObserver(() => setHeight(element.clientHeight))
    watcher.observe(element)
    return () => watcher.disconnect()
  }, [])

  const all = rows.length * ROW_PX
  const stretched = Math.min(all, HEIGHT_PX_MAX)
  const ratio = stretched > height ? (all - height) / (stretched - height) : 1
  const first = Math.max(0, Math.floor(top * ratio / ROW_PX) - SPARE_ROWS)
  const last = Math.min(rows.length, first + Math.ceil(height / ROW_PX) + 2 * SPARE_ROWS)
  const total = columns.current.reduce((sum, width) => sum + width, 64)

  const move = (to: Place) => {
    const row = Math.min(Math.max(to.row, 0), rows.length - 1)
    const column = Math.min(Math.max(to.column, 0), fields.length - 1)
    setAt({ row, column })
    const element = scroller.current!
    const y = row * ROW_PX
    if (y < element.scrollTop * ratio) element.scrollTop = y / ratio
    if (y + 2 * ROW_PX > element.scrollTop * ratio + element.clientHeight) {
      element.scrollTop = (y + 2 * ROW_PX - element.clientHeight) / ratio
    }
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(height / ROW_PX) - 2)
    const { row, column } = at
    const to = {
      ArrowDown: { row: row + 1, column }, ArrowUp: { row: row - 1, column },
      ArrowRight: { row, column: column + 1 }, ArrowLeft: { row, column: column - 1 },
      PageDown: { row: row + page, column }, PageUp: { row: row - page, column },
      Home: { row: 0, column }, End: { row: rows.length - 1, column }
    }[event.key]
    if ((event.ctrlKey || event.metaKey) && event.key === 'c' && String(getSelection()) === '') {
      const value = rows[row]?.[column]
      if (value !== undefined) void navigator.clipboard?.writeText(shown(value))
    }
    if (!to) return
    event.preventDefault()
    move(to)
  }
  const selected = rows[at.row]?.[at.column]
  return (
    <div class='table'>
      <div
        class='scroller' ref={scroller} tabIndex={0} role='grid' aria-label='Rows' aria-rowcount={rows.length + 1}
        aria-colcount={fields.length} aria-activedescendant={`cell-${at.row}-${at.column}`}
        onScroll={event => setTop(event.currentTarget.scrollTop)} onKeyDown={onKeyDown}
      >
        <div class='row head' role='row' aria-rowindex={1} style={{ width: `${total}px` }}>
          <div class='cell number' role='columnheader' aria-label='Number' />
          {fields.map((field, column) => (
            <div key={column} class='cell' role='columnheader' title={field} style={{ width: `${columns.current[column]}px` }}>{field}</div>
          ))}
        </div>
        <div role='rowgroup' class='body' style={{ height: `${stretched}px`, width: `${total}px` }}>
          {rows.slice(first, last).map((row, offset) => {
            const number = first + offset
            const y = number * ROW_PX - top * ratio + top
            return (
              <div key={number} class='row' role='row' aria-rowindex={number + 2} style={{ transform: `translateY(${y}px)`, width: `${total}px` }}>
                <div class='cell number' role='rowheader'>{number + 1}</div>
                {row.map((value, column) => (
                  <div
                    key={column} id={`cell-${number}-${column}`} role='gridcell' style={{ width: `${columns.current[column]}px` }}
                    class={`cell ${kindOf(value)}`} aria-selected={number === at.row && column === at.column}
                    onClick={() => setAt({ row: number, column })}
                  >
                    {cell(value)}
                  </div>
                ))}
              </div>
            )
          })}
        </div>
      </div>
      {selected !== undefined && <Whole name={fields[at.column]!} value={selected} />}
    </div>
  )
}

// The cell that is chosen, in full where it does not fit into the table.
function Whole ({ name, value }: { name: string, value: Value }) {
  const text = shown(value)
  if (text.length * CHAR_PX < COLUMN_PX.max - 20 && !text.includes('\n')) return null
  return (
    <aside class='whole' aria-label={`The whole value of ${name}`}>
      <pre>{typeof value === 'string' ? text : pretty(value)}</pre>
    </aside>
  )
}

function pretty (value: Value): string {
  if (Array.isArray(value)) return `[\n${value.map(one => '  ' + literal(one)).join(',\n')}\n]`
  if (typeof value !== 'object' || value === null) return literal(value)
  const entries = value.kind === 'map' ? value.entries : value.kind === 'node' || value.kind === 'relationship' ? value.properties : undefined
  if (!entries) return literal(value)
  const head = value.kind === 'node' ? value.labels.map(label => ':' + label).join('') + '\n' : value.kind === 'relationship' ? `:${value.type}\n` : ''
  return head + Object.entries(entries).map(([key, one]) => `${key}: ${literal(one)}`).join('\n')
}
