// Buttons, menus and what closes them.

import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

import { Icon, type IconName } from '../view/icons'

interface ButtonProps {
  icon: IconName
  title: string
  onClick: () => void
  disabled?: boolean
  pressed?: boolean
  text?: string | undefined
}

export function Button ({ icon, title, onClick, disabled, pressed, text }: ButtonProps) {
  return (
    <button
      type='button' class='graph-button' title={title} disabled={disabled ?? false}
      aria-label={text === undefined ? title : `${title}: ${text}`}
      {...pressed === undefined ? {} : { 'aria-pressed': pressed }} onClick={onClick}
    >
      <Icon name={icon} />{text !== undefined && <span>{text}</span>}
    </button>
  )
}

// Calls `close` for Escape, and for a click or focus that goes elsewhere.
export function useDismiss (isOpen: boolean, close: () => void): { current: HTMLDivElement | null } {
  const box = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    if (!isOpen) return
    const leave = (event: Event): void => {
      if (event.target instanceof Node && !box.current?.contains(event.target)) close()
    }
    const escape = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape') return
      event.stopPropagation()
      close()
      box.current?.querySelector<HTMLElement>('[aria-expanded]')?.focus()
    }
    const element = box.current
    document.addEventListener('pointerdown', leave, true)
    element?.addEventListener('keydown', escape)
    return () => {
      document.removeEventListener('pointerdown', leave, true)
      element?.removeEventListener('keydown', escape)
    }
  }, [isOpen])
  return box
}

export interface Item {
  text: string
  onClick: () => void
  hint?: string
  disabled?: boolean
  checked?: boolean
}

interface MenuProps {
  icon: IconName
  title: string
  text?: string
  items: (Item | undefined)[]
}

// A button with a list of what it can do. `undefined` is a line between two groups.
export function Menu ({ icon, title, text, items }: MenuProps) {
  const [isOpen, setOpen] = useState(false)
  const box = useDismiss(isOpen, () => setOpen(false))
  const focusItem = (from: Element | null, step: number): void => {
    const all = [...box.current!.querySelectorAll<HTMLButtonElement>('[role^=menuitem]:not(:disabled)')]
    const at = all.indexOf(from as HTMLButtonElement)
    all[(at + step + all.length) % all.length]?.focus()
  }
  useLayoutEffect(() => {
    if (isOpen) focusItem(null, 1)
  }, [isOpen])
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step === undefined || !isOpen) return
    event.preventDefault()
    event.stopPropagation()
    focusItem(document.activeElement, step)
  }
  return (
    <div class='graph-menu' ref={box} onKeyDown={move}>
      <button
        type='button' class='graph-button' title={title} aria-label={title} aria-haspopup='menu'
        aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}
      >
        <Icon name={icon} />{text !== undefined && <span>{text}</span>}<Icon name='down' />
      </button>
      {isOpen && (
        <div class='graph-menu-items' role='menu' aria-label={title}>
          {items.map((item, index) => item === undefined
            ? <div key={index} class='graph-menu-line' role='separator' />
            : <MenuItem key={index} item={item} close={() => setOpen(false)} />)}
        </div>
      )}
    </div>
  )
}

function MenuItem ({ item, close }: { item: Item, close: () => void }) {
  const { text, hint, disabled, checked, onClick } = item
  return (
    <button
      type='button' disabled={disabled ?? false}
      role={checked === undefined ? 'menuitem' : 'menuitemcheckbox'}
      {...checked === undefined ? {} : { 'aria-checked': checked }}
      onClick={() => {
        close()
        onClick()
      }}
    >
      <span class='graph-menu-check'>{checked && <Icon name='check' />}</span>
      <span>{text}</span>{hint !== undefined && <kbd>{hint}</kbd>}
    </button>
  )
}

export function Message ({ kind, children, onClose }: {
  kind: 'error' | 'notice', children: ComponentChildren, onClose: () => void
}) {
  return (
    <div class={`graph-message graph-message-${kind}`} role={kind === 'error' ? 'alert' : 'status'}>
      <span>{children}</span>
      <Button icon='close' title='Dismiss' onClick={onClose} />
    </div>
  )
}
