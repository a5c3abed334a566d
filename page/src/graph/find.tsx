// The box that finds nodes and relationships of the view.

import { useEffect, useState } from 'preact/hooks'

import { Icon } from '../view/icons'
import type { View } from './view'

// Time after the last key before the search begins.
const PAUSE_MILLISECONDS = 120

export function FindBox ({ view, onGo }: { view: View, onGo: (ids: string[]) => void }) {
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  // The text that `found` is the answer to.
  const [searched, setSearched] = useState('')
  const found = view.found.value
  const go = (index: number): void => {
    const id = view.found.value[index]
    setAt(index)
    if (id === undefined) return
    view.select([id])
    onGo([id])
  }
  const search = (): void => {
    setSearched(text)
    view.found.value = view.find(text)
    go(0)
  }
  useEffect(() => {
    if (text === searched) return
    const timer = setTimeout(search, PAUSE_MILLISECONDS)
    return () => clearTimeout(timer)
  }, [text, searched])
  return (
    <div class='graph-find' role='search'>
      <Icon name='search' />
      <input
        type='search' value={text} placeholder='Find' aria-label='Find in this graph' spellcheck={false}
        title='Find by identity, label, type or value; Enter goes to the next'
        onInput={event => setText(event.currentTarget.value)}
        onKeyDown={event => {
          if (event.key === 'Escape') setText('')
          if (event.key !== 'Enter') return
          event.preventDefault()
          if (text !== searched) search()
          else if (found.length > 0) go((at + (event.shiftKey ? found.length - 1 : 1)) % found.length)
        }}
      />
      <span class='graph-find-count' role='status'>
        {text.trim() === '' || text !== searched ? '' : found.length === 0 ? 'none' : `${at + 1}/${found.length}`}
      </span>
    </div>
  )
}
