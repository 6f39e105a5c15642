/** Parses the MTA-STS record and policy of a domain (RFC 8461 §3). Pure.
 * Invariant: what is not written as the RFC has it says nothing. A policy is there as a whole,
 * or there is none. What is returned is remembered for long, and holds nothing of the text
 * that it stood in. */
import { isIP } from 'node:net'
import { ownText } from '../../base/text.js'
import { asciiName, isHostName } from '../tables/nexthop.js'

export interface StsPolicy {
  /** Only by `enforce` anything is asked of a mail host. */
  readonly mode: 'enforce' | 'testing' | 'none'
  /** The mail hosts, in ASCII and lower case; `*.` stands for one label. */
  readonly mx: readonly string[]
  readonly maxAgeMs: number
}

const modes = ['enforce', 'testing', 'none'] as const

/** A year; what is longer counts as that. */
const maxAgeSecondsMax = 31_557_600

const idForm = /^[a-z\d]{1,32}$/i
const recordField = /^[a-z\d][a-z\d_.-]{0,31}=[\x21-\x3a\x3c\x3e-\x7e]+$/i
const policyField = /^([a-z\d][a-z\d_.-]{0,31}):/i

/** @param records TXT of `_mta-sts.DOMAIN`
 * @returns the policy's id; undefined for none or several records */
export function stsIdIn(records: readonly (readonly string[])[]): string | undefined {
  const [record, ...others] = records
    .map((strings) => strings.join(''))
    .filter((text) => /^v=STSv1[ \t]*;/.test(text))
  if (record === undefined || others.length > 0) return undefined
  const fields = record.split(';').map((field) => field.trim())
  if (fields.at(-1) === '') fields.pop()
  if (!fields.every((field) => recordField.test(field))) return undefined
  const id = fields.find((field) => field.startsWith('id='))?.slice('id='.length) ?? ''
  return idForm.test(id) ? ownText(id) : undefined
}

/** @param text of `https://mta-sts.DOMAIN/.well-known/mta-sts.txt` */
export function stsPolicyIn(text: string): StsPolicy | undefined {
  const fields = new Map<string, string>()
  const mx: string[] = []
  for (const line of text.split(/\r?\n/)) {
    if (line.trim() === '') continue
    const name = policyField.exec(line)?.[1]
    if (name === undefined) return undefined
    const value = line.slice(name.length + 1).trim()
    if (name === 'mx') {
      const pattern = mxPattern(value)
      if (pattern === undefined) return undefined
      mx.push(pattern)
    } else if (!fields.has(name)) fields.set(name, value)
  }
  const mode = modes.find((word) => word === fields.get('mode'))
  const maxAge = fields.get('max_age') ?? ''
  if (fields.get('version') !== 'STSv1' || mode === undefined || !/^\d{1,10}$/.test(maxAge)) return undefined
  if (mx.length === 0 && mode !== 'none') return undefined
  return { mode, mx, maxAgeMs: 1000 * Math.min(Number(maxAge), maxAgeSecondsMax) }
}

function mxPattern(value: string): string | undefined {
  const wildcard = value.startsWith('*.') ? '*.' : ''
  const name = asciiName(value.slice(wildcard.length))
  return isHostName(name) && isIP(name) === 0 ? ownText(wildcard + name) : undefined
}

/** @param host in lower case, without a dot at its end */
export function allowsMailHost({ mx }: StsPolicy, host: string): boolean {
  const dot = host.indexOf('.')
  const oneAbove = dot > 0 ? `*${host.slice(dot)}` : undefined
  return isHostName(host) && mx.some((pattern) => pattern === host || pattern === oneAbove)
}
