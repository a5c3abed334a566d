// What may stand where the cursor is: read off the words before it, as a text that is being typed
// seldom can be parsed.

export type Expected =
  | { kind: 'label' | 'type' | 'parameter' | 'procedure' | 'name' }
  // `of` are the labels and types that the variable is known to have; none: any.
  | { kind: 'property', of: string[] }
  | { kind: 'yield', procedure: string }

export interface Context {
  expected: Expected
  // Where the word begins that is being typed.
  from: number
  variables: string[]
}

const TOKEN = /'(?:\\.|[^'\\])*'?|"(?:\\.|[^"\\])*"?|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|`[^`]*`?|[\p{L}_][\p{L}\p{N}_]*|\$[\p{L}\p{N}_]*|\d+(?:\.\d+)?|\s+|./gu

interface Token {
  text: string
  at: number
}

function tokens (text: string): Token[] {
  return [...text.matchAll(TOKEN)]
    .map(match => ({ text: match[0], at: match.index }))
    .filter(({ text }) => text.trim() !== '' && !text.startsWith('//') && !text.startsWith('/*'))
}

const isWord = (text: string | undefined): boolean => text !== undefined && /^[\p{L}_`]/u.test(text)

function bare (text: string): string {
  return text.startsWith('`') ? text.replace(/^`|`$/g, '') : text
}

// The labels and types of each variable of a pattern in `all`.
function bindings (all: Token[]): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (let at = 0; at + 1 < all.length; at++) {
    if (!['(', '['].includes(all[at]!.text) || !isWord(all[at + 1]!.text)) continue
    const names: string[] = []
    let next = at + 2
    while ([':', '|', '&'].includes(all[next]?.text ?? '') && isWord(all[next + 1]?.text)) {
      names.push(bare(all[next + 1]!.text))
      next += 2
    }
    const variable = bare(all[at + 1]!.text)
    found.set(variable, [...found.get(variable) ?? [], ...names])
  }
  return found
}

function aliases (all: Token[]): string[] {
  const named = all.filter((token, at) => isWord(token.text) && /^as$/i.test(all[at - 1]?.text ?? ''))
  return named.map(token => bare(token.text))
}

// The token that opened the innermost bracket which is still open.
function opener (all: Token[]): number {
  let depth = 0
  for (let at = all.length - 1; at >= 0; at--) {
    const { text } = all[at]!
    if (')]}'.includes(text)) depth += 1
    if ('([{'.includes(text) && --depth < 0) return at
  }
  return -1
}

// The statement of `text` in which `cursor` is.
function statementAt (text: string, cursor: number): { before: string, start: number } {
  let start = 0
  for (const match of text.slice(0, cursor).matchAll(TOKEN)) if (match[0] === ';') start = match.index + 1
  return { before: text.slice(start, cursor), start }
}

export function contextAt (text: string, cursor: number): Context | undefined {
  const { before, start } = statementAt(text, cursor)
  const all = tokens(before)
  const last = all.at(-1)
  if (last && /^['"]/.test(last.text) && start + last.at + last.text.length === cursor) {
    const closed = last.text.length > 1 && last.text.at(-1) === last.text[0]
    if (!closed) return undefined
  }
  if (/(\/\/[^\n]*|\/\*(?:(?!\*\/)[\s\S])*)$/.test(before) && !/['"][^\n]*\/\//.test(before)) return undefined
  const typed = last && start + last.at + last.text.length === cursor && (isWord(last.text) || last.text.startsWith('$'))
  const from = typed ? start + last.at : cursor
  if (typed) all.pop()
  const statement = tokens(text.slice(start).split(';')[0] ?? '')
  const bound = bindings(statement)
  const variables = [...new Set([...bound.keys(), ...aliases(statement)])]
  return { expected: expected(all, typed ? last.text : '', bound), from, variables }
}

function expected (all: Token[], typed: string, bound: Map<string, string[]>): Expected {
  if (typed.startsWith('$')) return { kind: 'parameter' }
  const last = all.at(-1)?.text ?? ''
  const open = opener(all)
  const opened = all[open]?.text
  if ([':', '|', '&', '!'].includes(last) && open >= 0) {
    if (opened === '[') return { kind: 'type' }
    if (opened === '(') return { kind: 'label' }
  }
  // A predicate, or labels to set: n:Label.
  if (last === ':' && opened !== '{') return { kind: 'label' }
  if (last === '.') {
    const called = procedureBefore(all)
    if (called !== undefined) return { kind: 'procedure' }
    const variable = bare(all.at(-2)?.text ?? '')
    return { kind: 'property', of: bound.get(variable) ?? [] }
  }
  if (opened === '{' && ['{', ','].includes(last)) return { kind: 'property', of: namesBefore(all, open) }
  if (/^call$/i.test(last)) return { kind: 'procedure' }
  const yields = all.findLastIndex(token => /^yield$/i.test(token.text))
  if (yields >= 0 && (last === ',' || yields === all.length - 1)) {
    const procedure = calledBefore(all, yields)
    if (procedure) return { kind: 'yield', procedure }
  }
  return { kind: 'name' }
}

// Labels or types of the pattern element whose properties begin at `open`.
function namesBefore (all: Token[], open: number): string[] {
  const names: string[] = []
  for (let at = open - 1; at > 0 && isWord(all[at]!.text) && [':', '|', '&'].includes(all[at - 1]!.text); at -= 2) {
    names.push(bare(all[at]!.text))
  }
  return names
}

// The dotted name after the CALL that is being typed.
function procedureBefore (all: Token[]): string | undefined {
  let at = all.length - 1
  let name = ''
  while (at >= 0 && (all[at]!.text === '.' || isWord(all[at]!.text))) {
    if (/^call$/i.test(all[at]!.text)) return name
    name = all[at]!.text + name
    at -= 1
  }
  return undefined
}

// The procedure of the CALL before `end`.
function calledBefore (all: Token[], end: number): string {
  const call = all.slice(0, end).findLastIndex(token => /^call$/i.test(token.text))
  if (call < 0) return ''
  let name = ''
  for (let at = call + 1; at < end && (all[at]!.text === '.' || isWord(all[at]!.text)); at++) name += all[at]!.text
  return name
}
