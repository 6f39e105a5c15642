/** A verb, from the question to the exact result.
 * Invariant: nothing is done before the exact count and a sample were shown and confirmed; what
 * nothing undoes is confirmed by its count in digits. An operation that was begun goes on in the
 * relay when the page goes away. */
import { html, nothing, type TemplateResult } from '/vendor/lit-html/lit-html.js'
import type { Counts, Operation, Selector, Verb } from '../facts/api.js'
import { counted, digits, senderText, shown } from '../facts/format.js'
import { countsText, resultSentences, verbWords } from '../facts/verbs.js'
import type { App } from './app.js'
import { errorText } from '../parts/client.js'
import { icon } from '../parts/icons.js'
import { failureText, followed } from '../parts/operation.js'

type Step =
  | { readonly kind: 'closed' }
  | { readonly kind: 'counting'; readonly operation?: Operation }
  | { readonly kind: 'counted'; readonly operation: Operation }
  | { readonly kind: 'running'; readonly operation?: Operation; readonly isAway: boolean }
  | { readonly kind: 'ended'; readonly operation: Operation }
  | { readonly kind: 'failed'; readonly text: string }

/** What is wanted beside a selector. */
interface Wanted {
  perSecond: string
  nexthop: string
  transport: string
  typed: string
}

const sampleMax = 5

export class VerbDialog {
  readonly #app: App
  #step: Step = { kind: 'closed' }
  #verb: Verb = 'hold'
  #selector: Selector = {}
  #what = ''
  #expected: Counts | undefined
  #wanted: Wanted = { perSecond: '10', nexthop: '', transport: '', typed: '' }
  #run = new AbortController()

  constructor(app: App) {
    this.#app = app
  }

  /** @param what a selector in words */
  open(verb: Verb, selector: Selector, what: string): void {
    this.#run.abort()
    this.#run = new AbortController()
    this.#verb = verb
    this.#selector = selector
    this.#what = what
    this.#expected = undefined
    this.#wanted = { perSecond: '10', nexthop: '', transport: '', typed: '' }
    this.#enter({ kind: 'counting' })
    void this.#count(this.#run.signal)
  }

