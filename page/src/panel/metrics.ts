// Figures of /metrics as they stand in OpenMetrics' text.

export interface Sample {
  name: string
  labels: Record<string, string>
  value: number
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/
const LABEL = /([a-zA-Z_]\w*)="((?:\\.|[^"\\])*)"/g

export function samples (text: string): Sample[] {
  const found: Sample[] = []
  for (const line of text.split('\n')) {
    const match = LINE.exec(line)
    if (line.startsWith('#') || !match) continue
    const labels: Record<string, string> = {}
    for (const [, key, value] of (match[2] ?? '').matchAll(LABEL)) labels[key!] = value!.replace(/\\(.)/g, '$1')
    found.push({ name: match[1]!, labels, value: Number(match[3]!.replace('+Inf', 'Infinity')) })
  }
  return found
}

// The sum over all labels that fit.
export function sum (all: Sample[], name: string, labels: Record<string, string> = {}): number {
  return all
    .filter(one => one.name === name && Object.entries(labels).every(([key, value]) => one.labels[key] === value))
    .reduce((total, one) => total + one.value, 0)
}

export interface Histogram { bounds: number[], counts: number[] }

// How many observations were at most each bound, between two looks.
export function histogram (before: Sample[], after: Sample[], name: string): Histogram {
  const buckets = after.filter(one => one.name === `${name}_bucket`)
  const bounds = [...new Set(buckets.map(one => one.labels.le!))]
  const of = (all: Sample[], le: string) => sum(all, `${name}_bucket`, { le })
  return {
    bounds: bounds.map(le => Number(le.replace('+Inf', 'Infinity'))),
    counts: bounds.map(le => of(after, le) - of(before, le))
  }
}

// The bound that so much of all observations stay below; interpolated within a bucket, as Prometheus does.
export function quantile ({ bounds, counts }: Histogram, share: number): number {
  const total = counts.at(-1) ?? 0
  if (total === 0) return NaN
  const rank = share * total
  const at = counts.findIndex(count => count >= rank)
  const [low, below] = at === 0 ? [0, 0] : [bounds[at - 1]!, counts[at - 1]!]
  const high = bounds[at]!
  if (high === Infinity) return low
  return low + (high - low) * (rank - below) / Math.max(counts[at]! - below, 1)
}
