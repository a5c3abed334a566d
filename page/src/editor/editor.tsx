// The editor: CodeMirror with the server's own parser behind it.
//
// It stands in a shadow tree: there its styles are adopted sheets, which the policy of the page allows,
// and not elements, which it does not.

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { bracketMatching, indentOnInput } from '@codemirror/language'
import { linter, lintKeymap, type Diagnostic } from '@codemirror/lint'
import { searchKeymap } from '@codemirror/search'
import { EditorState, Prec, StateEffect, StateField, type Extension } from '@codemirror/state'
import {
  Decoration, EditorView, drawSelection, highlightActiveLine, highlightSpecialChars, keymap, lineNumbers,
  placeholder, type DecorationSet
} from '@codemirror/view'
import { useEffect, useRef } from 'preact/hooks'

import { history as runs } from '../state/kept'
import { check, run } from '../state/run'
import { api, reachable } from '../state/session'
import { complete } from './complete'
import { colours, cypher } from './language'

const LINT_DELAY_MS = 250
const COMPLETE_DELAY_MS = 5

let view: EditorView | undefined

export function text (): string {
  return view?.state.doc.toString() ?? ''
}

// Replaces the text, and runs it if it is to be run.
export function put (text: string, andRun = false): void {
  if (!view) return
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, selection: { anchor: text.length } })
  view.focus()
  if (andRun) void run(text)
}

export function focus (): void {
  view?.focus()
}

// What is to be run: the selection if there is one, or else everything.
export function chosen (): { text: string, offset: number } {
  if (!view) return { text: '', offset: 0 }
  const { from, to } = view.state.selection.main
  const all = view.state.doc.toString()
  return from === to ? { text: all, offset: 0 } : { text: all.slice(from, to), offset: from }
}

function runChosen (prefix?: 'EXPLAIN' | 'PROFILE'): boolean {
  const { text, offset } = chosen()
  void run(text, prefix ? { offset, prefix } : { offset })
  return true
}

// Lines that are lit while an operator of a plan is pointed at.
const light = StateEffect.define<{ from: number, to: number }[]>()
const lit = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update (marks, transaction) {
    for (const effect of transaction.effects) {
      if (!effect.is(light)) continue
      const ranges = effect.value.map(({ from, to }) => Decoration.mark({ class: 'lit' }).range(from, to))
      return Decoration.set(ranges, true)
    }
    return marks.map(transaction.changes)
  },
  provide: field => EditorView.decorations.from(field)
})

export function lightUp (ranges: { from: number, to: number }[]): void {
  const length = view?.state.doc.length ?? 0
  view?.dispatch({ effects: light.of(ranges.filter(({ from, to }) => from < to && to <= length)) })
}

async function diagnostics (view: EditorView): Promise<Diagnostic[]> {
  const text = view.state.doc.toString()
  if (text.trim() === '' || !reachable.value) return []
  try {
    const statements = await check(api.value, text)
    return statements.flatMap(({ start, end, error }) => error
      ? [{
          from: Math.min(error.start ?? start, text.length),
          to: Math.min(Math.max(error.end ?? end, (error.start ?? start) + 1), text.length),
          severity: 'error' as const,
          source: error.title,
          message: error.message
        }]
      : [])
  } catch {
    // Running the text will say what is wrong with the way to the server.
    return []
  }
}

// Goes through what was run before, from a text that is one of these or from an empty one.
function earlier (step: 1 | -1): boolean {
  const texts = runs.value.map(one => one.text)
  const at = texts.indexOf(text())
  if (at < 0 && text().trim() !== '') return false
  const next = at + step
  if (next < -1 || next >= texts.length) return true
  put(next === -1 ? '' : texts[next]!)
  return true
}

const keys = Prec.highest(keymap.of([
  { key: 'Mod-Enter', run: () => runChosen() },
  { key: 'Shift-Mod-Enter', run: () => runChosen('PROFILE') },
  { key: 'Mod-ArrowUp', run: () => earlier(1) },
  { key: 'Mod-ArrowDown', run: () => earlier(-1) }
]))

const look = EditorView.theme({
  '&': { height: '100%', fontSize: '13px', backgroundColor: 'var(--bg)', color: 'var(--fg)' },
  '&.cm-focused': { outline: 'none' },
  '.cm-content': { fontFamily: 'var(--mono)', caretColor: 'var(--fg)', padding: '8px 0' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.55' },
  '.cm-gutters': { backgroundColor: 'var(--bg)', color: 'var(--fg2)', border: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--hover)' },
  '.cm-cursor': { borderLeftColor: 'var(--fg)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground':
    { backgroundColor: 'var(--selection)' },
  '.cm-matchingBracket': { backgroundColor: 'var(--selection)', outline: '1px solid var(--line)' },
  '.cm-placeholder': { color: 'var(--fg2)' },
  '.cm-tooltip': { backgroundColor: 'var(--bg2)', color: 'var(--fg)', border: '1px solid var(--line)', borderRadius: '6px' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--on-accent)' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected] .cm-completionDetail': { color: 'var(--on-accent)' },
  '.cm-completionDetail': { color: 'var(--fg2)', fontStyle: 'normal' },
  '.cm-completionInfo': { whiteSpace: 'pre-wrap', maxWidth: '420px', padding: '6px 8px' },
  '.cm-diagnostic': { padding: '4px 8px' },
  '.cm-diagnosticSource': { color: 'var(--fg2)', opacity: '1' },
  '.cm-panels': { backgroundColor: 'var(--bg2)', color: 'var(--fg)' },
  '.lit': { backgroundColor: 'var(--lit)', borderRadius: '2px' }
})

function extensions (onChange: (text: string) => void): Extension[] {
  return [
    keys, lineNumbers(), highlightSpecialChars(), history(), drawSelection(), indentOnInput(), bracketMatching(),
    closeBrackets(), highlightActiveLine(), cypher, colours, lit, look,
    autocompletion({ override: [complete], activateOnTypingDelay: COMPLETE_DELAY_MS }),
    linter(diagnostics, { delay: LINT_DELAY_MS }),
    placeholder('MATCH (n) RETURN n LIMIT 25'),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ 'aria-label': 'Cypher', 'aria-multiline': 'true' }),
    EditorView.updateListener.of(update => { if (update.docChanged) onChange(update.state.doc.toString()) }),
    keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap])
  ]
}

export function Editor ({ initial, onChange }: { initial: string, onChange: (text: string) => void }) {
  const host = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const root = host.current!.shadowRoot ?? host.current!.attachShadow({ mode: 'open' })
    const parent = document.createElement('div')
    parent.style.height = '100%'
    root.append(parent)
    view = new EditorView({
      parent,
      root,
      state: EditorState.create({ doc: initial, extensions: extensions(onChange) })
    })
    view.focus()
    return () => {
      view?.destroy()
      view = undefined
      parent.remove()
    }
  }, [])
  return <div class='editor' ref={host} />
}
