/** The view Destinations: where mail goes, how well that works, and how old what waits is. */
import { repeat } from '/vendor/lit-html/directives/repeat.js'
import { html, nothing, type TemplateResult } from '/vendor/lit-html/lit-html.js'
import type { Destination } from '../facts/api.js'
import { counted, digits, rateDigits, shown, spanText } from '../facts/format.js'
import type { AgeShape } from '../facts/inspections.js'
import { limitText, reasonText, stateMeaning, stateText, suspendedText } from '../facts/mail-words.js'
import { addressOf, filterText } from '../facts/place.js'
import type { App } from './app.js'
import type { Destinations, Said, ShapeBy } from './destinations.js'
import { icon } from '../parts/icons.js'
import type { Asked } from './one-message.js'
import { badge, empty, foreign, relativeTime } from '../parts/pieces.js'

export function destinationsView(app: App): TemplateResult {
  const { destinations: view } = app
  return html`
    <div class="title">
      <h1 tabindex="-1">Destinations</h1>
      <p class="hint">Dead and suspended ones first, then those where most waits.</p>
      ${saidBy(view, 'row')}
      ${view.resumed === undefined || !app.may('operate') ? nothing : flushResumed(app, view.resumed)}
    </div>
    ${table(app)} ${app.may('operate') ? actForm(app) : nothing}
    <section class="panel" aria-labelledby="ages">
      <div class="head">
        <h2 id="ages">
          Age of what waits, by ${view.shapeBy === 'sender' ? "the sender's" : "the recipient's"} domain
        </h2>
        <div class="choice" role="group" aria-label="By">
          ${choice(app, 'recipient', 'Recipient')}${choice(app, 'sender', 'Sender')}
        </div>
      </div>
      ${view.shape === undefined ? nothing : shapeOf(view.shape, view.shapeBy)}
    </section>
  `
}

const saidBy = ({ said }: Destinations, by: Said['by']): TemplateResult | typeof nothing =>
  said?.by !== by
    ? nothing
    : html`<p class="trouble">
        ${icon(said.isRefused ? 'warning' : 'well')} <span>${foreign(said.text)}</span>
      </p>`

const choice = (app: App, by: ShapeBy, label: string): TemplateResult =>
  html`<button
    aria-pressed=${app.destinations.shapeBy === by}
    @click=${() => void app.destinations.count(by)}
  >
    ${label}
  </button>`

function table(app: App): TemplateResult {
  const { all } = app.destinations
  if (all.kind === 'asked') return html`<p class="pending" role="status">Asking for them …</p>`
  if (all.kind === 'refused') return html`<p class="trouble" role="alert">${icon('warning')} ${all.text}</p>`
  const { count, destinations } = all.value
  if (count === 0)
    return html`<section class="panel">
      ${empty('No destination is in use', 'One is in use while mail for it is being worked on.')}
    </section>`
  return html`<section class="panel" aria-labelledby="table">
    <div class="head"><h2 id="table">${counted(count, 'destination')}</h2></div>
    ${destinationTable(app, destinations, 'table', true)}
    ${count > destinations.length ? html`<p class="hint">The first ${digits(destinations.length)} of them.</p>` : nothing}
  </section>`
}

/** @param label id of the heading @param hasActions buttons for each */
export function destinationTable(
  app: App,
  destinations: readonly Destination[],
  label: string,
  hasActions: boolean,
): TemplateResult {
  return html`<div class="scroll" tabindex="0" role="group" aria-labelledby=${label}>
      <table class="destinations" role="table">
        <thead role="rowgroup">
          <tr role="row">
            ${columns.map(
              ([title, more, tip]) =>
                html`<th scope="col" role="columnheader" class=${more} title=${tip}>${title}</th>`,
            )}
            ${hasActions ? html`<th scope="col" role="columnheader"><span class="unseen">Actions</span></th>` : nothing}
          </tr>
        </thead>
        <tbody role="rowgroup">
          ${repeat(
            destinations,
            ({ transport, name }) => `${transport} ${name}`,
            (one) => rowOf(app, one, hasActions),
          )}
        </tbody>
      </table>
    </div>
    <p class="hint">
      Due: deliveries that wait for their turn now. Deferred mail is not among them: the name leads to all
      mail.
    </p>`
}

const columns: readonly [title: string, more: string, tip: string][] = [
  ['Destination', '', ''],
  ['State', '', ''],
  ['Due', 'number', 'deliveries that are due and wait for their turn; deferred mail is not among them'],
  ['In flight', 'number', 'deliveries under way, of the window: those that it may have at once'],
  ['Delivered', 'number', 'recipients a second, mean of the last minute'],
  ['Last reply', '', ''],
]

