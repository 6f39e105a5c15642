/** Delivery over LMTP (RFC 2033) to a server that keeps mailboxes: one server, or the one that the
 * nexthop names.
 * Invariant: smtp-delivery.ts makes the attempt; behind the data each recipient has a separate
 * reply (smtp-outcome.ts), and accepted mail is delivered. */
import { connect, type Socket } from 'node:net'
import { isAbsolute } from 'node:path'
import type { Transport } from '../../delivery/transport.js'
import { WaybillError } from '../../errors.js'
import type { ClientError } from './smtp-reply.js'
import { readNexthop, type Nexthop } from '../tables/nexthop.js'
import { OutSessions, type Place } from './out-sessions.js'
import { smtpDelivery } from './smtp-delivery.js'
import { badNexthop, namedPlace, withDemand } from './smtp-out.js'
import { checkSmtpOptions, serverPoliciesOf, type SmtpTransportOptions } from './smtp-out-options.js'

export interface LmtpTransportOptions extends Omit<SmtpTransportOptions, 'auth' | 'dkim' | 'dkimSigns'> {
  /** Unix socket of the server for all mail, an absolute path of at most 107 bytes without a space.
   * Without it and `host`, mail goes to the nexthop: `unix:` and such a path, or `host`,
   * `host:port` or `[address]:port`, each also with `inet:` before it. */
  readonly path?: string | undefined
  /** Default 24. */
  readonly port?: number | undefined
}

/** What the kernel takes, without the octet that ends it. @see unix(7) */
const pathBytesMax = 107

/** For one queue at a time, and its next life, as `smtpTransport`.
 * @throws WaybillError OPTION_INVALID */
export function lmtpTransport({ path, ...options }: LmtpTransportOptions = {}): Transport {
  checkSmtpOptions(options)
  for (const option of ['auth', 'dkim', 'dkimSigns'])
    if (option in options) throw new WaybillError('OPTION_INVALID', 'there is none for LMTP', { option })
  if (path !== undefined && (options.host !== undefined || lmtpServer(`unix:${path}`) === undefined))
    throw new WaybillError('OPTION_INVALID', 'expected an absolute path of a Unix socket, and no host', {
      option: 'path',
    })
  const policies = serverPoliciesOf(options)
  const { host, port = 24 } = options
  const all = path === undefined ? host && `[${host}]:${port}` : `unix:${path}`
  const delivery = smtpDelivery(new OutSessions({ ...options, lmtp: true }), ({ nexthop }) => {
    const server = lmtpServer(all ?? nexthop, port)
    if (server === undefined) return badNexthop(nexthop)
    return ['path' in server ? atSocket(server.path) : withDemand(atPort(server), policies)]
  })
  // Most is for mailboxes here: no limit of what leaves from an address means it.
  return { ...delivery, sources: undefined }
}

/** @param text a nexthop @returns undefined when it is invalid */
export function lmtpServer(text: string, portDefault = 24): { readonly path: string } | Nexthop | undefined {
  if (!text.startsWith('unix:')) return readNexthop(text.replace(/^inet:/, ''), portDefault)
  const path = text.slice('unix:'.length)
  const isOne = isAbsolute(path) && !/\s/.test(path) && Buffer.byteLength(path) <= pathBytesMax
  return isOne ? { path } : undefined
}

const atPort = (server: Nexthop): Place =>
  namedPlace(server.kind === 'address' ? server.address : server.name, server.port)

const atSocket = (path: string): Place => ({
  name: `unix:${path}`,
  host: 'localhost',
  port: 24,
  connect: () => connected(path),
})

const connected = (path: string): Promise<Socket | ClientError> =>
  new Promise((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => resolve(socket))
    // It stays: until nodemailer listens, an error would end the process.
    socket.on('error', ({ message, code: originalCode }: NodeJS.ErrnoException) =>
      resolve(Object.assign(new Error(message), { code: 'ESOCKET', originalCode })),
    )
  })
