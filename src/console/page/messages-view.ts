/** The view Messages: a filter, the verbs for all that it means, and the list.
 * Invariant: the document has rows for a few screens; the rest is room above and below them. */
import { repeat } from '/vendor/lit-html/directives/repeat.js'
import { html, nothing, type TemplateResult } from '/vendor/lit-html/lit-html.js'
import type { Message, Verb } from '../facts/api.js'
import {
  bytesText,
  counted,
  digits,
  fromNow,
  senderText,
  shown,
  shownTime,
  spanText,
} from '../facts/format.js'
import { dueText, reasonText } from '../facts/mail-words.js'
import {
  addressOf,
  filterNames,
  filterText,
  selectorOf,
  type Filter,
  type FilterName,
} from '../facts/place.js'
import { verbs, verbWords } from '../facts/verbs.js'
import type { App } from './app.js'
import { icon, type Icon } from '../parts/icons.js'
import { rowsAboveMax, type Row } from './message-list.js'
import { empty, typed } from '../parts/pieces.js'

const fields: Readonly<Record<FilterName, { label: string; hint: string }>> = {
  sender: { label: 'Sender', hint: 'ada@example.com' },
  recipient: { label: 'Recipient', hint: 'bob@example.net' },
  domain: { label: 'Domain', hint: 'example.net' },
  nexthop: { label: 'Next hop', hint: '[mail.example.net]:25' },
  lane: { label: 'Queue', hint: '' },
  olderThan: { label: 'Older than', hint: '2h' },
  lastStatus: { label: 'Last status', hint: '4.4' },
  tag: { label: 'Tag', hint: 'newsletter' },
  id: { label: 'Id', hint: '' },
}

export function messagesView(app: App): TemplateResult {
  const { messages: list } = app
  return html`
    <div class="title">
      <h1 tabindex="-1">Messages</h1>
      <p class="hint">${shown(filterText(list.filter), 300)}</p>
    </div>
    ${filterForm(app)} ${verbBar(app, list.filter)} ${listOf(app)}
  `
}

const fieldNames = Object.keys(fields) as FilterName[]

function filterForm(app: App): TemplateResult {
  const { filter } = app.messages
  const find = (event: Event): void => {
    event.preventDefault()
    const next: Partial<Record<FilterName, string>> = {}
    for (const name of filterNames) {
      const value = typed(event.currentTarget, name)
      if (value !== '') next[name] = name === 'sender' && value === '<>' ? '' : value
    }
    app.go({ view: 'messages', filter: next })
    app.messages.renew(next)
  }
  const isOpen = Object.keys(filter).length > 0 || !isPhone()
  return html`<details class="filter-box" ?open=${isOpen}>
    <summary>Filter</summary>
    <form class="filter" role="search" aria-label="Messages" @submit=${find}>
      ${fieldNames.map((name) => field(app, name, filter))}
      <div class="buttons">
        <button class="primary">Find</button>
        ${
          Object.keys(filter).length === 0
            ? nothing
            : html`<a class="button" href=${addressOf({ view: 'messages', filter: {} })}>Clear</a>`
        }
      </div>
    </form>
  </details>`
}

function field(app: App, name: FilterName, filter: Filter): TemplateResult {
  const { label, hint } = fields[name]
  const value = filter[name]
  if (name !== 'lane')
    return html`<label class=${name}
      >${label}<input
        name=${name}
        .value=${name === 'sender' && value === '' ? '<>' : (value ?? '')}
        placeholder=${hint}
        autocomplete="off"
        spellcheck="false"
        autocapitalize="none"
    /></label>`
  const lanes = (app.feed.latest?.lanes ?? []).filter(({ queue }) => queue === 'deferred')
  const choices: [string, string][] = [
    ['', 'any'],
    ['active', 'active'],
    ['incoming', 'incoming'],
    ['deferred', 'deferred'],
    ...lanes.map(({ lane, intervalMs }): [string, string] => [
      String(lane),
      `deferred, ${spanText(intervalMs ?? 0)}`,
    ]),
    ['hold', 'hold'],
  ]
  if (value !== undefined && !choices.some(([one]) => one === value)) choices.push([value, value])
  return html`<label class="lane"
    >${label}<select name="lane">
      ${choices.map(([one, text]) => html`<option value=${one} ?selected=${one === (value ?? '')}>${text}</option>`)}
    </select></label
  >`
}

/** Of all that the filter means, or of one message. */
export function verbBar(app: App, filter: Filter, only: readonly Verb[] = verbs): TemplateResult {
  if (!app.may('operate'))
    return html`<p class="hint">This token may look and not act: it lacks the scope <code>operate</code>.</p>`
  const begin = (verb: Verb) => (): void => app.dialog.open(verb, selectorOf(filter), filterText(filter))
  return html`<div class="verbs" role="group" aria-label=${`Verbs for ${shown(filterText(filter), 200)}`}>
    ${only.map(
      (verb) =>
        html`<button
          class=${verbWords[verb].isFinal ? 'final' : ''}
          title=${verbWords[verb].meaning}
          @click=${begin(verb)}
        >
          ${verbWords[verb].label} …
        </button>`,
    )}
  </div>`
}

/** As the stylesheet has it; a phone shows a message on two lines. */
const isPhone = (): boolean => matchMedia('(max-width: 720px)').matches
const rowPx = (): number => (isPhone() ? 76 : 46)
const overscan = 12

