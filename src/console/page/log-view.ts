/** The view Log: what the segments hold, what a start would read, the past, and whether all
 * of it is sound. */
import { html, nothing, svg, type TemplateResult } from '/vendor/lit-html/lit-html.js'
import type { Finding, LogPicture, LogSegments, QueueAt, Segment, Verdict } from '../facts/inspections.js'
import { bytesText, counted, digits, shown } from '../facts/format.js'
import { laneTitle } from '../facts/mail-words.js'
import { addressOf } from '../facts/place.js'
import type { App } from './app.js'
import { icon } from '../parts/icons.js'
import type { Asked } from './one-message.js'
import { empty, foreign, typed } from '../parts/pieces.js'

export function logView(app: App): TemplateResult {
  const { log } = app
  return html`
    <div class="title">
      <h1 tabindex="-1">Log</h1>
      <p class="hint">The files of the queue: which bytes are needed, for what, and which are garbage.</p>
    </div>
    <section class="panel" aria-labelledby="segments">
      <div class="head">
        <h2 id="segments">Segments</h2>
        <button @click=${() => void log.renew()}>Read again</button>
      </div>
      ${picture(app, log.picture)}
    </section>
    ${checkPanel(app)} ${pastPanel(app)}
  `
}

function picture(app: App, asked: Asked<LogPicture> | undefined): TemplateResult {
  if (asked === undefined || asked.kind === 'asked')
    return html`<p class="pending" role="status">Reading the directory …</p>`
  if (asked.kind === 'refused')
    return html`<p class="trouble" role="alert">${icon('warning')} ${asked.text}</p>`
  const { logs, restart, findings } = asked.value
  return html`
    <p class="legend" aria-hidden="true">
      ${['live', 'passed', 'pinned', 'garbage', 'unused', 'spare'].map(
        (state) =>
          html`<span
            ><svg class="key" viewBox="0 0 16 10">
              <rect class="box ${state}" width="16" height="10" rx="2" /></svg
            >${state}</span
          >`,
      )}
      <span
        ><svg class="key" viewBox="0 0 16 10">
          <line class="mark" x1="8" x2="8" y1="0" y2="10" /></svg
        >position where a start or a runner goes on, or the log ends</span
      >
    </p>
    <div class="log-rows">${logs.map((log) => logRow(app, log))}</div>
    <dl class="pairs">
      <div class="broad">
        <dt>A start would read</dt>
        <dd>${bytesText(restart.suffixBytes)}, from ${digits(restart.suffix)} to ${digits(restart.end)}</dd>
      </div>
      <div>
        <dt>Being worked on</dt>
        <dd>${counted(restart.activeCount, 'message')}</dd>
      </div>
      <div>
        <dt>Lives so far</dt>
        <dd>${digits(restart.life)}</dd>
      </div>
    </dl>
    ${findings.length === 0 ? nothing : findingList(findings)}
  `
}

/** Boxes of a row before they are only counted. */
const boxesMax = 400

/** `deferred, 5m` of `2/envelopes`. */
function purposeOf({ feed }: App, name: string): string {
  const number = /^(\d+)\//.exec(name)?.[1]
  const lane = feed.latest?.lanes.find((one) => String(one.lane) === number)
  return lane === undefined ? '' : `${laneTitle(lane)}; `
}

function logRow(app: App, log: LogSegments): TemplateResult {
  const { name, segments, spareCount, liveBytes, pinnedBytes, garbageBytes, end } = log
  const boxes = segments.slice(-boxesMax)
  return html`<div class="log-row">
    <div class="name">
      <h3>${shown(name, 60)}</h3>
      <small
        >${purposeOf(app, name)}${bytesText(liveBytes)}
        live${pinnedBytes > 0 ? `, ${bytesText(pinnedBytes)} pinned` : ''}${garbageBytes > 0 ? `, ${bytesText(garbageBytes)} garbage` : ''};
        ends at ${digits(end)}</small
      >
    </div>
    <div class="boxes" role="img" aria-label=${rowLabel(log)}>
      ${boxes.map((segment) => box(log, segment))}
      ${Array.from(
        { length: spareCount },
        (_, i) =>
          html`<svg class="box-place" viewBox="0 0 34 22">
            <title>${`spare ${i + 1}`}</title>
            <rect class="box spare" x=".5" y=".5" width="33" height="21" rx="3" />
          </svg>`,
      )}
      ${segments.length > boxesMax ? html`<span class="quiet">and ${digits(segments.length - boxesMax)} before them</span>` : nothing}
      ${segments.length + spareCount === 0 ? html`<span class="quiet">no segments</span>` : nothing}
    </div>
  </div>`
}

const rowLabel = ({ name, segments, spareCount }: LogSegments): string => {
  const count = (state: string): number => segments.filter((segment) => segment.state === state).length
  const states = ['live', 'pinned', 'garbage', 'unused'].flatMap((state) =>
    count(state) === 0 ? [] : [`${count(state)} ${state}`],
  )
  return `${name}: ${states.join(', ') || 'no segments'}${spareCount === 0 ? '' : `, ${spareCount} spare`}`
}