/** On a phone a row is a block, which takes the roles of a table away: so they are said. */
function rowOf(app: App, one: Destination, hasActions: boolean): TemplateResult {
  const { transport, nexthop, name, window, busy, todo, perSecond, lastReply, rate } = one
  const { nowMs } = app.feed
  const rated = rate > 0 ? ` · ${digits(rate)} against its rate limit` : ''
  return html`<tr role="row">
    <th scope="row" role="rowheader">
      <a href=${addressOf({ view: 'messages', filter: { nexthop } })}>${foreign(name, 260)}</a
      ><small>${shown(transport, 60)}${rated}</small>
    </th>
    <td role="cell" title=${stateMeaning[one.state.kind] || stateMeaning[one.recovery]}>
      ${stateOf(one, nowMs)}
    </td>
    <td role="cell" class="number" data-title="due">${digits(todo)}</td>
    <td role="cell" class="number" data-title="in flight">${busy}<span class="quiet"> of ${window}</span></td>
    <td role="cell" class="number" data-title="delivered">
      ${rateDigits(perSecond.delivered)}<span class="unit">/s</span>
    </td>
    <td role="cell" class="reply">
      ${
        lastReply === null
          ? html`<span class="quiet">–</span>`
          : html`<p>${foreign(`${lastReply.kind}: ${reasonText(lastReply)}`, 400)}</p>
              <small>${relativeTime(lastReply.at, nowMs)}</small>`
      }
    </td>
    ${hasActions ? html`<td role="cell" class="buttons">${actions(app, one)}</td>` : nothing}
  </tr>`
}

function stateOf({ state, recovery, limit }: Destination, nowMs: number): TemplateResult {
  const text = stateText(state, recovery, nowMs)
  switch (state.kind) {
    case 'dead':
      return html`${badge('critical', text)} <small>${foreign(reasonText(state), 300)}</small>`
    case 'suspended':
      return state.order === null
        ? badge('paused', text)
        : html`${badge('paused', text)} <small>${shown(suspendedText(state.order), 300)}</small>`
    case 'ready': {
      if (limit === null) return badge(recovery === 'none' ? 'well' : 'waiting', text)
      return html`${badge('waiting', 'limited')} <small>${foreign(limitText(limit), 300)}</small>`
    }
  }
}

function actions(app: App, one: Destination): TemplateResult | typeof nothing {
  if (!app.may('operate')) return nothing
  const { destinations: view, dialog } = app
  const filter = { nexthop: one.nexthop }
  const what = filterText(filter)
  const order = one.state.kind === 'suspended' ? one.state.order : null
  return html`${
      (one.state.kind === 'ready' && one.limit?.kind !== 'order') ||
      (order?.nexthop === null && one.name !== every)
        ? nothing
        : html`<button title="attempts there from now on" @click=${() => void view.resume(one)}>
            Resume
          </button>`
    }
    ${
      order !== null
        ? nothing
        : html`<button
            title="no delivery there begins until you resume it; mail is kept"
            @click=${() => void view.suspend('row', { transport: one.transport, nexthop: one.nexthop })}
          >
            Suspend
          </button>`
    }
    <button @click=${() => dialog.open('flush', filter, what)}>Flush …</button>
    <button @click=${() => dialog.open('reroute', filter, what)}>Reroute …</button>`
}

/** The name of a destination that stands for all of a transport. */
const every = '*'

const spans: readonly [label: string, forMs: number][] = [
  ['for 30 minutes', 1_800_000],
  ['for 2 hours', 7_200_000],
  ['for a day', 86_400_000],
]

const slowMsDefault = 3_600_000

const perSpans: readonly [label: string, perMs: number][] = [
  ['minute', 60_000],
  ['second', 1000],
  ['hour', 3_600_000],
  ['day', 86_400_000],
]

/** Its row may be gone when no mail for it is being worked on. */
const flushResumed = (app: App, nexthop: string): TemplateResult =>
  html`<button @click=${() => app.dialog.open('flush', { nexthop }, filterText({ nexthop }))}>
    Flush what is deferred …
  </button>`

