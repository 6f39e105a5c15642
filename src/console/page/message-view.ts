/** The view of one message: its envelope, header, content and history.
 * Invariant: HTML of a message is shown in a frame that can do nothing, and text as text. */
import { html, nothing, type TemplateResult } from '/vendor/lit-html/lit-html.js'
import type { Conversation, HistoryRecord, Message, Note, Part } from '../facts/api.js'
import { exchangesOf, folded, isRefusal, type Exchange } from '../facts/conversation.js'
import { bytesText, counted, digits, senderText, shown, shownLines } from '../facts/format.js'
import { stepOf, stepOfEntry, type Step } from '../facts/history.js'
import { countIn, dueText, reasonText } from '../facts/mail-words.js'
import { addressOf } from '../facts/place.js'
import type { Verb } from '../facts/api.js'
import type { App } from './app.js'
import { icon } from '../parts/icons.js'
import { queueBadge, verbBar } from './messages-view.js'
import { flat, type Asked } from './one-message.js'
import { empty, foreign, time } from '../parts/pieces.js'

export function messageView(app: App): TemplateResult {
  const { one, messages: list } = app
  const subject = subjectOf(app)
  const back = addressOf({ view: 'messages', filter: list.filter })
  return html`
    <nav class="crumbs" aria-label="Where"><a href=${back}>← Messages</a></nav>
    <div class="title">
      <h1 tabindex="-1">${foreign(subject ?? one.id, 500)}</h1>
      ${subject === undefined ? nothing : html`<p class="hint"><code>${shown(one.id, 100)}</code></p>`}
    </div>
    ${messageFacts(app)}
    <div class="two">
      <div>${content(app)}</div>
      <div>${history(app)}${conversations(app)}</div>
    </div>
  `
}

function subjectOf({ one: { structure } }: App): string | undefined {
  if (structure.kind !== 'there') return undefined
  return structure.value.header.find(({ name }) => name.toLowerCase() === 'subject')?.value || '(no subject)'
}

function messageFacts(app: App): TemplateResult {
  const { message } = app.one
  switch (message.kind) {
    case 'asked':
      return html`<p class="pending" role="status">Asking for it …</p>`
    case 'refused':
      return message.code === 'NOT_FOUND'
        ? html`<section class="panel">
            ${empty('It is not in the queue', 'It has ended, or was never here. What is still in the log stands below.')}
          </section>`
        : html`<p class="trouble" role="alert">${icon('warning')} ${message.text}</p>`
    case 'there':
      return envelope(app, message.value)
  }
}

const verbsFor = ({ queue }: Message): readonly Verb[] =>
  queue === 'hold'
    ? ['release', 'requeue', 'reroute', 'expire', 'delete']
    : ['hold', 'flush', 'requeue', 'reroute', 'expire', 'delete']

function envelope(app: App, message: Message): TemplateResult {
  const { nowMs } = app.feed
  const { id, sender, acceptedAt, attempts, dataBytes, recipients, recipientCount, dueAt, notes } = message
  return html`<section class="panel envelope" aria-label="Envelope">
    <div class="head">${verbBar(app, { id }, verbsFor(message))}</div>
    <dl class="pairs">
      <div class="broad">
        <dt>From</dt>
        <dd><bdi>${senderText(sender)}</bdi></dd>
      </div>
      <div>
        <dt>Queue</dt>
        <dd>${queueBadge(message)}</dd>
      </div>
      <div>
        <dt>Next attempt</dt>
        <dd>
          ${dueText(message, nowMs)}${dueAt !== null && dueAt > nowMs ? html` · ${time(dueAt, nowMs)}` : nothing}
        </dd>
      </div>
      <div>
        <dt>Attempts</dt>
        <dd>${attempts}</dd>
      </div>
      <div>
        <dt>Accepted</dt>
        <dd>${time(acceptedAt, nowMs)}</dd>
      </div>
      <div>
        <dt>Size</dt>
        <dd>${bytesText(dataBytes)}</dd>
      </div>
    </dl>
    <h2>${counted(recipientCount, 'recipient')} ${recipientCount === 1 ? 'waits' : 'wait'}</h2>
    <ul class="recipients">
      ${recipients.slice(0, recipientsShown).map((recipient) => html`<li>${foreign(recipient, 320)}</li>`)}
    </ul>
    ${
      recipientCount > recipientsShown
        ? html`<p class="hint">and ${counted(recipientCount - recipientsShown, 'more recipient')}</p>`
        : nothing
    }
    ${
      notes.length === 0
        ? nothing
        : html`<h2>Why</h2>
            <ul class="recipients">
              ${notes.map(reasonItem)}
            </ul>`
    }
  </section>`
}

