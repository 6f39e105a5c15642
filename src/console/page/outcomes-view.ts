/** Outcomes as they come, the newest first: a line for each. */
import { repeat } from '/vendor/lit-html/directives/repeat.js'
import { html, nothing, type TemplateResult } from '/vendor/lit-html/lit-html.js'
import type { LatestOutcome } from '../facts/api.js'
import { counted, senderText, shown } from '../facts/format.js'
import { reasonText } from '../facts/mail-words.js'
import { addressOf } from '../facts/place.js'
import { icon, type Icon } from '../parts/icons.js'
import { foreign, relativeTime } from '../parts/pieces.js'
import type { App } from './app.js'

const icons: Readonly<Record<LatestOutcome['kind'], Icon>> = {
  accepted: 'notice',
  delivered: 'well',
  deferred: 'waiting',
  failed: 'critical',
}

export function outcomesView(app: App): TemplateResult | typeof nothing {
  const { latest, isBusy } = app.outcomes
  if (latest.length === 0 || isBusy) return nothing
  return html`<section class="panel" aria-labelledby="latest">
    <div class="head"><h2 id="latest">Just now</h2></div>
    <ol class="outcomes">
      ${repeat(
        latest,
        ({ number }) => number,
        (outcome) => itemOf(app, outcome),
      )}
    </ol>
  </section>`
}

function itemOf({ feed }: App, outcome: LatestOutcome): TemplateResult {
  const { kind, at, id, sender, recipients, recipientCount, status, text, remote } = outcome
  const what =
    kind === 'accepted'
      ? html`from <bdi>${senderText(sender)}</bdi>`
      : html`to
          <bdi
            >${recipients[0] === undefined ? counted(recipientCount, 'recipient') : shown(recipients[0], 320)}</bdi
          >`
  const more = recipients.length > 1 ? ` and ${recipients.length - 1} more` : ''
  return html`<li>
    ${icon(icons[kind])}
    <p>
      <b>${kind}</b> <a href=${addressOf({ view: 'messages', id, filter: {} })}>${what}${more}</a>
      ${text === '' ? nothing : html`<small>${foreign(reasonText({ status, text, remote }), 300)}</small>`}
    </p>
    <small>${relativeTime(at, feed.nowMs)}</small>
  </li>`
}
