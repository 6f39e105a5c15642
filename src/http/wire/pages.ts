/** Files that the server shows beside the API: those of the console.
 * Invariant: they are read before the port is opened, and nothing of a request leads to a file. The
 * browser runs what comes from here alone, and shows it in no frame. */
import { createHash } from 'node:crypto'

export interface HttpPage {
  /** `/`, `/app.js` */
  readonly path: string
  readonly contentType: string
  readonly body: Buffer
}

export interface ReadyPage extends HttpPage {
  readonly etag: string
}

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

export const readyPage = (page: HttpPage): ReadyPage => ({
  ...page,
  etag: `"${createHash('sha256').update(page.body).digest('base64url').slice(0, 27)}"`,
})

export const pageHeaders = ({ contentType, etag }: ReadyPage): Record<string, string> => ({
  'content-type': contentType,
  etag,
  'cache-control': 'no-cache',
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
})