function listOf(app: App): TemplateResult {
  const { messages: list } = app
  const height = rowPx()
  const count = list.rowCount
  const { first, end } = windowOf(app, height, count)
  if (end > count - 2 * overscan) void list.more()
  const rows = list.rows(first, end)
  if (count === 0 && list.isComplete && list.error === undefined)
    return empty('No message matches', `Looked at ${counted(list.lookedAt, 'message')}.`)
  return html`<div class="columns" aria-hidden="true">
      <span>From → to</span><span>Queue</span><span>Next attempt</span><span>Attempts</span><span>Size</span
      ><span>Accepted</span>
    </div>
    <ol id="list" class="list" @keydown=${moveFocus} aria-label=${`Messages, ${count} so far`}>
      <li class="space" aria-hidden="true">
        <svg width="1" height=${(first - list.baseRow) * height}></svg>
      </li>
      ${repeat(
        rows,
        ({ index }) => index,
        (row) => rowOf(app, row),
      )}
      <li class="space" aria-hidden="true">
        <svg width="1" height=${Math.max(0, count - end) * height}></svg>
      </li>
    </ol>
    <p class="list-end" role="status">${endOf(app, count)}</p>`
}

function endOf(app: App, count: number): TemplateResult {
  const { messages: list } = app
  const looked = list.lookedAt > count ? `, looked at ${digits(list.lookedAt)}` : ''
  if (list.error !== undefined)
    return html`${icon('warning')} ${list.error} <button @click=${() => list.retry()}>Try again</button>`
  if (list.isComplete) return html`${counted(count, 'message')} in all${looked}.`
  return html`${counted(count, 'message')} so far${looked}; looking for more …`
}

/** Rows that are drawn, from where the reader has scrolled to. Moves the base where the room above
 * grows too high. */
function windowOf(app: App, height: number, count: number): { first: number; end: number } {
  const { messages: list } = app
  const top = document.getElementById('list')?.getBoundingClientRect().top ?? 0
  const firstSeen = list.baseRow + Math.max(0, Math.floor(-top / height))
  if (firstSeen - list.baseRow > rowsAboveMax) moveBase(app, rowsAboveMax / 2, height)
  else if (list.baseRow > 0 && firstSeen - list.baseRow < overscan) moveBase(app, -rowsAboveMax / 2, height)
  const first = Math.max(list.baseRow, firstSeen - overscan)
  const end = Math.min(count, firstSeen + Math.ceil(innerHeight / height) + overscan)
  return { first: Math.min(first, count), end: Math.max(end, Math.min(first, count)) }
}

/** What is in view stays in view. */
function moveBase(app: App, rows: number, height: number): void {
  const { messages: list } = app
  const before = list.baseRow
  list.baseRow = Math.max(0, before + rows)
  const movedRows = list.baseRow - before
  // The document has its new height only then.
  void app.rendered().then(() => scrollBy({ top: -movedRows * height, behavior: 'instant' }))
}

function moveFocus(event: KeyboardEvent): void {
  const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[event.key]
  if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return
  const links = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('a.row')]
  const next = links[links.indexOf(document.activeElement as HTMLElement) + step]
  if (next === undefined) return
  event.preventDefault()
  next.focus()
}

function rowOf(app: App, { index, message }: Row): TemplateResult {
  if (message === undefined) return html`<li class="gone" aria-hidden="true"></li>`
  const { id, sender, recipients, recipientCount, attempts, dataBytes, acceptedAt, notes } = message
  const { nowMs } = app.feed
  const more = recipientCount > 1 ? ` +${digits(recipientCount - 1)}` : ''
  const accepted = shownTime(acceptedAt, nowMs)
  const reason = notes[0] === undefined ? '' : reasonText(notes[0])
  return html`<li aria-setsize="-1" aria-posinset=${index + 1}>
    <a class="row" href=${addressOf({ view: 'messages', id, filter: {} })}>
      <span class="who"
        ><span class="addresses"
          ><span class="unseen">from </span><bdi>${senderText(sender)}</bdi
          ><span class="to"><span aria-hidden="true">→</span><span class="unseen"> to </span></span
          ><bdi>${shown(recipients[0] ?? '', 320)}</bdi><b>${more}</b></span
        ><small>${reason === '' ? html`<code>${id}</code>` : html`<bdi>${reason}</bdi>`}</small></span
      >
      <span class="queue">${queueBadge(message)}</span>
      <span class="due">${dueText(message, nowMs)}</span>
      <span class="number"><span class="unseen">attempts </span>${digits(attempts)}</span>
      <span class="number size">${bytesText(dataBytes)}</span>
      <span class="accepted" title=${`${accepted.local} · ${accepted.utc}`}
        ><span class="unseen">accepted </span>${fromNow(acceptedAt, nowMs)}</span
      >
    </a>
  </li>`
}

const queueIcons: Readonly<Record<Message['queue'], Icon>> = {
  active: 'well',
  incoming: 'notice',
  deferred: 'waiting',
  hold: 'paused',
}

export const queueBadge = ({ queue }: Message): TemplateResult =>
  html`<span class="badge ${queueIcons[queue]}">${icon(queueIcons[queue])}<span>${queue}</span></span>`
