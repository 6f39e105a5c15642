/** Serves the HTML of a message to a frame of the console, which cannot send a token.
 * Invariant: a view has a path that nobody guesses, is good once and for a minute, and what its
 * answer holds is sandboxed: no script, no form, no request to anywhere. */
import { randomBytes } from 'node:crypto'
import type { Clock, Timer } from '../../base/clock.js'

const viewsMax = 16
const viewMs = 60_000

export const viewHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-dns-prefetch-control': 'off',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
}

/** Tags for which a browser connects before or without asking the policy: a frame that is then
 * blocked, and `preconnect`. The sender would see that its mail is read. */
const connectingTag = /<(\/?)(?=(?:iframe|frame|object|embed|link|meta|base|portal|fencedframe|applet))/gi

/** The same HTML, in which these tags are unknown ones. */
export const withoutConnections = (html: string): string => html.replace(connectingTag, '<$1x-')

export class Views {
  readonly #clock: Clock
  readonly #html = new Map<string, { readonly html: string; readonly timer: Timer }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @returns its key, and until when it is good, milliseconds since 1970 */
  add(html: string): { readonly key: string; readonly expiresAt: number } {
    const key = randomBytes(24).toString('base64url')
    const timer = this.#clock.after(viewMs, () => this.#html.delete(key))
    this.#html.set(key, { html: withoutConnections(html), timer })
    const [oldest] = this.#html.keys()
    if (this.#html.size > viewsMax) this.take(oldest!)
    return { key, expiresAt: this.#clock.wallMs() + viewMs }
  }

  /** @returns undefined when there is none, or no more */
  take(key: string): string | undefined {
    const view = this.#html.get(key)
    view?.timer.cancel()
    this.#html.delete(key)
    return view?.html
  }

  end(): void {
    for (const key of this.#html.keys()) this.take(key)
  }
}
