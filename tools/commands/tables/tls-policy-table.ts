/** The table of `serve --tls-policy`, as Postfix's smtp_tls_policy_maps has it: a line is
 * `DESTINATION LEVEL [match=NAME:NAME…]`. Pure.
 * Invariant: an error names the line. An attribute of Postfix that would have no effect is one. */
import { WaybillError } from '../../../src/errors.js'
import type { Nexthop } from '../../../src/relay/tables/nexthop.js'
import { TlsPolicies, type TlsPolicy, type TlsPolicyLine } from '../../../src/relay/tls/tls-policy.js'
import { tableLines } from '../../../src/relay/tables/table-lines.js'

export interface TlsPolicyTable {
  readonly lines: readonly TlsPolicyLine[]
  /** Of what it returns the place is that of the line. */
  find(destination: Nexthop): TlsPolicy | undefined
}

export const noTlsPolicy: TlsPolicyTable = { lines: [], find: () => undefined }

/** @param findsMailHosts of a nexthop that is a domain; otherwise it has to be a server
 * @throws WaybillError OPTION_INVALID with path and line */
export function tlsPolicyIn(text: string, path: string, findsMailHosts: boolean): TlsPolicyTable {
  const policies = new TlsPolicies(findsMailHosts)
  const lines: TlsPolicyLine[] = []
  for (const { text: line, place } of tableLines(text, 'tls-policy', path)) {
    const bad = (reason: string): WaybillError => new WaybillError('OPTION_INVALID', reason, place)
    const [destination = '', level, ...attributes] = line.trim().split(/\s+/)
    if (level === undefined)
      throw bad('a line is DESTINATION LEVEL, and match=NAME:NAME… where names are meant')
    const foreign = attributes.find((attribute) => !attribute.startsWith('match='))
    if (foreign !== undefined) throw bad(`${foreign}: behind the level stands match= and nothing else`)
    const match = attributes.flatMap((attribute) => attribute.slice('match='.length).split(':'))
    // `add` refuses a line whose level is not one.
    const policy = {
      destination,
      level: level as TlsPolicyLine['level'],
      ...(match.length === 0 ? undefined : { match }),
    }
    policies.add(policy, place)
    lines.push(policy)
  }
  return { lines, find: (destination) => policies.for(destination) }
}