const recipientsShown = 50

/** Ranges count in the envelope, of which some recipients may have ended: so a reason stands
 * beside its count. */
const reasonItem = (note: Note): TemplateResult =>
  html`<li>
    <small>${counted(countIn(note.ranges), 'recipient')}: ${foreign(reasonText(note), 600)}</small>
  </li>`

const firstFields = ['from', 'to', 'cc', 'date', 'message-id', 'reply-to']

function content(app: App): TemplateResult {
  const { one } = app
  const { structure } = one
  if (structure.kind === 'asked') return html`<p class="pending" role="status">Reading it …</p>`
  if (structure.kind === 'refused')
    return html`<section class="panel">
      <div class="head"><h2>Content</h2></div>
      <p class="trouble">${icon('notice')} ${structure.text}</p>
    </section>`
  const { header, tree, isTruncated } = structure.value
  const fields = one.hasWholeHeader
    ? header
    : header.filter(({ name }) => firstFields.includes(name.toLowerCase()))
  const toggle = (): void => {
    one.hasWholeHeader = !one.hasWholeHeader
    app.changed()
  }
  return html`<section class="panel" aria-labelledby="header">
      <div class="head">
        <h2 id="header">Header</h2>
        <button aria-expanded=${one.hasWholeHeader} @click=${toggle}>
          ${one.hasWholeHeader ? 'Fewer fields' : `All ${counted(header.length, 'field')}`}
        </button>
      </div>
      <dl class="header">
        ${fields.map(
          ({ name, value }) =>
            html`<div>
              <dt>${foreign(name, 80)}</dt>
              <dd>${foreign(value, 2000)}</dd>
            </div>`,
        )}
      </dl>
    </section>
    <section class="panel" aria-labelledby="body">
      <div class="head">
        <h2 id="body">Content</h2>
        <button @click=${() => void one.downloadWhole()}>Download .eml</button>
      </div>
      <ul class="parts">
        ${flat(tree).map(({ part, depth }) => partItem(app, part, depth))}
      </ul>
      ${isTruncated ? html`<p class="hint">There is more of it: its structure is read up to a bound.</p>` : nothing}
      ${bodyOf(app)}
    </section>`
}

function partItem({ one }: App, part: Part, depth: number): TemplateResult {
  const { type, filename, bytes, parts, disposition } = part
  const shownPart = one.body?.kind === 'there' ? one.body.value.part : undefined
  const isText = type.startsWith('text/')
  return html`<li class="depth-${Math.min(6, depth)}">
    <span class="what"
      ><code>${shown(type, 100)}</code>${filename === null ? nothing : html` ${foreign(filename, 200)}`}
      <small
        >${parts === undefined ? bytesText(bytes) : nothing}${disposition === 'attachment' ? ', attached' : nothing}</small
      ></span
    >
    ${
      parts !== undefined
        ? nothing
        : html`<span class="buttons"
            >${
              isText
                ? html`<button aria-pressed=${shownPart === part.part} @click=${() => void one.open(part)}>
                    Show
                  </button>`
                : nothing
            }${
              type === 'text/html'
                ? html`<button @click=${() => void one.open(part, true)}>Source</button>`
                : nothing
            }<button @click=${() => void one.download(part)}>Download</button></span
          >`
    }
  </li>`
}

function bodyOf({ one: { body } }: App): TemplateResult | typeof nothing {
  if (body === undefined) return nothing
  if (body.kind === 'asked') return html`<p class="pending" role="status">Reading the part …</p>`
  if (body.kind === 'refused')
    return html`<p class="trouble" role="alert">${icon('warning')} ${body.text}</p>`
  if (body.value.kind === 'html')
    return html`<iframe
        class="body"
        title="the part as HTML, without scripts and without anything from elsewhere"
        sandbox=""
        referrerpolicy="no-referrer"
        src=${body.value.href}
      ></iframe>
      <p class="hint">Shown without scripts, and nothing is loaded from elsewhere.</p>`
  return html`<pre
      class="body"
      tabindex="0"
      role="region"
      aria-label="The part as text"
    ><bdi>${shownLines(body.value.text)}</bdi></pre>
    ${body.value.isCut ? html`<p class="hint">The first mebibyte of it; download it to see the rest.</p>` : nothing}`
}

