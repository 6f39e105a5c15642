/** Pieces that every view is made of.
 * Invariant: foreign text comes onto the page through `foreign`, as text, isolated from
 * its surroundings. */
import { html, nothing, type TemplateResult } from '/vendor/lit-html/lit-html.js'
import { fromNow, shown, shownTime, zoneText } from '../facts/format.js'
import { icon, type Icon } from './icons.js'

/** Text of a message, a client or a remote site. */
export const foreign = (text: string, charsMax?: number): TemplateResult =>
  html`<bdi class="foreign">${shown(text, charsMax)}</bdi>`

/** The reader's time, and below it the log's. */
export function time(timeMs: number, nowMs: number): TemplateResult {
  const { local, utc, iso } = shownTime(timeMs, nowMs)
  const isUtc = zoneText(timeMs) === 'UTC'
  return html`<time datetime=${iso}
    ><span>${local}</span>${isUtc ? nothing : html` <small title="the log's time">${utc}</small>`}</time
  >`
}

/** `12m ago`, with the times themselves for a pointer. */
export function relativeTime(timeMs: number, nowMs: number): TemplateResult {
  const { local, utc, iso } = shownTime(timeMs, nowMs)
  return html`<time datetime=${iso} title=${`${local} · ${utc}`}>${fromNow(timeMs, nowMs)}</time>`
}

export const badge = (name: Icon, text: string): TemplateResult =>
  html`<span class="badge ${name}">${icon(name)}<span>${text}</span></span>`

/** How full something is, as a bar beside its words. @param share 0 to 1 @param from where
 * it is too much */
export function meter(share: number, label: string, from: number = 1): TemplateResult {
  const percent = Math.max(0, Math.min(100, share * 100))
  return html`<svg
    class="meter ${share >= from ? 'over' : ''}"
    viewBox="0 0 100 4"
    preserveAspectRatio="none"
    role="img"
    aria-label=${label}
  >
    <rect class="track" width="100" height="4" />
    <rect class="value" width=${percent.toFixed(1)} height="4" />
  </svg>`
}

/** The course of one figure, without axes: its words stand beside it. */
export function sparkline(values: readonly (number | null)[], countMax: number): TemplateResult {
  const most = Math.max(1e-9, ...values.map((value) => value ?? 0))
  // One point is no course.
  let isDown = false
  const path = values
    .map((value, i) => {
      if (value === null) return ''
      const x = ((countMax - values.length + i) / (countMax - 1)) * 100
      const command = isDown ? 'L' : 'M'
      isDown = true
      return `${command}${x.toFixed(1)} ${(23 - (value / most) * 21).toFixed(1)}`
    })
    .join('')
  return html`<svg class="spark" viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">
    <path d=${path} vector-effect="non-scaling-stroke" />
  </svg>`
}

/** A state without anything to show. */
export const empty = (title: string, more: TemplateResult | string = ''): TemplateResult =>
  html`<div class="empty">
    <p class="title">${title}</p>
    <p>${more}</p>
  </div>`

/** What was typed into a field, without blanks around it. */
export function typed(form: EventTarget | null, name: string): string {
  const value = form instanceof HTMLFormElement ? new FormData(form).get(name) : null
  return typeof value === 'string' ? value.trim() : ''
}
