/** The frame of every view: the bar, the state of the connection, and the form that asks for a
 * token. */
import { html, nothing, type TemplateResult } from '/vendor/lit-html/lit-html.js'
import { spanText, zoneText, shownTime } from '../facts/format.js'
import { addressOf, views, type View } from '../facts/place.js'
import type { App } from './app.js'
import { destinationsView } from './destinations-view.js'
import { beyondSilence } from '../parts/client.js'
import { icon } from '../parts/icons.js'
import { logView } from './log-view.js'
import { messageView } from './message-view.js'
import { messagesView } from './messages-view.js'
import { nowView } from './now-view.js'
import { queuesView } from './queues-view.js'
import { empty, foreign, typed } from '../parts/pieces.js'

const titles: Readonly<Record<View, string>> = {
  now: 'Now',
  messages: 'Messages',
  destinations: 'Destinations',
  log: 'Log',
  queues: 'Queues',
  nowhere: 'No such page',
}

export function shell(app: App): TemplateResult {
  const { place, session, feed } = app
  const host = feed.latest?.hostname ?? location.host
  const troubles = feed.latest?.problems.filter(({ severity }) => severity !== 'notice').length ?? 0
  document.title = `${troubles > 0 ? `(${troubles}) ` : ''}${titles[place.view]} · ${host} · Waybill`
  return html`
    <a class="skip" href="#content" @click=${skip}>Skip to the content</a>
    <header class="bar">
      <a class="brand" href="#/now" aria-label="Waybill, now"
        ><img src="/console/page/icon.svg" alt="" width="22" height="22" /><span>Waybill</span></a
      >
      <nav aria-label="Views">${views.map((view) => tab(app, view, troubles))}</nav>
      <div class="state">
        <span class="host" title="the relay's name">${foreign(host, 100)}</span>
        ${session === undefined ? nothing : connection(app)}
      </div>
    </header>
    ${session === undefined ? nothing : lostBanner(app)}
    <main id="content" tabindex="-1">${session === undefined ? door(app) : shownView(app)}</main>
    ${session === undefined ? nothing : app.dialog.view()}
    <footer>${session === undefined ? nothing : foot(app)}</footer>
  `
}

function skip(event: Event): void {
  event.preventDefault()
  document.getElementById('content')?.focus()
}

function tab({ place }: App, view: View, troubles: number): TemplateResult {
  const isHere = place.view === view
  return html`<a href=${addressOf({ view, filter: {} })} aria-current=${isHere ? 'page' : 'false'}
    >${titles[view]}${
      view === 'now' && troubles > 0
        ? html`<span class="count" aria-label=${`, ${troubles} problems`}>${troubles}</span>`
        : nothing
    }</a
  >`
}

function connection({ feed }: App): TemplateResult {
  switch (feed.connection.kind) {
    case 'live':
      return html`<span class="connection">${icon('well')}live</span>`
    case 'connecting':
      return html`<span class="connection">${icon('waiting')}connecting</span>`
    case 'lost':
      return html`<span class="connection lost">${icon('lost')}not connected</span>`
  }
}

function lostBanner({ feed }: App): TemplateResult | typeof nothing {
  const { connection, latest } = feed
  if (connection.kind !== 'lost') return nothing
  const since = spanText(Date.now() - connection.sinceMs)
  return html`<div class="banner" role="alert">
    ${icon('lost')}
    <p>
      <strong>The relay does not answer.</strong> Asked again until it does; for ${since} now.
      ${latest === undefined ? nothing : 'What is shown is from before.'}
      <small>${beyondSilence(connection.why)}</small>
    </p>
  </div>`
}

/** A bug in one view leaves the others: the page shows it, and the browser's console has all of
 * it. */
function shownView(app: App): TemplateResult {
  try {
    return viewOf(app)
  } catch (error) {
    reportError(error)
    return html`<p class="trouble" role="alert">
      ${icon('critical')} This view cannot be shown: ${String(error)}
    </p>`
  }
}

function viewOf(app: App): TemplateResult {
  const { view, id } = app.place
  switch (view) {
    case 'now':
      return nowView(app)
    case 'messages':
      return id === undefined ? messagesView(app) : messageView(app)
    case 'destinations':
      return destinationsView(app)
    case 'log':
      return logView(app)
    case 'queues':
      return queuesView(app)
    case 'nowhere':
      return nowhere
  }
}

const nowhere: TemplateResult = html`<h1 class="unseen" tabindex="-1">No such page</h1>
  <section class="panel">
    ${empty('There is no such page', html`The address names none: <a href="#/now">go to Now</a>.`)}
  </section>`

/** Where the reader has no token that the relay takes. */
function door(app: App): TemplateResult {
  const { refusal, trouble } = app
  if (refusal === undefined)
    return html`<div class="door" role="status">
      <h1 tabindex="-1">${trouble === undefined ? 'Connecting …' : 'The relay does not answer'}</h1>
      ${trouble === undefined ? nothing : html`<p>${beyondSilence(trouble)} Asked again until it does.</p>`}
    </div>`
  const enter = (event: SubmitEvent): void => {
    event.preventDefault()
    app.client.keepToken(typed(event.target, 'token'))
    void app.enter()
  }
  const isFirst = refusal.code === 'TOKEN_MISSING'
  const titleOf: Readonly<Record<string, string>> = {
    TOKEN_MISSING: 'A token opens the console',
    TOKEN_EXPIRED: 'This token has expired',
  }
  return html`<form class="door" @submit=${enter}>
    <h1 tabindex="-1">${titleOf[refusal.code] ?? 'This token is not accepted'}</h1>
    ${
      isFirst
        ? nothing
        : html`<p role="alert">
            ${icon('warning')} ${refusal.detail ?? refusal.title} <code>${refusal.code}</code>
          </p>`
    }
    <label>Token <input name="token" type="password" autocomplete="off" required autofocus /></label>
    <button class="primary">Open</button>
    <p class="hint">
      On the relay's own machine the token is in the file <code>http-token</code> in the queue's directory.
      Others are made by <code>waybill token</code>. It is kept in this tab alone.
    </p>
  </form>`
}

function foot({ feed, session }: App): TemplateResult {
  const { latest, nowMs } = feed
  const { local, utc } = shownTime(nowMs, nowMs)
  const zone = zoneText(nowMs)
  return html`<span
      >${zone === 'UTC' ? 'Times are in UTC:' : `Times are in your time zone, ${zone}:`}
      ${local.replace(/^.* /, '')}${zone === 'UTC' ? nothing : html`; those of the log in UTC: ${utc.slice(11)}`}</span
    ><span>as ${foreign(session?.name ?? '', 60)}</span
    >${latest === undefined ? nothing : html`<span>Waybill ${latest.version}, started ${spanText(nowMs - latest.startedAt)} ago</span>`}`
}
