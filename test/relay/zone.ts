/** A DNS of a few names. What is not in it is not there; a word instead of records is the code of
 * an error, `silent` no answer at all. */
import type { MxResolver } from '../../src/relay/dns/dns-questions.js'

export type Answer<T> = readonly T[] | string

export interface Name {
  readonly mx?: Answer<readonly [preference: number, host: string]>
  readonly a?: Answer<string>
  readonly aaaa?: Answer<string>
  readonly txt?: Answer<readonly string[]>
}

export interface FakeDns extends MxResolver {
  /** `MX example.net`. */
  readonly questions: string[]
}

export function zone(names: Readonly<Record<string, Name>>): FakeDns {
  const questions: string[] = []
  const answer = async <T>(type: keyof Name, name: string): Promise<readonly T[]> => {
    questions.push(`${type.toUpperCase()} ${name}`)
    const known = Object.hasOwn(names, name) ? names[name] : undefined
    const records = known === undefined ? 'ENOTFOUND' : (known[type] ?? 'ENODATA')
    if (records === 'silent') return new Promise(() => {})
    if (typeof records === 'string')
      throw Object.assign(new Error(`query ${records} ${name}`), { code: records })
    return records as readonly T[]
  }
  return {
    questions,
    resolveMx: async (domain) => {
      const records = await answer<readonly [number, string]>('mx', domain)
      return records.map(([priority, exchange]) => ({ priority, exchange }))
    },
    resolve4: (host) => answer('a', host),
    resolve6: (host) => answer('aaaa', host),
    resolveTxt: (name) => answer('txt', name),
  }
}
