/** The view Now: is all well, what is going on, and what is in the way. */
import { html, nothing, type TemplateResult } from '/vendor/lit-html/lit-html.js'
import type { Figures, Kind, LaneFigures, Problem, Room } from '../facts/api.js'
import { bytesText, counted, digits, rateDigits, shown, spanText } from '../facts/format.js'
import { laneTitle } from '../facts/mail-words.js'
import { addressOf } from '../facts/place.js'
import { helpOf } from '../facts/help.js'
import type { App } from './app.js'
import { destinationTable } from './destinations-view.js'
import { outcomesView } from './outcomes-view.js'
import { icon } from '../parts/icons.js'
import { badge, empty, meter, relativeTime, foreign, sparkline } from '../parts/pieces.js'
import { dashes } from '../parts/rate-chart.js'
import { kinds, sinceFirst, thinned } from '../facts/series.js'

export function nowView(app: App): TemplateResult {
  const { latest } = app.feed
  if (latest === undefined)
    return html`<h1 class="unseen" tabindex="-1">Now</h1>
      <p class="pending" role="status">Waiting for the first figures …</p>`
  return html`
    <h1 class="unseen" tabindex="-1">Now</h1>
    ${verdict(app, latest)} ${rates(app, latest)}
    <section class="facts" aria-label="The relay">${facts(app, latest)}</section>
    ${outcomesView(app)} ${lanes(app, latest)} ${worst(app, latest)}
  `
}

function verdict(app: App, figures: Figures): TemplateResult {
  const { problems, recovering } = figures
  const serious = problems.filter(({ severity }) => severity !== 'notice')
  const isNew = hasNoMail(figures)
  const isLost = app.feed.connection.kind === 'lost'
  const title =
    serious.length > 0
      ? counted(serious.length, 'problem')
      : recovering
        ? 'Recovering'
        : isNew
          ? 'Ready: no mail yet'
          : isLost
            ? 'All was well'
            : 'All is well'
  const worst = serious.some(({ severity }) => severity === 'critical') ? 'critical' : 'warning'
  return html`<section class="verdict" aria-label="Verdict">
    <h2>${icon(serious.length > 0 ? worst : recovering || isLost ? 'waiting' : 'well')}${title}</h2>
    ${
      problems.length === 0
        ? isNew
          ? html`<p class="hint">Mail that arrives is counted here. Send one: <code>${tryIt}</code></p>`
          : nothing
        : html`<ul class="problems">
            ${problems.map((problem) => problemItem(app, problem))}
          </ul>`
    }
  </section>`
}

/** None has come, and none waits since an earlier start. */
const hasNoMail = ({ totals, active, lanes: all }: Figures): boolean =>
  totals.accepted + totals.delivered + totals.deferred + active.count === 0 &&
  all.every(({ waitingBytes }) => waitingBytes === 0)

const tryIt =
  "printf 'Subject: hello\\n\\nFirst mail.\\n' | npx waybill sendmail -f me@example.org you@example.net"

function problemItem(app: App, { severity, text, subject, help, code }: Problem): TemplateResult {
  const { lane, name } = subject
  const link =
    lane !== undefined
      ? html`<a href=${addressOf({ view: 'log', filter: {} })}>look at the log</a>`
      : name !== undefined
        ? html`<a
              href=${addressOf({ view: 'messages', filter: { nexthop: app.feed.latest?.destinations?.find((one) => one.name === name)?.nexthop ?? name } })}
              >its mail</a
            >
            <a href=${addressOf({ view: 'destinations', filter: {} })}>destinations</a>`
        : nothing
  const page = help === null ? undefined : helpOf(help)
  return html`<li class=${severity}>
    ${icon(severity)}
    <div>
      <p>${foreign(text, 600)}</p>
      <p class="links">
        <code>${code}</code> ${link}
        ${page === undefined ? nothing : html`<span>what to do: <a href=${page.href} target="_blank" rel="noreferrer">${page.title}</a></span>`}
      </p>
    </div>
  </li>`
}

const kindTitles: Readonly<Record<Kind, string>> = {
  accepted: 'Accepted',
  delivered: 'Delivered',
  deferred: 'Deferred',
  failed: 'Failed',
}

let span: 'minutes' | 'day' = 'minutes'
/** Five minutes, or an hour. */
const stepsMin = 60