function history(app: App): TemplateResult {
  const { one } = app
  return html`<section class="panel" aria-labelledby="history">
    <div class="head">
      <h2 id="history">History</h2>
      <button @click=${() => one.renew()}>Read again</button>
    </div>
    ${timeline(app, one.history)}
  </section>`
}

function conversations(app: App): TemplateResult {
  const { conversations: all } = app.one
  return html`<section class="panel" aria-labelledby="conversations">
    <div class="head"><h2 id="conversations">Conversation with the server</h2></div>
    ${
      all.kind === 'asked'
        ? html`<p class="pending" role="status">Asking for it …</p>`
        : all.kind === 'refused'
          ? html`<p class="trouble">${icon('notice')} ${all.text}</p>`
          : all.value.length === 0
            ? empty('None is known', 'The last ones are kept in memory, until the relay ends.')
            : all.value.toReversed().map((one) => conversation(app, one))
    }
  </section>`
}

function conversation({ feed }: App, { at, server, lines, leftOutCount }: Conversation): TemplateResult {
  const [first, between, last] = folded(exchangesOf(lines))
  const refusedCount = between.filter(({ isRefused }) => isRefused).length
  return html`<h3>${foreign(server, 260)} ${time(at, feed.nowMs)}</h3>
    ${exchangeList(first)}
    ${
      between.length === 0
        ? nothing
        : html`<details class="between">
            <summary>
              ${counted(between.length, 'more command')}${refusedCount === 0 ? nothing : `, ${digits(refusedCount)} of them refused`}
            </summary>
            ${exchangeList(between)}
          </details>`
    }
    ${exchangeList(last)}
    ${leftOutCount === 0 ? nothing : html`<p class="hint">${counted(leftOutCount, 'line')} in between left out.</p>`}`
}

function exchangeList(exchanges: readonly Exchange[]): TemplateResult | typeof nothing {
  if (exchanges.length === 0) return nothing
  return html`<ol class="conversation">
    ${exchanges.map(
      ({ command, replies }) =>
        html`<li>
          ${command === undefined ? nothing : spoken('relay', command)}
          ${replies.map((reply) => spoken('server', reply, isRefusal(reply)))}
        </li>`,
    )}
  </ol>`
}

const spoken = (by: 'relay' | 'server', text: string, isRefused: boolean = false): TemplateResult =>
  html`<p class=${by}>
    <span>${by}</span> ${isRefused ? icon('warning') : nothing} <code><bdi>${shownLines(text)}</bdi></code>
  </p>`

function timeline(app: App, history: Asked<readonly HistoryRecord[]>): TemplateResult {
  if (history.kind === 'asked') return html`<p class="pending" role="status">Reading the log …</p>`
  const { entries } = app.one
  if (entries.length > 0 && (history.kind === 'refused' || history.value.length < entries.length))
    return html`<ol class="timeline">
      ${entries.map((entry) => item(app, entry.at, stepOfEntry(entry), `outcome ${entry.number}`))}
    </ol>`
  if (history.kind === 'refused') return html`<p class="trouble">${icon('notice')} ${history.text}</p>`
  if (history.value.length === 0)
    return empty(
      'Nothing of it is in the log any more',
      app.one.keepsHistory
        ? undefined
        : 'This relay keeps no history of mail that has ended: serve --history 7d does.',
    )
  return html`<ol class="timeline">
    ${history.value.map((record, i, all) => stepItem(app, record, all[i + 1]))}
  </ol>`
}

function stepItem(app: App, record: HistoryRecord, next: HistoryRecord | undefined): TemplateResult {
  const { at, log, position, kind } = record
  return item(app, at, stepOf(record, app.one.id, next), `${kind} at ${position} of ${log}`)
}

function item({ feed }: App, at: number, { title, mood, lines }: Step, where: string): TemplateResult {
  return html`<li title=${where}>
    ${icon(mood)}
    <div>
      <p><b>${shown(title, 60)}</b> ${time(at, feed.nowMs)}</p>
      ${lines.map((line) => html`<p class="words">${foreign(line, 1000)}</p>`)}
    </div>
  </li>`
}