/** For what is not in use now, for a whole transport, and for a time. */
function actForm(app: App): TemplateResult {
  const { destinations: view } = app
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const verb = (event.submitter as HTMLButtonElement | null)?.value
    const form = event.target as HTMLFormElement
    const given = new FormData(form)
    const textOf = (name: string): string | null => {
      const value = given.get(name)
      return (typeof value === 'string' && value.trim()) || null
    }
    const forMs = Number(given.get('for'))
    const target = { transport: textOf('transport'), nexthop: textOf('nexthop') }
    if (verb === 'flush' || verb === 'reroute') {
      const { nexthop } = target
      if (nexthop === null) return view.refuse(`To ${verb}, name a next hop.`)
      return app.dialog.open(verb, { nexthop }, filterText({ nexthop }))
    }
    if (verb === 'slow') {
      const [count, perMs] = [Number(given.get('count')), Number(given.get('per'))]
      if (target.nexthop === null || !(count >= 1))
        return view.refuse('To slow, name a next hop, and how many deliveries may begin.')
      if (await view.slow(target, { count, perMs }, forMs || slowMsDefault)) form.reset()
    } else if (target.nexthop === null && target.transport === null)
      view.refuse('To suspend, name a next hop, a transport or both.')
    else if (await view.suspend('form', target, forMs === 0 ? undefined : forMs)) form.reset()
  }
  return html`<section class="panel" aria-labelledby="suspending">
    <div class="head"><h2 id="suspending">Act on any destination</h2></div>
    <p class="hint">
      Suspended: no delivery there begins. Mail for it is accepted and kept; it grows old and expires as
      always. Slowed: at most so many begin in that time, for an hour unless you say how long, or until the
      relay ends. Flush and reroute are for mail with this next hop, by any transport. A next hop alone means
      by every transport, and a transport alone all that it delivers.
    </p>
    <form class="inline" @submit=${submit}>
      <label>Next hop <input name="nexthop" autocomplete="off" placeholder="mail.example.net" /></label>
      <label>Transport <input name="transport" autocomplete="off" placeholder="any" /></label>
      <label
        >How long
        <select name="for">
          <option value="0">until resumed</option>
          ${spans.map(([label, forMs]) => html`<option value=${forMs}>${label}</option>`)}
        </select>
      </label>
      <label
        >Deliveries <input name="count" type="number" min="1" max="1000000000" placeholder="to slow"
      /></label>
      <label
        >each
        <select name="per">
          ${perSpans.map(([label, perMs]) => html`<option value=${perMs}>${label}</option>`)}
        </select>
      </label>
      <button value="suspend">Suspend</button>
      <button value="slow">Slow</button>
      <button value="flush">Flush …</button>
      <button value="reroute">Reroute …</button>
    </form>
    ${saidBy(view, 'form')}
  </section>`
}

function shapeOf(shape: Asked<AgeShape>, by: ShapeBy): TemplateResult {
  if (shape.kind === 'asked') return html`<p class="pending" role="status">Reading the queue …</p>`
  if (shape.kind === 'refused') return html`<p class="trouble">${icon('notice')} ${shape.text}</p>`
  const { heads, rows, domainCount } = shape.value
  const moreCount = domainCount - rows.filter(({ domain }) => domain !== 'TOTAL').length
  const most = Math.max(
    1,
    ...rows.filter(({ domain }) => domain !== 'TOTAL').flatMap(({ buckets }) => buckets),
  )
  if (rows.every(({ total }) => total === 0)) return empty('Nothing waits')
  return html`<div class="scroll" tabindex="0" role="group" aria-labelledby="ages">
    <table class="heat">
      <thead>
        <tr>
          <th scope="col">Domain</th>
          <th scope="col" class="number">Total</th>
          ${heads.map((head) => html`<th scope="col" class="number">${ageHead(head)}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          ({ domain, total, buckets }) =>
            html`<tr class=${domain === 'TOTAL' ? 'total' : ''}>
              <th scope="row">
                ${
                  domain === 'TOTAL' || by === 'sender' || domain.startsWith('(')
                    ? foreign(domain, 260)
                    : html`<a href=${addressOf({ view: 'messages', filter: { domain } })}
                        >${foreign(domain, 260)}</a
                      >`
                }
              </th>
              <td class="number">${digits(total)}</td>
              ${buckets.map((count) => html`<td class="number heat-${domain === 'TOTAL' ? 0 : heatOf(count, most)}">${count === 0 ? html`<span class="quiet">·</span>` : digits(count)}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
    ${moreCount > 0 ? html`<p class="hint">and ${counted(moreCount, 'more domain')}, of which less waits.</p>` : nothing}
  </div>`
}

/** 0 to 5, by orders of magnitude: one message is seen beside a million. */
const heatOf = (count: number, most: number): number =>
  count === 0 ? 0 : 1 + Math.floor((4 * Math.log(count)) / Math.max(1, Math.log(most)))

/** Minutes, `1280+` the last, as spans. */
function ageHead(head: string): string {
  const minutes = Number(head.replace('+', ''))
  return head.endsWith('+') ? `> ${spanText(minutes * 60_000)}` : `≤ ${spanText(minutes * 60_000)}`
}
