// Words about numbers and errors.

// A number of things, in words: `1 row`, `1,200 rows`.
export function counted (count: number, what: string): string {
  return `${count.toLocaleString('en')} ${what}${count === 1 ? '' : 's'}`
}

export const messageOf = (error: unknown): string => error instanceof Error ? error.message : String(error)