function rates(app: App, figures: Figures): TemplateResult {
  const all = span === 'minutes' ? thinned(app.feed.minutes, 5) : app.feed.day
  const series = sinceFirst(all, stepsMin)
  const choose = (next: typeof span) => (): void => {
    span = next
    app.changed()
  }
  return html`<section class="panel rates" aria-labelledby="rates">
    <div class="head">
      <h2 id="rates">Mail a second</h2>
      <div class="choice" role="group" aria-label="Span">
        <button aria-pressed=${span === 'minutes'} @click=${choose('minutes')}>15 minutes</button
        ><button aria-pressed=${span === 'day'} @click=${choose('day')}>24 hours</button>
      </div>
    </div>
    <dl class="tiles">${kinds.map((kind) => tile(app, kind, figures))}</dl>
    <rate-chart .series=${series}></rate-chart>
  </section>`
}

function tile(app: App, kind: Kind, { rates }: Figures): TemplateResult {
  const { times, rates: day } = app.feed.day
  const stepSeconds = times.length > 1 ? times[1]! - times[0]! : 60
  const dayCount = day[kind].reduce<number>((sum, rate) => sum + (rate ?? 0) * stepSeconds, 0)
  return html`<div class="tile">
    <dt>
      <svg class="sample ${kind}" viewBox="0 0 22 4" aria-hidden="true">
        <line x1="0" y1="2" x2="22" y2="2" stroke-dasharray=${dashes[kind].join(' ')} /></svg
      >${kindTitles[kind]}
    </dt>
    <dd>
      <strong>${rateDigits(rates[kind])}</strong><span class="unit">/s</span>
      <small>${digits(dayCount)} in 24 h</small>
    </dd>
  </div>`
}

function facts(app: App, figures: Figures): TemplateResult[] {
  const { sync, active, room, journal, deliveries } = figures
  const syncText = sync.perSecond === 0 ? '–' : `${sync.meanMs.toFixed(1)} ms`
  const syncNow =
    sync.underWayMs > 1000
      ? `one takes ${spanText(sync.underWayMs)} already`
      : `${digits(sync.perSecond)} a second`
  const share = active.max === 0 ? 0 : active.count / active.max
  return [
    fact(
      'Sync latency',
      syncText,
      `${syncNow}, last ${sync.lastMs.toFixed(1)} ms`,
      sparkline(app.feed.syncs, 120),
    ),
    fact(
      'Active messages',
      digits(active.count),
      deliveries.isHeld ? 'no delivery begins now: the disk is slow' : `of ${digits(active.max)} at most`,
      meter(share, `${Math.round(share * 100)} % of the active messages allowed`, 0.95),
    ),
    room === null
      ? fact('Free disk', '–', 'not known')
      : fact('Free disk', bytesText(room.freeBytes), roomText(room)),
    fact(
      'A start would read',
      bytesText(journal.suffixBytes),
      `journal of ${counted(journal.segmentCount, 'segment')}, ${journal.spareCount} spare`,
    ),
  ]
}

const roomText = ({ isShort, shortOf, freeFiles }: Room): string =>
  isShort
    ? `too ${shortOf === 'files' ? 'few inodes' : 'little'}: new mail is refused`
    : `and ${counted(freeFiles, 'free inode')}; new mail is accepted`

const fact = (
  title: string,
  value: string,
  more: string,
  picture: TemplateResult | typeof nothing = nothing,
): TemplateResult =>
  html`<div class="fact">
    <h3>${title}</h3>
    <p class="value">${value}</p>
    <p class="more">${more}</p>
    ${picture}
  </div>`

/** Of a lane in which nothing waits, and which is sound, there is nothing to say. */
const isIdle = ({ waitingBytes, damage }: LaneFigures): boolean => waitingBytes === 0 && damage === null

