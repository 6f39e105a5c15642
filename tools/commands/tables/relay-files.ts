/** Reads single files of the relay: certificate, users, relay domains, aliases, senders, and the
 * password at the relay.
 * Invariant: a password is never an argument, where every user of the machine could read it. */
import { X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { aliasesIn, type Aliases } from '../../../src/relay/tables/aliases.js'
import { utf8Text } from '../../../src/base/text.js'
import type { Certificate } from '../../../src/relay/smtp-in/session-server.js'
import type { SmtpTransportOptions } from '../../../src/relay/smtp-out/smtp-out-options.js'
import { nexthopParts } from '../../../src/relay/tables/nexthop.js'
import { relayDomainsIn, type RelayDomains } from '../../../src/relay/tables/relay-domains.js'
import { sendersIn, type Senders } from '../../../src/relay/tables/senders.js'
import { usersIn, type Users } from '../../../src/relay/tables/users.js'
import { flagOf, lineOf, UsageError, type Arguments } from '../cli/command.js'
import type { Validity } from '../log/certificate-watch.js'
import { givenFile } from '../text/given-file.js'
import { parseCount, parseDelimiters, parseEndpoint } from '../cli/values.js'

/** @returns the first line of the file that `--relay-auth` names @throws UsageError */
export async function credentialsOf(args: Arguments): Promise<SmtpTransportOptions['auth']> {
  const path = args.one('relay-auth')
  if (path === undefined) return undefined
  if (!args.isSet('relay')) throw new UsageError('--relay-auth is for a server that --relay names')
  const text = withoutServer(await fileTextOf('relay-auth', path), args.one('relay') ?? '', path)
  const match = /^([^:\r\n]+):([^\r\n]+)(?:\r?\n)?$/.exec(text)
  if (match === null)
    throw new UsageError(`--relay-auth takes a file with one line USER:PASSWORD, not ${path}`)
  const [, user = '', pass = ''] = match
  return { user, pass }
}

/** The line of Postfix's sasl_passwd without the server that it is for:
 *    1. a file says `[mail.example.net]:587 ada:secret`
 *    2. the user `[mail.example.net]` logs in with the password `587 ada:secret`
 *    3. the relay refuses that, and all mail waits until it is returned
 * @throws UsageError when it is for another server */
function withoutServer(text: string, relay: string, path: string): string {
  const [, server = '', rest = ''] = /^(\S+)[ \t]+(\S.*)$/s.exec(text) ?? []
  const { host, port } = parseEndpoint('relay', relay, 'localhost', 25)
  const named = nexthopParts(server, port)
  const isOfRelay = named?.text.toLowerCase() === host.toLowerCase()
  if (isOfRelay && named.port === port) return rest
  if (!isOfRelay && !server.startsWith('[')) return text
  throw new UsageError(`--relay-auth: the line of ${path} is for ${server}, and --relay is ${relay}`)
}

/** @returns what `--tls-cert` and `--tls-key` name, when it is one pair @throws UsageError */
export const certificateOf = (args: Arguments): Promise<Certificate | undefined> =>
  certificateIn(args, 'tls-cert', 'tls-key')

/** The same of two other options. @throws UsageError */
export async function certificateIn(
  args: Arguments,
  certOption: string,
  keyOption: string,
): Promise<Certificate | undefined> {
  const certPath = args.one(certOption)
  const keyPath = args.one(keyOption)
  if (certPath === undefined && keyPath === undefined) return undefined
  if (certPath === undefined || keyPath === undefined)
    throw new UsageError(`--${certOption} and --${keyOption} belong together`)
  // What stands beside the blocks of a PEM file may be in any charset.
  const certificate = {
    cert: (await fileBytesOf(certOption, certPath)).toString(),
    key: (await fileBytesOf(keyOption, keyPath)).toString(),
  }
  try {
    createSecureContext(certificate)
    // To a secure context an empty text is one that was not given: no handshake would succeed.
    if (certificate.key === '') throw new Error(`${keyPath} is empty`)
    expiryMsOf(certificate)
  } catch (error) {
    throw new UsageError(
      `--${certOption} ${certPath} and --${keyOption} ${keyPath}: no certificate and its key: ${lineOf(error)}`,
    )
  }
  return certificate
}

/** Of the first one, which is the server's own, milliseconds since 1970.
 * @throws Error when it is no certificate, or its time is invalid */
export function expiryMsOf(certificate: Certificate): number {
  return validityOf(certificate).untilMs
}

/** As `expiryMsOf`. */
export function validityOf({ cert }: Certificate): Validity {
  const { validFrom, validTo } = new X509Certificate(cert)
  const untilMs = Date.parse(validTo)
  // OpenSSL takes such a certificate for one.
  if (Number.isNaN(untilMs)) throw new Error(`it ends at no time: ${validTo}`)
  return { fromMs: Date.parse(validFrom), untilMs }
}

/** @returns the users in the file of `--auth` @throws UsageError, WaybillError OPTION_INVALID */
export async function usersOf(args: Arguments): Promise<Users | undefined> {
  const path = args.one('auth')
  if (path === undefined) return undefined
  if (!args.isSet('tls-cert'))
    throw new UsageError('--auth needs --tls-cert and --tls-key: passwords are taken over TLS only')
  return usersIn(await fileTextOf('auth', path), path)
}

/** @returns what the file of `--relay-domains` says @throws UsageError, WaybillError
 * OPTION_INVALID */
export async function relayDomainsOf(args: Arguments): Promise<RelayDomains | undefined> {
  const path = args.one('relay-domains')
  return path === undefined
    ? undefined
    : relayDomainsIn(await fileTextOf('relay-domains', path), path, delimitersOf(args))
}

/** @returns what the file of `--aliases` says @throws UsageError, WaybillError OPTION_INVALID */
export async function aliasesOf(args: Arguments): Promise<Aliases | undefined> {
  const path = args.one('aliases')
  const limit = args.one('alias-limit')
  if (path === undefined) {
    if (limit !== undefined) throw new UsageError('--alias-limit is for the table of --aliases')
    return undefined
  }
  const countMax = limit === undefined ? undefined : parseCount('alias-limit', limit, 1)
  if (countMax !== undefined && countMax > recipientsOfMessageMax)
    throw new UsageError(`--alias-limit ${limit}: a message has at most ${recipientsOfMessageMax} recipients`)
  return aliasesIn(await fileTextOf('aliases', path), path, delimitersOf(args), countMax)
}

/** @returns what the file of `--senders` says @throws UsageError, WaybillError OPTION_INVALID */
export async function sendersOf(args: Arguments): Promise<Senders | undefined> {
  const path = args.one('senders')
  return path === undefined ? undefined : sendersIn(await fileTextOf('senders', path), path)
}

/** The queue's `recipientCountMax`, which `serve` leaves as it is. */
export const recipientsOfMessageMax = 100_000

/** What may stand before an extension; '' when addresses have none. @throws UsageError */
export function delimitersOf(args: Arguments): string {
  const text = args.one('recipient-delimiter')
  return text === undefined ? '' : parseDelimiters('recipient-delimiter', text)
}

/** Without the mark with which some editors begin a file: it would be part of the first name.
 * @throws UsageError when it cannot be read, or is not UTF-8 */
export async function fileTextOf(option: string, path: string): Promise<string> {
  const bytes = await fileBytesOf(option, path)
  const text = utf8Text(bytes)
  if (text === undefined)
    throw new UsageError(`${flagOf(option)}: ${path}:${lineWithoutText(bytes)}: the line is not UTF-8`)
  return text
}

/** @throws UsageError */
async function fileBytesOf(option: string, path: string): Promise<Buffer> {
  try {
    return await givenFile(path)
  } catch (error) {
    throw new UsageError(`${flagOf(option)}: ${lineOf(error)}`)
  }
}

/** The number of the first line that is not UTF-8. */
function lineWithoutText(bytes: Buffer): number {
  let number = 1
  for (let from = 0; ; number++) {
    const end = bytes.indexOf('\n', from)
    if (end < 0 || utf8Text(bytes.subarray(from, end)) === undefined) return number
    from = end + 1
  }
}
