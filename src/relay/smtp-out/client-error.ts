/** Why a connection ended, or never was: nodemailer's errors, as far as we look at them, in words
 * that name what was missing. Pure.
 * Invariant: what has to do with TLS has the code `ETLS`, whatever nodemailer calls it. */

export interface ClientError extends Error {
  /** `ETLS`: the handshake failed, in whatever way; or there was none to be had, which
   * has a response. */
  readonly code?: string | undefined
  readonly originalCode?: string | undefined
  readonly command?: string | undefined
  /** The server's reply, when it is one that made the error. */
  readonly response?: string | undefined
  readonly recipient?: string | undefined
}

/** Nodemailer calls most of them errors of the socket, with OpenSSL's whole line or Node's words
 * for a hang-up. */
export function handshakeFailed(error: ClientError & { readonly reason?: string }): ClientError {
  const { originalCode } = error
  const detail = originalCode?.startsWith('ERR_SSL_') === true ? error.reason : undefined
  return Object.assign(new Error(`the TLS handshake failed: ${detail ?? error.message}`, { cause: error }), {
    code: 'ETLS',
    originalCode,
  })
}

/** Who has to have TLS asks for it unoffered, too. @param ehlo what EHLO was answered */
export function startTlsRefused(error: ClientError, ehlo: string): ClientError {
  const what = /^250[ -]STARTTLS\b/im.test(ehlo) ? 'refused' : 'not offered'
  const { response = '', command } = error
  const message = `TLS is required, and STARTTLS was ${what}: ${response}`
  return Object.assign(new Error(message, { cause: error }), { code: 'ETLS', response, command })
}

export const lost = (): ClientError =>
  Object.assign(new Error('Connection closed unexpectedly'), { code: 'ECONNECTION' })
