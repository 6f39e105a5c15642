/** The TLS that one server must show, and the options that open such a session.
 * Invariant: different demands have different keys, so that a session that was opened under one
 * never serves another. Demanded TLS is never left out, except under `may` and without a demand. */
import { createHash } from 'node:crypto'
import { TLSSocket, type ConnectionOptions } from 'node:tls'
import { systemClock } from '../../base/clock.js'
import type { OutcomeTls } from '../../delivery/transport.js'
import { verifying } from '../tls/certificate.js'
import type { PeerCheck } from './checked-client.js'
import { shownBy, strangerIn, type DanePeer } from '../tls/dane-check.js'
import type { SmtpTransportOptions } from './smtp-out-options.js'
import type { TlsDemand } from '../tls/tls-policy.js'
import { recordText } from '../tls/tlsa-record.js'

export interface TlsTerms {
  readonly way: NonNullable<SmtpTransportOptions['tls']>
  readonly tlsOptions: ConnectionOptions
  /** To plaintext, when a handshake fails. A demand for a certificate that verifies does not allow
   * it. */
  readonly fallsBack: boolean
  /** A handshake that was right is not enough. */
  readonly check?: PeerCheck
}

/** What a handshake came to. @param isPeerChecked the certificate was looked at in another way than
 * by a root, and is right */
export function tlsSessionOf(socket: unknown, isPeerChecked: boolean): OutcomeTls | undefined {
  if (!(socket instanceof TLSSocket)) return undefined
  const version = socket.getProtocol()
  if (version === null) return undefined
  const { standardName, name } = socket.getCipher()
  return { version, cipher: standardName ?? name, isVerified: socket.authorized || isPeerChecked }
}

/** A word without spaces. */
export function demandKey(demand: TlsDemand): string {
  if (demand.level === 'verified')
    return `verified${demand.isAltName === true ? '-alt' : ''}=${demand.names.join(',')}`
  return demand.level === 'dane' ? `dane=${danePeerKey(demand.peer)}` : demand.level
}

/** In whatever order the DNS has the records. */
function danePeerKey({ owner, records, names }: DanePeer): string {
  const text = [owner, names.join(','), ...records.map(recordText).sort()].join(' ')
  return createHash('sha256').update(text).digest('base64')
}

/** @param demand undefined: as the options say. They say in any case whether TLS is implicit, and
 * which roots are trusted */
export function termsOf(
  demand: Exclude<TlsDemand, { level: 'unmet' }> | undefined,
  {
    tls = 'opportunistic',
    tlsOptions = {},
    clock = systemClock,
  }: Pick<SmtpTransportOptions, 'tls' | 'tlsOptions' | 'clock'>,
): TlsTerms {
  const mandatory = { way: tls === 'implicit' ? tls : 'required', fallsBack: false } as const
  switch (demand?.level) {
    case undefined:
      return usualTerms(tls, tlsOptions)
    case 'none':
      return usualTerms('none', tlsOptions)
    case 'may':
      return usualTerms('opportunistic', tlsOptions)
    case 'encrypt':
      return { ...mandatory, tlsOptions: { rejectUnauthorized: false, ...tlsOptions } }
    case 'dane':
      return {
        ...mandatory,
        // No root counts, and so it is not Node that looks.
        tlsOptions: { ...tlsOptions, rejectUnauthorized: false },
        check: (socket) =>
          // A resumed session shows no certificates.
          socket.isSessionReused()
            ? 'a session was used again'
            : strangerIn(shownBy(socket), demand.peer, clock.wallMs()),
      }
    case 'verified':
      return { ...mandatory, tlsOptions: { ...tlsOptions, ...verifying(demand) } }
  }
}

function usualTerms(way: TlsTerms['way'], given: ConnectionOptions): TlsTerms {
  const tlsOptions = { rejectUnauthorized: way !== 'opportunistic', ...given }
  return { way, tlsOptions, fallsBack: way === 'opportunistic' && tlsOptions.rejectUnauthorized === false }
}
