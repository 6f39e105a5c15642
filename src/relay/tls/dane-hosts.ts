/** Decides what DANE asks of a mail host, from its TLSA records (RFC 7672 §2.2).
 * Invariant: a host whose records cannot be looked up gets no mail; unusable records still ask for
 * TLS; a host that provably has no records is treated as without DANE.
 *
 * | addresses | TLSA records | |
 * |---|---|---|
 * | not proven | not asked for: servers of zones without signatures often do not know them, and the answer would prove nothing | nothing |
 * | proven | some that can be used | TLS with the peer that they name |
 * | proven | others alone | TLS with any certificate |
 * | proven | none, or not proven | nothing |
 * | proven | unknown | mail waits |
 *
 * Mail hosts that the domain names without proof are asked for theirs, too (§2.2.1, and Postfix's
 * smtp_tls_dane_insecure_mx_policy): an attacker that forges the names must appear in every log,
 * and one that only listens, or sits before the host, gets nothing. Most domains are not signed;
 * many of their mail hosts are.
 * @see Postfix smtp_tls_policy.c, dane_init; tls_dane.c, tls_dane_resolve */
import type { DnsQuestions } from '../dns/dns-questions.js'
import type { Nexthop } from '../tables/nexthop.js'
import type { MailHost } from '../dns/mail-hosts.js'
import type { DnssecAnswers } from '../dns/dnssec-answers.js'
import type { TlsDemand } from './tls-policy.js'
import { usableRecords, type TlsaRecord } from './tlsa-record.js'

type DaneVerdict =
  /** @param reason for a destination that gets no mail without DANE */
  | { readonly kind: 'nothing'; readonly reason: string }
  | { readonly kind: 'unusable'; readonly reason: string }
  | { readonly kind: 'unknown'; readonly reason: string }
  | {
      readonly kind: 'records'
      /** Whose they are: what TLS asks for. */
      readonly base: string
      readonly owner: string
      readonly records: readonly TlsaRecord[]
    }

async function verdictOf(
  host: string,
  port: number,
  answers: DnssecAnswers,
  questions: DnsQuestions,
): Promise<DaneVerdict> {
  const bases = await basesOf(host, answers, questions)
  if ('kind' in bases) return bases
  for (const base of bases) {
    const name = `_${port}._tcp.${base}`
    const answer = await questions.ask(`TLSA of ${name}`, async () => [await answers.ask('TLSA', name)])
    if (answer.kind === 'unknown') return answer
    // A name that is too long is nobody's.
    if (answer.kind !== 'records') continue
    const [reply] = answer.records
    if (reply?.kind !== 'records' || !reply.isProven) continue
    const records = usableRecords(reply.records)
    return records.length === 0
      ? { kind: 'unusable', reason: `no TLSA record of ${name} can be used` }
      : { kind: 'records', base, owner: name, records }
  }
  return {
    kind: 'nothing',
    reason: bases.length === 0 ? `no address of ${host} is proven (DNSSEC)` : `${host} has no TLSA records`,
  }
}

/** Where its records may be, the best first: where its aliases lead to, and the name itself. */
async function basesOf(
  host: string,
  answers: DnssecAnswers,
  questions: DnsQuestions,
): Promise<readonly string[] | Extract<DaneVerdict, { kind: 'unknown' }>> {
  const addresses = answers.addresses(host)
  if (addresses === undefined) return []
  const { owner, isProven } = addresses
  if (owner === host) return isProven ? [host] : []
  if (isProven) return [owner, host]
  // It leads out of what is signed, and may have records before that.
  const alias = await questions.ask(`CNAME of ${host}`, async () => [await answers.ask('CNAME', host)])
  if (alias.kind === 'unknown') return alias
  return alias.kind === 'records' && alias.records[0]?.isProven === true ? [host] : []
}

/** @param isOnly mail waits where DANE says nothing, or of mail hosts that are named without proof
 * @returns by the names of the hosts; undefined where DANE says nothing */
export async function daneDemands(
  hosts: readonly MailHost[],
  destination: Nexthop,
  isOnly: boolean,
  answers: DnssecAnswers,
  questions: DnsQuestions,
): Promise<ReadonlyMap<string, TlsDemand | undefined>> {
  const hostNames = [...new Set(hosts.map(({ name }) => name))]
  const { mailHosts } = answers
  const domain = destination.kind === 'address' ? '' : destination.name
  if (isOnly && mailHosts?.isProven === false) {
    const demand = { level: 'unmet', reason: `the mail hosts of ${domain} are not proven (DNSSEC)` } as const
    return new Map(hostNames.map((name) => [name, demand]))
  }
  const names = mailHosts?.isProven === true ? [domain, mailHosts.owner] : [domain]
  const demands = hostNames.map(async (name) => {
    const verdict = await verdictOf(name, destination.port, answers, questions)
    return [name, daneDemand(verdict, names, isOnly)] as const
  })
  return new Map(await Promise.all(demands))
}

/** @param names that a certificate may be for beside the host's */
function daneDemand(verdict: DaneVerdict, names: readonly string[], isOnly: boolean): TlsDemand | undefined {
  switch (verdict.kind) {
    case 'unknown':
      return { level: 'unmet', reason: verdict.reason }
    case 'records': {
      const { base, owner, records } = verdict
      // Of the server's own certificate no name counts: domains with the same host share its
      // sessions.
      const isByName = records.some((record) => record.of === 'issuer')
      const meant = isByName ? [...new Set([base, ...names])] : []
      return { level: 'dane', base, peer: { owner, records, names: meant } }
    }
    case 'unusable':
      return isOnly ? { level: 'unmet', reason: verdict.reason } : { level: 'encrypt' }
    case 'nothing':
      return isOnly ? { level: 'unmet', reason: verdict.reason } : undefined
  }
}
