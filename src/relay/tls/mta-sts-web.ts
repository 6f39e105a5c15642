/** Fetches a domain's MTA-STS policy from its web server (RFC 8461 §3.3).
 * Invariant: a policy comes from `mta-sts.DOMAIN` itself, over TLS with a certificate that verifies
 * for that name as an alternative name. It is text/plain, complete, and at most 64 KiB. Redirects
 * are not followed. Every request ends with its signal.
 *
 * The caller looks up addresses: Node would ask the system for them, on the threads that write the
 * queue's files (mx-out.ts). */
import type { IncomingMessage } from 'node:http'
import { get } from 'node:https'
import type { LookupFunction } from 'node:net'
import { verifying } from './certificate.js'

export interface StsWeb {
  /** Default 443. */
  readonly port?: number
  /** Roots in PEM; default: the usual ones. */
  readonly ca?: readonly string[]
}

const policyBytesMax = 64 << 10

/** @returns undefined when there is none to be had */
export function policyText(
  domain: string,
  lookup: LookupFunction,
  signal: AbortSignal,
  { port = 443, ca }: StsWeb = {},
): Promise<string | undefined> {
  const host = `mta-sts.${domain}`
  return new Promise((resolve) => {
    const nothing = (): void => resolve(undefined)
    // What has come already is handed over all the same, and its end, too.
    const giveUp = (): void => {
      nothing()
      request.destroy()
    }
    const request = get(
      {
        host,
        port,
        path: '/.well-known/mta-sts.txt',
        lookup,
        signal,
        // A separate connection, which ends with it.
        agent: false,
        headers: { accept: 'text/plain' },
        ...verifying({ names: [host], isAltName: true }),
        ...(ca === undefined ? undefined : { ca: [...ca] }),
      },
      (response) => {
        const chunks: Buffer[] = []
        let bytes = 0
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length
          if (bytes <= policyBytesMax) chunks.push(chunk)
          else giveUp()
        })
        response.on('end', () => resolve(Buffer.concat(chunks).toString()))
        response.on('error', nothing)
        if (!isPolicy(response)) giveUp()
      },
    )
    request.on('error', nothing)
    request.on('close', nothing)
  })
}

const isPolicy = ({ statusCode, headers }: IncomingMessage): boolean =>
  statusCode === 200 && headers['content-type']?.split(';', 1)[0]!.trim().toLowerCase() === 'text/plain'
