// The past that the database keeps readable, and how it begins to.

import { api } from './session'

// The oldest and the newest commit that can be read; nothing if none are kept.
export async function history (): Promise<[oldest: number, newest: number] | undefined> {
  const { rows: [row] } = await api.value.run('CALL telar.history() YIELD oldest, newest RETURN oldest, newest')
  return row && [Number(row[0]), Number(row[1])]
}

// Keeps a day of it from now on.
export async function keepHistory (): Promise<void> {
  await api.value.run("CALL telar.keepHistory(duration('P1D'))")
}
