// Colours of Cypher, word by word; what is right and wrong only the server's parser says.

import { HighlightStyle, StreamLanguage, syntaxHighlighting, type StringStream } from '@codemirror/language'
import { tags } from '@lezer/highlight'

import { KEYWORDS } from './keywords'

const keywords = new Set(KEYWORDS)

interface State {
  // What ends the text or comment that began on a line before.
  until: string
  // The last token that was not a blank.
  before: string
}

function until (stream: StringStream, state: State): void {
  while (!stream.eol()) {
    if (state.until !== '*/' && state.until !== '`' && stream.peek() === '\\') {
      stream.next()
      stream.next()
    } else if (stream.match(state.until)) {
      state.until = ''
      return
    } else {
      stream.next()
    }
  }
}

function token (stream: StringStream, state: State): string | null {
  if (state.until === '*/') {
    until(stream, state)
    return 'comment'
  }
  if (state.until !== '') {
    const kind = state.until === '`' ? 'variableName' : 'string'
    until(stream, state)
    return kind
  }
  if (stream.eatSpace()) return null
  if (stream.match('//')) {
    stream.skipToEnd()
    return 'comment'
  }
  if (stream.match('/*')) {
    state.until = '*/'
    until(stream, state)
    return 'comment'
  }
  const kind = word(stream, state)
  state.before = stream.current()
  return kind
}

function word (stream: StringStream, state: State): string | null {
  const next = stream.peek()!
  if (next === '\'' || next === '"' || next === '`') {
    stream.next()
    state.until = next
    until(stream, state)
    return next === '`' ? named(state.before) : 'string'
  }
  if (stream.match(/^\$(`[^`]*`|[\p{L}\p{N}_]+)/u)) return 'special'
  if (stream.match(/^(0x[0-9a-fA-F]+|0o[0-7]+|\d+(\.\d+)?([eE][+-]?\d+)?)/)) return 'number'
  if (stream.match(/^[\p{L}_][\p{L}\p{N}_]*/u)) {
    const text = stream.current()
    if (state.before === '.' || state.before === ':' || state.before === '|') return named(state.before)
    if (/^(true|false|null|nan|inf|infinity)$/i.test(text)) return 'atom'
    if (stream.match(/^\s*\(/, false) && !keywords.has(text.toUpperCase())) return 'function'
    return keywords.has(text.toUpperCase()) ? 'keyword' : 'variableName'
  }
  stream.next()
  return /[-+*/%^=<>|&!~]/.test(next) ? 'operator' : 'punctuation'
}

function named (before: string): string {
  switch (before) {
    case '.': return 'propertyName'
    case ':': case '|': return 'typeName'
    default: return 'variableName'
  }
}

export const cypher = StreamLanguage.define<State>({
  name: 'cypher',
  startState: () => ({ until: '', before: '' }),
  copyState: state => ({ ...state }),
  token,
  languageData: {
    commentTokens: { line: '//', block: { open: '/*', close: '*/' } },
    closeBrackets: { brackets: ['(', '[', '{', '\'', '"', '`'] }
  },
  tokenTable: { function: tags.function(tags.variableName), special: tags.special(tags.variableName) }
})

export const colours = syntaxHighlighting(HighlightStyle.define([
  { tag: tags.keyword, color: 'var(--syntax-keyword)', fontWeight: '600' },
  { tag: tags.typeName, color: 'var(--syntax-type)' },
  { tag: tags.propertyName, color: 'var(--syntax-property)' },
  { tag: tags.function(tags.variableName), color: 'var(--syntax-function)' },
  { tag: tags.special(tags.variableName), color: 'var(--syntax-parameter)' },
  { tag: [tags.string], color: 'var(--syntax-string)' },
  { tag: [tags.number, tags.atom], color: 'var(--syntax-number)' },
  { tag: tags.comment, color: 'var(--fg2)', fontStyle: 'italic' },
  { tag: [tags.operator, tags.punctuation], color: 'var(--fg2)' }
]))