function lanes(app: App, { lanes }: Figures): TemplateResult {
  const { hasEmpty } = app.lanes
  const sorted = [...lanes].sort((a, b) => (a.intervalMs ?? Infinity) - (b.intervalMs ?? Infinity))
  const emptyCount = lanes.filter(isIdle).length
  const listed = hasEmpty ? sorted : sorted.filter((lane) => !isIdle(lane))
  return html`<section class="panel" aria-labelledby="lanes">
    <div class="head">
      <h2 id="lanes">Lanes: mail that waits on disk</h2>
      <div class="buttons">
        ${
          emptyCount === 0
            ? nothing
            : html`<button aria-expanded=${hasEmpty} @click=${() => app.lanes.toggleEmpty()}>
                ${hasEmpty ? 'Hide' : 'Show'} ${counted(emptyCount, 'empty lane')}
              </button>`
        }
        <button @click=${() => void app.lanes.count()}>Count messages</button>
      </div>
    </div>
    ${listed.length === 0 ? empty('No mail waits', 'Mail that is deferred or on hold waits here.') : laneTable(app, listed)}
    ${lanesHint(app)}
  </section>`
}

function lanesHint({ feed, lanes: { counted: asked } }: App): TemplateResult {
  switch (asked?.kind) {
    case 'asked':
      return html`<p class="hint" role="status">Reading the queue …</p>`
    case 'refused':
      return html`<p class="trouble" role="alert">${icon('warning')} ${asked.text}</p>`
    case 'there':
      return html`<p class="hint">
        Messages were counted ${relativeTime(asked.value.at, feed.nowMs)}. ${laneWords}
      </p>`
    case undefined:
      return html`<p class="hint">${laneWords}</p>`
  }
}

const laneWords =
  'To read: bytes of the log that the lane has not gone through yet. Marks: messages of it that were started out of turn, by a flush for example.'

const laneTable = (app: App, listed: readonly LaneFigures[]): TemplateResult =>
  html`<div class="scroll" tabindex="0" role="group" aria-labelledby="lanes">
    <table>
      <thead>
        <tr>
          <th scope="col">Queue</th>
          <th scope="col">Next due</th>
          <th scope="col" class="number">Messages</th>
          <th scope="col" class="number">To read</th>
          <th scope="col" class="number wide">Marks</th>
          <th scope="col" class="number wide">Segments</th>
        </tr>
      </thead>
      <tbody>
        ${listed.map((lane) => laneRow(app, lane))}
      </tbody>
    </table>
  </div>`

const none: TemplateResult = html`<span class="quiet">–</span>`

function laneRow({ feed, lanes: { counted: asked } }: App, lane: LaneFigures): TemplateResult {
  const { queue, waitingBytes, markCount, segmentCount, nextDueAt } = lane
  const messages = asked?.kind === 'there' ? (asked.value.messages.get(lane.lane) ?? 0) : undefined
  const filter = { lane: queue === 'deferred' ? String(lane.lane) : queue }
  return html`<tr>
    <th scope="row">
      <a href=${addressOf({ view: 'messages', filter })}>${laneTitle(lane)}</a>${laneState(lane)}
    </th>
    <td>${nextDueAt === null || waitingBytes === 0 ? none : relativeTime(nextDueAt, feed.nowMs)}</td>
    <td class="number">${messages === undefined ? none : digits(messages)}</td>
    <td class="number">
      ${waitingBytes === 0 ? html`<span class="quiet">0</span>` : bytesText(waitingBytes)}
    </td>
    <td class="number wide">${digits(markCount)}</td>
    <td class="number wide">${segmentCount === 0 ? none : digits(segmentCount)}</td>
  </tr>`
}

/** What keeps its mail there beside the time. */
function laneState({ queue, waitingBytes, damage }: LaneFigures): TemplateResult | typeof nothing {
  if (damage !== null) return html`<small>${badge('critical', `stands still: ${shown(damage, 300)}`)}</small>`
  if (queue !== 'hold' || waitingBytes === 0) return nothing
  return html`<small>${badge('paused', 'waits for a release')}</small>`
}

const worstMax = 6

function worst(app: App, { destinations = [], destinationCount }: Figures): TemplateResult {
  return html`<section class="panel" aria-labelledby="sites">
    <div class="head">
      <h2 id="sites">Destinations by impact</h2>
      <a href=${addressOf({ view: 'destinations', filter: {} })}>all ${digits(destinationCount)}</a>
    </div>
    ${
      destinations.length === 0
        ? empty('No destination is in use', 'One is in use while mail for it is being worked on.')
        : destinationTable(app, destinations.slice(0, worstMax), 'sites', false)
    }
  </section>`
}
