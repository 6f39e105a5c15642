/** `serve --dane`: the resolver for TLSA records, and whether it validates.
 * Invariant: where nothing is proven DANE says nothing, and no mail shows it: so the log does, at
 * the start and at each reload. Nobody waits for that, mail least of all. */
import type { Logger } from 'pino'
import { systemClock } from '../../../src/base/clock.js'
import {
  serversMax,
  proofTroubleOf,
  readDnsServer,
  systemDnsServers,
  type DnsServer,
} from '../../../src/relay/dns/dns-client.js'
import type { MxTransportOptions } from '../../../src/relay/smtp-out/mx-out-options.js'
import { isDane } from '../../../src/relay/tls/tls-policy.js'
import { UsageError, type Arguments } from '../cli/command.js'
import type { TlsPolicyTable } from '../tables/tls-policy-table.js'
import { formatEndpoint, parseYes } from '../cli/values.js'

/** @throws UsageError */
export function daneOf(args: Arguments): Pick<MxTransportOptions, 'dane' | 'daneServers'> {
  const dane = parseYes('dane', args.one('dane') ?? 'no')
  const servers = args.all('dane-server')
  if (servers.length === 0) return { dane }
  if (!args.isSet('dane') && !args.isSet('tls-policy'))
    throw new UsageError('--dane-server is for --dane yes, or lines of --tls-policy')
  if (servers.length > serversMax) throw new UsageError(`--dane-server may be there ${serversMax} times`)
  const wrong = servers.find((text) => readDnsServer(text) === undefined)
  if (wrong !== undefined) throw new UsageError(`--dane-server takes ADDRESS or ADDRESS:PORT, not '${wrong}'`)
  return { dane, daneServers: servers }
}

/** @returns when the log has a line for each resolver; none where nobody asks */
export async function tellProofs(
  args: Arguments,
  { lines }: Pick<TlsPolicyTable, 'lines'>,
  log: Logger,
  system: () => readonly DnsServer[] = systemDnsServers,
): Promise<void> {
  const { dane, daneServers } = daneOf(args)
  if (dane !== true && !lines.some(({ level }) => isDane(level))) return
  const servers = daneServers?.flatMap((text) => readDnsServer(text) ?? []) ?? system()
  const told = servers.slice(0, serversMax).map(async (server) => {
    const resolver = formatEndpoint({ host: server.address, port: server.port })
    const reason = await proofTroubleOf(server, systemClock)
    if (reason === undefined) log.info({ resolver }, 'a resolver for DANE')
    else
      log.warn(
        { resolver, reason },
        'no resolver for DANE: mail is not checked against TLSA records, and under dane-only it waits',
      )
  })
  await Promise.all(told)
}
