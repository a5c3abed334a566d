// What is there once somebody is logged in: panels at the left, the editor above, results below.

import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'

import { Editor, put } from '../editor/editor'
import { Panel, panels, type PanelName } from '../panel/panel'
import { Tour } from '../panel/tour'
import { kept } from '../state/kept'
import { reachable } from '../state/session'
import { Header } from './header'
import { Icon } from './icons'
import { Results } from './results'
import { Toolbar } from './toolbar'

// What is being written outlives a reload.
const draft = kept('draft', '')
export const panel = kept<PanelName | ''>('panel', 'schema')

// A text from the address is put into the editor and never run: whose link it is is not known.
const SHARED = /^#cypher=(.*)$/
const sharedNote = signal(false)

function openShared (): void {
  const shared = SHARED.exec(location.hash)?.[1]
  if (shared === undefined) return
  try {
    put(decodeURIComponent(shared))
    sharedNote.value = true
  } catch {
    // An address that was cut off holds no text.
  }
  history.replaceState(null, '', location.pathname)
}

function Rail () {
  return (
    <nav class='rail' aria-label='Panels'>
      {panels().map(({ name, title, icon }) => (
        <button
          key={name} title={title} aria-label={title} aria-pressed={panel.value === name}
          onClick={() => { panel.value = panel.value === name ? '' : name }}
        >
          <Icon name={icon} />
        </button>
      ))}
    </nav>
  )
}

export function Workbench () {
  useEffect(() => {
    openShared()
    addEventListener('hashchange', openShared)
    return () => removeEventListener('hashchange', openShared)
  }, [])
  return (
    <div class='workbench'>
      <Header />
      {!reachable.value && (
        <div class='banner danger' role='alert'>The server does not answer. The page goes on as soon as it does.</div>
      )}
      {sharedNote.value && (
        <div class='banner' role='status'>
          This text came with the address. Read it before you run it.
          <button class='quiet' aria-label='Close the note' onClick={() => { sharedNote.value = false }}><Icon name='close' /></button>
        </div>
      )}
      <div class='middle'>
        <Rail />
        {panel.value !== '' && <Panel name={panel.value} />}
        <main class='desk'>
          <section class='writing' aria-label='Editor'>
            <Editor initial={draft.peek()} onChange={text => { draft.value = text }} />
            <Toolbar />
          </section>
          <Results />
        </main>
      </div>
      <Tour />
    </div>
  )
}