function box({ segmentBytes, marks, floor }: LogSegments, segment: Segment): TemplateResult {
  const { index, fileBytes, contentBytes, state, pinnedBy } = segment
  const start = index * segmentBytes
  const bytes = Math.max(1, segmentBytes)
  const filled = (33 * Math.min(contentBytes, bytes)) / bytes
  const passed = state === 'live' ? (33 * Math.max(0, Math.min(contentBytes, floor - start))) / bytes : 0
  const inside = marks.filter(({ position }) => position >= start && position < start + bytes)
  const title = `segment ${index}: ${state}, ${bytesText(contentBytes)} of ${bytesText(fileBytes)}${pinnedBy.length > 0 ? `, held by ${pinnedBy.join(' ')}` : ''}${inside.map(({ name, position }) => `; ${name} at ${position}`).join('')}`
  return html`<svg class="box-place" viewBox="0 0 34 22">
    <title>${title}</title>
    <rect class="box unused" x=".5" y=".5" width="33" height="21" rx="3" />
    <rect class="fill ${state}" x=".5" y=".5" width=${filled.toFixed(1)} height="21" rx="3" />
    ${passed > 0 ? svg`<rect class="fill passed" x=".5" y=".5" width=${passed.toFixed(1)} height="21" rx="3" />` : nothing}
    ${inside.map(({ position }) => svg`<line class="mark" x1=${(0.5 + (33 * (position - start)) / bytes).toFixed(1)} x2=${(0.5 + (33 * (position - start)) / bytes).toFixed(1)} y1="0" y2="22" />`)}
    <text x="17" y="15" text-anchor="middle">${index}</text>
  </svg>`
}

function checkPanel({ log }: App): TemplateResult {
  const { verdict } = log
  return html`<section class="panel" aria-labelledby="verify">
    <div class="head">
      <h2 id="verify">Is it sound?</h2>
      ${
        verdict?.kind === 'asked'
          ? html`<button @click=${() => log.stop()}>Stop</button>`
          : html`<button @click=${() => void log.verify()}>Verify all of it</button>`
      }
    </div>
    ${
      verdict === undefined
        ? html`<p class="hint">
            Reads every byte of the queue and checks it, in the background and beside the mail.
          </p>`
        : verdict.kind === 'asked'
          ? html`<progress max="1" .value=${log.checkedShare} aria-label="bytes checked"></progress>
              <p class="hint" role="status">${Math.round(log.checkedShare * 100)} % read</p>`
          : verdict.kind === 'refused'
            ? html`<p class="trouble" role="alert">${icon('warning')} ${verdict.text}</p>`
            : verdictOf(verdict.value)
    }
  </section>`
}

function verdictOf({
  isSound,
  findings,
  recordCount,
  messageCount,
  dataBytes,
  tornTailBytes,
}: Verdict): TemplateResult {
  return html`<p class="sound">
      ${icon(isSound ? 'well' : 'critical')}
      <strong>${isSound ? 'Sound' : counted(findings.length, 'fault')}</strong>
      <span
        >${counted(recordCount, 'record')} and ${counted(messageCount, 'message')} with
        ${bytesText(dataBytes)} of data were
        read.${tornTailBytes > 0 ? ` ${bytesText(tornTailBytes)} at the end belong to no batch.` : ''}</span
      >
    </p>
    ${findings.length === 0 ? nothing : findingList(findings)}`
}

const findingList = (findings: readonly Finding[]): TemplateResult =>
  html`<ul class="problems">
    ${findings.slice(0, 200).map(
      ({ log, segment, offsetBytes, reason, lost }) =>
        html`<li class="critical">
          ${icon('critical')}
          <div>
            <p>
              ${foreign(reason, 400)}${lost === undefined ? nothing : html`; lost: ${foreign(lost, 300)}`}
            </p>
            <p class="links">
              <code
                >${shown(log, 60)}${segment === undefined ? '' : `, segment ${segment}`}${offsetBytes === undefined ? '' : `, offset ${digits(offsetBytes)}`}</code
              >
            </p>
          </div>
        </li>`,
    )}
  </ul>`

function pastPanel(app: App): TemplateResult {
  const { log } = app
  const look = (event: SubmitEvent): void => {
    event.preventDefault()
    void log.lookAt(Number(typed(event.target, 'position')))
  }
  const end = log.picture?.kind === 'there' ? log.picture.value.restart.end : undefined
  return html`<section class="panel" aria-labelledby="past">
    <div class="head"><h2 id="past">The queue as of a position</h2></div>
    <form class="inline" @submit=${look}>
      <label
        >Position in the journal <input name="position" type="number" min="0" max=${end ?? ''} required
      /></label>
      <button>Look</button>
    </form>
    ${log.past === undefined ? html`<p class="hint">What waited, and where, when the journal ended there; as far back as its segments reach.</p>` : past(log.past)}
  </section>`
}

function past(asked: Asked<QueueAt>): TemplateResult {
  if (asked.kind === 'asked') return html`<p class="pending" role="status">Reading the log …</p>`
  if (asked.kind === 'refused')
    return html`<p class="trouble" role="alert">${icon('notice')} ${asked.text}</p>`
  const { lanes, activeCount } = asked.value
  if (lanes.length === 0 && activeCount === 0) return empty('Nothing was in the queue')
  return html`<dl class="pairs">
    <div>
      <dt>active</dt>
      <dd>${counted(activeCount, 'message')}</dd>
    </div>
    ${lanes.map(
      (lane) =>
        html`<div>
          <dt>
            <a href=${addressOf({ view: 'messages', filter: { lane: String(lane.lane) } })}
              >${laneTitle({ queue: lane.queue as 'hold', intervalMs: lane.intervalMs })}</a
            >
          </dt>
          <dd>${counted(lane.messageCount, 'message')}</dd>
        </div>`,
    )}
  </dl>`
}