  get #element(): HTMLDialogElement | null {
    return document.querySelector('dialog')
  }

  #enter(step: Step): void {
    const isNext = step.kind !== this.#step.kind
    this.#step = step
    this.#app.changed()
    if (isNext && step.kind !== 'closed') void this.#app.rendered().then(() => this.#focus())
  }

  /** What had the focus in the step before may be gone. */
  #focus(): void {
    const dialog = this.#element
    if (dialog === null) return
    if (!dialog.open) dialog.showModal()
    dialog.querySelector<HTMLElement>('input, [data-first]')?.focus()
  }

  async #count(signal: AbortSignal): Promise<void> {
    // What a reroute would lead to is said later, and counts the same.
    const verb = this.#verb === 'reroute' ? 'requeue' : this.#verb
    const request = { do: verb, selector: this.#selector, dryRun: true, sampleMax }
    const counted = await this.#follow(request, signal, (operation) =>
      this.#enter({ kind: 'counting', operation }),
    )
    if (counted === undefined) return
    this.#expected = counted.counts
    this.#enter({ kind: 'counted', operation: counted })
    this.#app.say(`${countsText(counted.counts)} would be concerned`)
  }

  async #act(signal: AbortSignal): Promise<void> {
    const { perSecond, nexthop, transport } = this.#wanted
    const request = {
      do: this.#verb,
      selector: this.#selector,
      ...(this.#verb === 'flush' ? { perSecond: perSecond === '' ? null : Number(perSecond) } : undefined),
      ...(this.#verb === 'reroute'
        ? { nexthop, ...(transport === '' ? undefined : { transport }) }
        : undefined),
    }
    this.#enter({ kind: 'running', isAway: false })
    const ended = await this.#follow(request, signal, (operation, isAway) =>
      this.#enter({ kind: 'running', operation, isAway }),
    )
    if (ended === undefined) return
    this.#enter({ kind: 'ended', operation: ended })
    this.#app.say(resultSentences(ended).join(' '))
    const { view, id } = this.#app.place
    if (view === 'messages' && id !== undefined) this.#app.one.renew()
    this.#app.messages.renew()
  }

  async #follow(
    request: object,
    signal: AbortSignal,
    onProgress: (operation: Operation, isAway: boolean) => void,
  ): Promise<Operation | undefined> {
    try {
      return await followed(this.#app.client, request, signal, onProgress)
    } catch (error) {
      if (!signal.aborted) this.#enter({ kind: 'failed', text: failureText(error) })
      return undefined
    }
  }

  /** Of one that is only counted nothing is left; one that acts goes on until it is stopped. */
  #close(): void {
    const step = this.#step
    if (step.kind === 'counting' && step.operation !== undefined) void this.#stop(step.operation)
    this.#run.abort()
    this.#element?.close()
    this.#enter({ kind: 'closed' })
  }

  async #stop({ id }: Operation): Promise<void> {
    await this.#app.client
      .delete(`/v1/operations/${id}`)
      .catch((error: unknown) => this.#app.say(errorText(error)))
  }

  view(): TemplateResult {
    const cancel = (event: Event): void => {
      event.preventDefault()
      if (this.#step.kind !== 'running') this.#close()
    }
    return html`<dialog aria-labelledby="verb" @cancel=${cancel}>
      ${
        this.#step.kind === 'closed'
          ? nothing
          : html`<h2 id="verb">${verbWords[this.#verb].label} ${shown(this.#what, 200)}</h2>
              <p class="hint">${verbWords[this.#verb].meaning}</p>
              ${this.#stepView(this.#step)}`
      }
    </dialog>`
  }

  #stepView(step: Exclude<Step, { kind: 'closed' }>): TemplateResult {
    const close = (): void => this.#close()
    switch (step.kind) {
      case 'counting':
        return html`<p role="status">
            Counting …
            ${step.operation === undefined ? '' : counted(step.operation.counts.messageCount, 'message')}
          </p>
          <progress aria-label="counting"></progress>
          <div class="buttons"><button @click=${close}>Cancel</button></div>`
      case 'counted':
        return this.#question(step.operation)
      case 'running':
        return this.#running(step.operation, step.isAway)
      case 'ended':
        return html`<div class="result" role="status">
            ${icon(step.operation.state === 'done' ? 'well' : 'warning')}
            <div>${resultSentences(step.operation).map((sentence) => html`<p>${sentence}</p>`)}</div>
          </div>
          <div class="buttons"><button class="primary" data-first @click=${close}>Close</button></div>`
      case 'failed':
        return html`<p class="trouble" role="alert">${icon('critical')} ${step.text}</p>
          <div class="buttons"><button data-first @click=${close}>Close</button></div>`
    }
  }

  #question({ counts, sample = [], problem }: Operation): TemplateResult {
    const close = (): void => this.#close()
    const { messageCount } = counts
    if (messageCount === 0)
      return html`<p class="count">No message matches.</p>
        ${problem === null ? nothing : html`<p class="trouble">${icon('warning')} ${problem.code}: ${problem.detail ?? problem.title}</p>`}
        <div class="buttons"><button data-first @click=${close}>Close</button></div>`
    const act = (event: SubmitEvent): void => {
      event.preventDefault()
      // The form says so; what nothing undoes does not depend on a form.
      if (this.#needsCount(messageCount) && this.#wanted.typed !== String(messageCount)) return
      void this.#act(this.#run.signal)
    }
    const more = messageCount - sample.length
    return html`<p class="count"><strong>${countsText(counts)}</strong></p>
      <ul class="sample" tabindex="0" aria-label="Some of them">
        ${sample.map(
          ({ id, sender, recipients, recipientCount }) =>
            html`<li>
              <bdi>${senderText(sender)}</bdi> →
              <bdi>${shown(recipients[0] ?? '', 320)}</bdi
              >${recipientCount > 1 ? ` +${digits(recipientCount - 1)}` : ''}
              <small><code>${id}</code></small>
            </li>`,
        )}
        ${more > 0 ? html`<li class="quiet">and ${counted(more, 'more message')}</li>` : nothing}
      </ul>
      ${problem === null ? nothing : html`<p class="trouble">${icon('warning')} ${problem.code}: ${problem.detail ?? problem.title}</p>`}
      <form @submit=${act}>
        ${this.#fields(messageCount)}
        <div class="buttons">
          <button type="button" data-first @click=${close}>Cancel</button>
          <button class=${verbWords[this.#verb].isFinal ? 'primary final' : 'primary'}>
            ${verbWords[this.#verb].label} ${counted(messageCount, 'message')}
          </button>
        </div>
      </form>`
  }

  #needsCount(messageCount: number): boolean {
    return verbWords[this.#verb].isFinal && messageCount > 1
  }

  #fields(messageCount: number): TemplateResult | typeof nothing {
    const keep =
      (name: keyof Wanted) =>
      (event: Event): void => {
        this.#wanted[name] = (event.target as HTMLInputElement).value.trim()
      }
    if (this.#verb === 'flush')
      return html`<label
          >Messages a second
          <input
            name="perSecond"
            type="number"
            min="0.1"
            step="any"
            .value=${this.#wanted.perSecond}
            @input=${keep('perSecond')}
            placeholder="all at once"
        /></label>
        <p class="hint">Empty: all at once, which may flood a site that has just come back.</p>`
    if (this.#verb === 'reroute')
      return html`<label
          >Next hop
          <input
            name="nexthop"
            required
            placeholder="[mail.example.net]:25"
            autocomplete="off"
            spellcheck="false"
            @input=${keep('nexthop')}
        /></label>
        <label
          >Transport
          <input
            name="transport"
            placeholder="as it is"
            autocomplete="off"
            spellcheck="false"
            @input=${keep('transport')}
        /></label>`
    if (this.#needsCount(messageCount))
      return html`<label
        >Nothing undoes this. Type the count, ${messageCount}, to confirm
        <input
          name="typed"
          required
          pattern=${String(messageCount)}
          inputmode="numeric"
          autocomplete="off"
          title=${`the number ${messageCount}`}
          @input=${keep('typed')}
      /></label>`
    return nothing
  }

  #running(operation: Operation | undefined, isAway: boolean): TemplateResult {
    const done = operation?.counts.messageCount ?? 0
    const all = Math.max(done, this.#expected?.messageCount ?? 0)
    return html`<p class="count" role="status">
        ${verbWords[this.#verb].doing} ${digits(done)} of ${counted(all, 'message')} …
      </p>
      <progress max=${Math.max(1, all)} .value=${done} aria-label="messages done"></progress>
      ${isAway ? html`<p class="trouble" role="alert">${icon('lost')} The relay does not answer. Asked again until it does.</p>` : nothing}
      <div class="buttons">
        <button @click=${() => this.#close()}>Leave it running</button>
        <button
          class="primary"
          ?disabled=${operation === undefined}
          @click=${() => operation && void this.#stop(operation)}
        >
          Stop
        </button>
      </div>`
  }
}
