// Pictures of buttons: strokes of 16 by 16 in the colour of the text.

const PATHS = {
  add: 'M8 3v10M3 8h10',
  again: 'M13 8a5 5 0 1 1-1.6-3.7M13 2v3h-3',
  center: 'M8 2v3M8 11v3M2 8h3M11 8h3M8 6.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3',
  check: 'M3 8.5l3.2 3.2L13 4.8',
  close: 'M4 4l8 8M12 4l-8 8',
  cypher: 'M5.5 4L2 8l3.5 4M10.5 4L14 8l-3.5 4',
  down: 'M4 6l4 4 4-4',
  edit: 'M3 13l.6-2.6L10.7 3.3l2 2L5.6 12.4 3 13M9.5 4.5l2 2',
  expand:
    'M8 6.2a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6M6.6 6.6L4 4M9.4 6.6L12 4M6.6 9.4L4 12' +
    'M9.4 9.4L12 12',
  export: 'M8 2v8M5 7l3 3 3-3M3 11v2.5h10V11',
  fit: 'M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10',
  hide: 'M2 8s2.2-4 6-4 6 4 6 4-2.2 4-6 4-6-4-6-4M3 13L13 3',
  lasso:
    'M8 3c3.3 0 6 1.6 6 3.7S11.3 10.4 8 10.4 2 8.8 2 6.7 4.7 3 8 3' +
    'M5 10c-1 .5-1.3 1.5-.5 2.3.7.7.5 1.5-.5 1.7',
  list: 'M2.5 4h11M2.5 8h11M2.5 12h11',
  look:
    'M8 2.5a5.5 5.5 0 1 0 0 11c1 0 1.3-.7 1-1.4-.4-1 .2-1.6 1-1.6h1.5c1.2 0 2-1 2-2.5 0-3-2.4-5.5-5.5-5.5' +
    'M5 8h.1M6.5 5.2h.1M9.7 5.2h.1',
  minus: 'M3 8h10',
  path:
    'M3.5 12.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3M12.5 6.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3' +
    'M5 11h3.5V5H11',
  pin: 'M6 2.5h4M6.5 2.5v4L4.5 9h7l-2-2.5v-4M8 9v4.5',
  remove: 'M3 4.5h10M6 4.5V3h4v1.5M4.5 4.5l.6 8.5h5.8l.6-8.5',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.4 10.4L13.5 13.5',
  select: 'M3 3l10 4-4.3 1.7L7 13 3 3',
  show: 'M2 8s2.2-4 6-4 6 4 6 4-2.2 4-6 4-6-4-6-4M8 6.3a1.7 1.7 0 1 0 0 3.4 1.7 1.7 0 0 0 0-3.4',
  stop: 'M4 4h8v8H4z'
} as const

export type IconName = keyof typeof PATHS

export function Icon ({ name }: { name: IconName }) {
  return (
    <svg class='graph-icon' viewBox='0 0 16 16' width='16' height='16' aria-hidden='true' focusable='false'>
      <path d={PATHS[name]} />
    </svg>
  )
}
