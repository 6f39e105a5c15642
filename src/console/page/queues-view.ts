/** The view Queues: all queues of a store, the nodes that have them, and whether its commits are
 * safe. */
import { html, nothing, type TemplateResult } from '/vendor/lit-html/lit-html.js'
import type { QueueRow, Queues } from '../facts/api.js'
import { bytesText, counted, digits } from '../facts/format.js'
import {
  isAdopted,
  nodesOf,
  nodeStateWords,
  queueStateWords,
  renewalText,
  standbysText,
  type NodeRow,
} from '../facts/queue-words.js'
import type { App } from './app.js'
import { icon, type Icon } from '../parts/icons.js'
import { badge, foreign, meter } from '../parts/pieces.js'

export function queuesView(app: App): TemplateResult {
  const { all, trouble } = app.queues
  return html`
    <div class="title">
      <h1 tabindex="-1">Queues</h1>
      <p class="hint">
        ${all.kind === 'there' && all.value.store !== null ? 'All queues of the store, and the nodes that have them.' : 'The queue of this relay.'}
      </p>
    </div>
    ${
      trouble === undefined || all.kind !== 'there'
        ? nothing
        : html`<p class="trouble" role="alert">${icon('lost')} ${trouble} What is shown is from before.</p>`
    }
    ${all.kind === 'asked' ? html`<p class="pending" role="status">Looking at the store, twice …</p>` : nothing}
    ${all.kind === 'refused' ? html`<p class="trouble" role="alert">${icon('warning')} ${all.text}</p>` : nothing}
    ${all.kind === 'there' ? shownQueues(all.value) : nothing}
  `
}

function shownQueues(all: Queues): TemplateResult {
  const { store, queues } = all
  return html`${store === null ? nothing : storePanel(all)}
    <section class="panel" aria-labelledby="queues">
      <div class="head"><h2 id="queues">${counted(queues.length, 'queue')}</h2></div>
      <div class="scroll" tabindex="0" role="group" aria-labelledby="queues">
        <table class="destinations" role="table">
          ${headOf(queueColumns)}
          <tbody role="rowgroup">
            ${queues.map(queueRow)}
          </tbody>
        </table>
      </div>
      ${
        store === null
          ? html`<p class="hint">
              This queue lies in a directory. Where queues lie in a store, those of all nodes stand here.
            </p>`
          : nothing
      }
    </section>
    ${store === null ? nothing : nodePanel(nodesOf(queues))}`
}

function storePanel({ store, timeline, standbyCount, unsafe }: Queues): TemplateResult {
  return html`<section class="panel" aria-labelledby="store">
    <div class="head"><h2 id="store">The store</h2></div>
    <dl class="pairs">
      <div class="broad">
        <dt>Servers</dt>
        <dd>${foreign(store ?? '', 500)}</dd>
      </div>
      <div>
        <dt>Commits</dt>
        <dd>${unsafe.length === 0 ? badge('well', 'on two machines') : badge('critical', 'not safe')}</dd>
      </div>
      <div>
        <dt>Standbys</dt>
        <dd>${standbysText(standbyCount)}</dd>
      </div>
      <div>
        <dt>Timeline</dt>
        <dd>${timeline}</dd>
      </div>
    </dl>
    ${unsafe.map((reason) => html`<p class="trouble">${icon('critical')} ${foreign(reason, 500)}</p>`)}
  </section>`
}

type Column = readonly [title: string, more: string]

const queueColumns: readonly Column[] = [
  ['Queue', ''],
  ['State', ''],
  ['Owner', ''],
  ['Epoch', 'number'],
  ['Takes', 'number'],
  ['Mail', ''],
]

/** On a phone a row is a block, which takes the roles of a table away: so they are said. */
const headOf = (columns: readonly Column[]): TemplateResult =>
  html`<thead role="rowgroup">
    <tr role="row">
      ${columns.map(([title, more]) => html`<th scope="col" role="columnheader" class=${more}>${title}</th>`)}
    </tr>
  </thead>`

const none: TemplateResult = html`<span class="quiet">–</span>`

const stateIcons: Readonly<Record<QueueRow['state'] | NodeRow['state'], Icon>> = {
  beats: 'well',
  silent: 'warning',
  none: 'waiting',
  away: 'paused',
}

function queueRow(queue: QueueRow): TemplateResult {
  const { name, isHere, home, owner, address, state, epoch, usedBytes } = queue
  return html`<tr role="row">
    <th scope="row" role="rowheader">
      ${foreign(name, 100)}${isHere ? html`<small>this relay's</small>` : nothing}
    </th>
    <td role="cell">
      ${badge(stateIcons[state], queueStateWords[state])} <small>${renewalText(queue)}</small>
    </td>
    <td role="cell" data-title="owner">
      ${owner === null ? none : foreign(owner, 100)}
      ${address === null ? nothing : html`<small>at ${foreign(address, 60)}</small>`}
      ${isAdopted(queue) ? html`<small>adopted: its home is ${foreign(home ?? '', 100)}</small>` : nothing}
    </td>
    <td role="cell" class="number" data-title="epoch">${epoch === null ? none : digits(epoch)}</td>
    <td role="cell" class="number" data-title="takes">${usedBytes === null ? none : sizeOf(queue)}</td>
    <td role="cell" data-title="mail">${mailOf(queue)}</td>
  </tr>`
}

function sizeOf({ name, usedBytes, quotaBytes }: QueueRow): TemplateResult {
  const used = bytesText(usedBytes ?? 0)
  if (quotaBytes === null || usedBytes === null) return html`${used}`
  const share = usedBytes / quotaBytes
  const quota = bytesText(quotaBytes)
  return html`${used}<span class="quiet"> of ${quota}</span>
    ${meter(share, `${name} takes ${used} of ${quota}`, 0.9)}`
}

function mailOf({ owner, activeCount, waitingBytes }: QueueRow): TemplateResult {
  if (owner === null) return none
  if (activeCount === null) return html`<span class="quiet">known at its owner</span>`
  return html`${digits(activeCount)} active<small>${bytesText(waitingBytes ?? 0)} in lanes</small>`
}

function nodePanel(nodes: readonly NodeRow[]): TemplateResult {
  return html`<section class="panel" aria-labelledby="nodes">
    <div class="head"><h2 id="nodes">${counted(nodes.length, 'node')}</h2></div>
    <div class="scroll" tabindex="0" role="group" aria-labelledby="nodes">
      <table class="destinations" role="table">
        ${headOf([
          ['Node', ''],
          ['State', ''],
          ['Has', ''],
          ['Is the home of', ''],
        ])}
        <tbody role="rowgroup">
          ${nodes.map(
            ({ name, address, state, owned, homes }) =>
              html`<tr role="row">
                <th scope="row" role="rowheader">
                  ${foreign(name, 100)}${address === null ? nothing : html`<small>${foreign(address, 60)}</small>`}
                </th>
                <td role="cell">${badge(stateIcons[state], nodeStateWords[state])}</td>
                <td role="cell" data-title="has">${listOf(owned)}</td>
                <td role="cell" data-title="is the home of">${listOf(homes)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`
}

const listOf = (names: readonly string[]): TemplateResult =>
  names.length === 0
    ? none
    : html`${names.map((name, i) => html`${i === 0 ? '' : ', '}${foreign(name, 100)}`)}`
