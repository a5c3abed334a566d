// A dialog over the stage. Escape closes it; what had the focus before has it again.

import type { ComponentChildren, RefObject } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

interface DialogProps {
  title: string
  class?: string
  // What has the focus first.
  first: RefObject<HTMLElement | null>
  onClose: () => void
  children: ComponentChildren
}

export function Dialog ({ title, class: more = '', first, onClose, children }: DialogProps) {
  const former = useRef(document.activeElement)
  useLayoutEffect(() => {
    first.current?.focus()
    return () => {
      if (former.current instanceof HTMLElement && former.current.isConnected) former.current.focus()
    }
  }, [])
  return (
    <div
      class={`graph-confirm ${more}`} role='dialog' aria-label={title}
      onKeyDown={event => {
        if (event.key !== 'Escape') return
        event.stopPropagation()
        onClose()
      }}
    >
      <h2>{title}</h2>
      {children}
    </div>
  )
}
