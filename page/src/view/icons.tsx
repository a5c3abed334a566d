// Icons, drawn as one path each on a grid of 16.

const PATHS = {
  play: 'M4 2.5v11l9-5.5z',
  stop: 'M3.5 3.5h9v9h-9z',
  plan: 'M2 2h5v4H2zM9 10h5v4H9zM4.5 6v6H9M4.5 12',
  save: 'M3 2h8l2 2v10H3zM5 2v4h5V2M5 14v-4h6v4',
  share: 'M11 5a2 2 0 1 0 0-.1M5 8a2 2 0 1 0 0 .1M11 11a2 2 0 1 0 0 .1M5 7l5-2M5 9l5 2.5',
  schema: 'M8 2a2 2 0 1 0 .1 0M3 11a2 2 0 1 0 .1 0M13 11a2 2 0 1 0 .1 0M7 6l-3 5M9 6l3 5',
  history: 'M8 2a6 6 0 1 1-5.5 3.6M2 2v4h4M8 5v3.5l2.5 1.5',
  star: 'M8 2l1.8 3.9 4.2.5-3.1 2.9.8 4.2L8 11.4l-3.7 2.1.8-4.2L2 6.4l4.2-.5z',
  braces: 'M6 2.5c-2 0-1.5 2-1.5 3.3C4.5 7.2 4 8 3 8c1 0 1.5.8 1.5 2.2 0 1.3-.5 3.3 1.5 3.3M10 2.5c2 0 1.5 2 1.5 3.3 0 1.4.5 2.2 1.5 2.2-1 0-1.5.8-1.5 2.2 0 1.3.5 3.3-1.5 3.3',
  running: 'M2 8h3l2-5 2.5 10L11 8h3',
  users: 'M6 7a2.5 2.5 0 1 0-.1 0M1.5 13.5c0-3 2-4.5 4.5-4.5s4.5 1.5 4.5 4.5M11 7a2 2 0 1 0-.1-4M12 9c1.8.3 2.8 1.7 2.8 4',
  status: 'M2 13.5V9M6 13.5V4M10 13.5V7M14 13.5V2',
  import: 'M8 2v8M4.5 6.5L8 10l3.5-3.5M2 11v3h12v-3',
  search: 'M7 2.5a4.5 4.5 0 1 0 .1 0M10.5 10.5L14 14',
  sun: 'M8 5a3 3 0 1 0 .1 0M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1',
  moon: 'M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z',
  close: 'M4 4l8 8M12 4l-8 8',
  help: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12M6.2 6.2A1.8 1.8 0 1 1 8 8.3v1M8 11.4v.1'
} as const

export type IconName = keyof typeof PATHS

export function Icon ({ name }: { name: IconName }) {
  return (
    <svg class='icon' viewBox='0 0 16 16' width='16' height='16' aria-hidden='true' focusable='false'>
      <path d={PATHS[name]} />
    </svg>
  )
}
