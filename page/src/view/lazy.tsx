// Parts of the page that are loaded when they are first wanted.

import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'

export function lazy<P extends object> (load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let loaded: ComponentType<P> | undefined
  return function Lazy (props: P) {
    const [, draw] = useState(0)
    const [problem, setProblem] = useState('')
    useEffect(() => {
      if (loaded) return
      load().then(found => {
        loaded = found
        draw(1)
      }, (error: Error) => setProblem(error.message))
    }, [])
    if (problem !== '') return <p class='error' role='alert'>This part of the page cannot be loaded: {problem}</p>
    if (!loaded) return <p class='muted' role='status'>Loading…</p>
    const Loaded = loaded
    return <Loaded {...props} />
  }
}
