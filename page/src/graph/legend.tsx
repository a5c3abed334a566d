// Chips of labels and types with their counts; each opens how it looks.

import { useState } from 'preact/hooks'

import { shown } from '../server/values'
import { Button, useDismiss } from './controls'
import { paletteOf, ramp } from './palette'
import { scaleColor } from './paint'
import {
  measureTitle, SIZE_DEFAULT, SIZE_MAX, SIZE_MIN, typeKey, type LabelStyle, type Measure
} from './styles'
import type { View } from './view'

const CHIPS_MAX = 12

export function Legend ({ view, dark }: { view: View, dark: boolean }) {
  const [open, setOpen] = useState<string | undefined>(undefined)
  const box = useDismiss(open !== undefined, () => setOpen(undefined))
  const toggle = (key: string): void => setOpen(open === key ? undefined : key)
  const labels = view.labels.value
  const types = view.types.value
  return (
    <div class='graph-legend' ref={box}>
      <ScaleLegend view={view} dark={dark} />
      <div class='graph-chips' role='group' aria-label='Labels'>
        {labels.slice(0, CHIPS_MAX).map(({ name, count }) => (
          <div key={name} class='graph-chip-box'>
            <button
              type='button' class='graph-chip' aria-expanded={open === name} aria-haspopup='dialog'
              title={`Label ${name}: ${count} nodes. How it looks`} onClick={() => toggle(name)}
            >
              <i class='graph-dot' style={{ background: view.labelColor(name, dark) }} />
              <span class='graph-chip-name'>{name}</span><small>{count}</small>
            </button>
            {open === name && <LabelPopover view={view} label={name} dark={dark} />}
          </div>
        ))}
        {labels.length > CHIPS_MAX && <small>+{labels.length - CHIPS_MAX} labels</small>}
      </div>
      <div class='graph-chips' role='group' aria-label='Relationship types'>
        {types.slice(0, CHIPS_MAX).map(({ name, count }) => (
          <div key={name} class='graph-chip-box'>
            <button
              type='button' class='graph-chip graph-chip-type' aria-expanded={open === typeKey(name)}
              aria-haspopup='dialog' title={`Type ${name}: ${count} relationships. How it looks`}
              onClick={() => toggle(typeKey(name))}
            >
              <TypeLine color={view.style(typeKey(name)).color} />
              <span class='graph-chip-name'>{name}</span><small>{count}</small>
            </button>
            {open === typeKey(name) && <TypePopover view={view} type={name} dark={dark} />}
          </div>
        ))}
        {types.length > CHIPS_MAX && <small>+{types.length - CHIPS_MAX} types</small>}
      </div>
    </div>
  )
}

function TypeLine ({ color }: { color: string | undefined }) {
  return <i class='graph-line' style={color ? { background: color } : {}} />
}

function LabelPopover ({ view, label, dark }: { view: View, label: string, dark: boolean }) {
  const style = view.style(label)
  const set = (change: { [K in keyof LabelStyle]?: LabelStyle[K] | undefined }): void => {
    const entries = Object.entries({ ...style, ...change })
    const next = Object.fromEntries(entries.filter(([, value]) => value !== undefined))
    view.setStyle(label, next)
  }
  const properties = view.properties(label)
  const select = (): void => view.select(
    [...view.scene.value.nodes.values()].filter(node => node.labels.includes(label)).map(node => node.id)
  )
  const size = style.size ?? { by: 'fixed' as const, value: SIZE_DEFAULT }
  return (
    <div class='graph-popover' role='dialog' aria-label={`Look of ${label}`}>
      <Swatches color={view.labelColor(label, dark)} dark={dark} onChange={color => set({ color })} />
      <label>
        <span>Caption</span>
        <select
          value={style.caption ?? ''}
          onChange={event => set({ caption: event.currentTarget.value || undefined })}
        >
          <option value=''>automatic</option>
          {properties.map(key => <option key={key} value={key}>{key}</option>)}
        </select>
      </label>
      <label>
        <span>Size</span>
        <MeasureSelect
          view={view} properties={properties} none='fixed'
          measure={size.by === 'measure' ? size.measure : undefined}
          onChange={measure => set({ size: measure && { by: 'measure', measure } })}
        />
      </label>
      {size.by === 'fixed' && (
        <label>
          <span>Radius</span>
          <input
            type='range' min={SIZE_MIN} max={SIZE_MAX} value={size.value}
            onInput={event => set({ size: { by: 'fixed', value: Number(event.currentTarget.value) } })}
          />
        </label>
      )}
      <label>
        <span>Colour by</span>
        <MeasureSelect
          view={view} properties={properties} none='label' measure={style.colorBy}
          onChange={colorBy => set({ colorBy })}
        />
      </label>
      <div class='graph-popover-foot'>
        <Button icon='select' title='Select all of them' text='Select' onClick={select} />
        <Button
          icon='again' title='As it was at first' text='Reset' disabled={Object.keys(style).length === 0}
          onClick={() => view.setStyle(label, {})}
        />
      </div>
    </div>
  )
}

