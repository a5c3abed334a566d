// Comma-separated values as RFC 4180 has them.

// A cell that a spreadsheet would take for a formula: it would run what the database says.
const FORMULA = /^[=+\-@\t\r]/
const NUMBER = /^[-+]?\d+(\.\d+)?([eE][-+]?\d+)?$/

export function cell (text: string): string {
  const harmless = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}

export function csv (rows: string[][]): string {
  return rows.map(row => row.map(cell).join(',') + '\r\n').join('')
}
