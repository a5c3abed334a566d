// What the browser keeps between visits: settings and texts, and never a password or a result.

import { effect, signal, type Signal } from '@preact/signals'

const PREFIX = 'telar.'

function read<T> (key: string, initial: T): T {
  try {
    const text = localStorage.getItem(PREFIX + key)
    return text === null ? initial : JSON.parse(text) as T
  } catch {
    // Storage that is switched off, or holds what another version has written.
    return initial
  }
}

// A signal whose value outlives the page.
export function kept<T> (key: string, initial: T): Signal<T> {
  const value = signal(read(key, initial))
  effect(() => {
    const text = JSON.stringify(value.value)
    try {
      localStorage.setItem(PREFIX + key, text)
    } catch {
      // A full or switched off storage costs the next visit its settings and nothing else.
    }
  })
  return value
}

export type Theme = 'system' | 'light' | 'dark'

export const theme = kept<Theme>('theme', 'system')

export interface Run {
  text: string
  database: string
  at: number
  // How it ended.
  outcome: 'ok' | 'failed'
}

const HISTORY_MAX = 200

export const history = kept<Run[]>('history', [])

export function remember (run: Run): void {
  const others = history.value.filter(other => other.text !== run.text || other.database !== run.database)
  history.value = [run, ...others].slice(0, HISTORY_MAX)
}

export interface Saved {
  name: string
  text: string
}

export const saved = kept<Saved[]>('saved', [])

// The text of the parameters panel: a JSON object.
export const parametersText = kept('parameters', '{\n}')

// The most rows that are fetched at first.
export const rowLimit = kept('rowLimit', 1000)

export const toured = kept('toured', false)