function TypePopover ({ view, type, dark }: { view: View, type: string, dark: boolean }) {
  const key = typeKey(type)
  const select = (): void => view.select(
    [...view.scene.value.relationships.values()]
      .filter(relationship => relationship.type === type).map(({ id }) => id)
  )
  return (
    <div class='graph-popover' role='dialog' aria-label={`Look of ${type}`}>
      <Swatches color={view.style(key).color} dark={dark} onChange={color => view.setStyle(key, { color })} />
      <div class='graph-popover-foot'>
        <Button icon='select' title='Select all of them' text='Select' onClick={select} />
        <Button
          icon='again' title='As it was at first' text='Reset' disabled={view.style(key).color === undefined}
          onClick={() => view.setStyle(key, {})}
        />
      </div>
    </div>
  )
}

function Swatches ({ color, dark, onChange }: {
  color: string | undefined, dark: boolean, onChange: (color: string) => void
}) {
  return (
    <div class='graph-swatches' role='group' aria-label='Colour'>
      {paletteOf(dark).map((each, index) => (
        <button
          key={each} type='button' class='graph-swatch'
          aria-label={`Colour ${index + 1}`} aria-pressed={each === color}
          style={{ background: each }} onClick={() => onChange(each)}
        />
      ))}
      <input
        type='color' aria-label='Another colour' title='Another colour' value={color ?? '#888888'}
        onInput={event => onChange(event.currentTarget.value)}
      />
    </div>
  )
}

// A property or a score, or what `none` says.
function MeasureSelect ({ view, properties, none, measure, onChange }: {
  view: View, properties: string[], none: string, measure: Measure | undefined,
  onChange: (measure: Measure | undefined) => void
}) {
  return (
    <select
      value={measure ? JSON.stringify(measure) : ''}
      onChange={event => {
        const { value } = event.currentTarget
        onChange(value === '' ? undefined : JSON.parse(value) as Measure)
      }}
    >
      <option value=''>{none}</option>
      <optgroup label='Computed'>
        {view.scoreNames().map(score => (
          <option key={score} value={JSON.stringify({ score })}>{measureTitle({ score })}</option>
        ))}
      </optgroup>
      <optgroup label='Property'>
        {properties.map(property => (
          <option key={property} value={JSON.stringify({ property })}>{property}</option>
        ))}
      </optgroup>
    </select>
  )
}

// What colours mean where they do not mean labels.
function ScaleLegend ({ view, dark }: { view: View, dark: boolean }) {
  const override = view.override.value
  if (!override) return null
  const scale = override.color && view.scaleOf(view.scene.value.nodes.values(), override.color)
  return (
    <div class='graph-scale'>
      {override.color && <b>{measureTitle(override.color)}</b>}
      {scale?.kind === 'categories' && [...scale.values.keys()].slice(0, 8).map(value => (
        <span key={value} class='graph-scale-value' title={`Community ${value}`}>
          <i class='graph-dot' style={{ background: scaleColor(scale, value, undefined, dark) ?? 'none' }} />
          {value}
        </span>
      ))}
      {scale?.kind === 'categories' && scale.values.size > 8 && <small>of {scale.values.size}</small>}
      {override.size && <span>Size: {measureTitle(override.size)}</span>}
      {scale?.kind === 'ramp' && (
        <span class='graph-scale-value'>
          {shown(scale.low)}
          {[0, 0.2, 0.4, 0.6, 0.8, 1].map(share => (
            <i key={share} class='graph-ramp' style={{ background: ramp(share, dark) }} />
          ))}
          {shown(scale.high)}
        </span>
      )}
      <Button
        icon='close' title='By label again' onClick={() => {
          view.override.value = undefined
        }}
      />
    </div>
  )
}
