// Colours of the graph view: distinguishable with the common kinds of colour blindness, on light and on dark.

export const PALETTE = {
  light: [
    '#3b78c9', '#e0752d', '#12937f', '#c99a06', '#8659b8', '#d24d77', '#4aa3d8', '#7c8a24', '#96623a',
    '#6b7688', '#b03a2e', '#2f5d50'
  ],
  dark: [
    '#6ba3ee', '#f29a5c', '#3fc1a9', '#e8c04a', '#b18ae0', '#ef7fa3', '#7cc6f0', '#b0bf55', '#c8946a',
    '#9aa5b8', '#e0776c', '#7fae9f'
  ]
} as const

export interface Theme {
  dark: boolean
  background: string
  text: string
  edge: string
  edgeText: string
  accent: string
  added: string
  removed: string
  changed: string
  pinned: string
}

export const THEMES: { light: Theme, dark: Theme } = {
  light: {
    dark: false,
    background: '#ffffff',
    text: '#1d2430',
    edge: '#bcc3cf',
    edgeText: '#5d6675',
    accent: '#0b5fff',
    added: '#13a05f',
    removed: '#c62828',
    changed: '#c77700',
    pinned: '#1d2430'
  },
  dark: {
    dark: true,
    background: '#14171d',
    text: '#e6e9ef',
    edge: '#4b5361',
    edgeText: '#9aa3b2',
    accent: '#6aa5ff',
    added: '#45d18d',
    removed: '#ff7b72',
    changed: '#f0b429',
    pinned: '#e6e9ef'
  }
}

export const paletteOf = (dark: boolean): readonly string[] => dark ? PALETTE.dark : PALETTE.light

// The colour with this number, beginning again after the last.
export function paletteColor (index: number, dark: boolean): string {
  const colors = paletteOf(dark)
  return colors[index % colors.length]!
}

type Rgb = [number, number, number]

export function rgb (hex: string): Rgb {
  return [1, 3, 5].map(at => parseInt(hex.slice(at, at + 2), 16)) as Rgb
}

// The parts of a colour as shares of 1, with an opacity.
export function rgba (color: string, alpha: number): [...Rgb, number] {
  const [red, green, blue] = rgb(color)
  return [red / 255, green / 255, blue / 255, alpha]
}

export function hex (color: Rgb): string {
  return '#' + color.map(part => Math.round(part).toString(16).padStart(2, '0')).join('')
}

// The colour that lies between `from` (share 0) and `to` (share 1).
export function mix (from: string, to: string, share: number): string {
  const a = rgb(from)
  const b = rgb(to)
  return hex([0, 1, 2].map(i => a[i]! + (b[i]! - a[i]!) * share) as Rgb)
}

// The steps of a ramp whose lightness grows evenly (those of Viridis).
const RAMP = ['#440154', '#414487', '#2a788e', '#22a884', '#7ad151', '#fde725']

// A colour for a share of 0 to 1. On dark, the darkest part is left out.
export function ramp (share: number, dark: boolean): string {
  const bounded = Math.min(1, Math.max(0, share))
  const at = (dark ? 0.2 + bounded * 0.8 : bounded * 0.92) * (RAMP.length - 1)
  const below = Math.min(RAMP.length - 2, Math.floor(at))
  return mix(RAMP[below]!, RAMP[below + 1]!, at - below)
}

// Whether `text` is a colour as styles keep it.
export function isColor (text: unknown): text is string {
  return typeof text === 'string' && /^#[0-9a-f]{6}$/i.test(text)
}
