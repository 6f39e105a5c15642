/** Bearer tokens and what each allows (RFC 6750).
 * Invariant: a file has hashes alone. A token is 256 random bits, so one round of SHA-256 keeps it,
 * and every hash is compared in full: how long that takes says nothing about any of them. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { WaybillError } from '../../errors.js'
import { tableLines } from '../../relay/tables/table-lines.js'
import { ProblemError } from './problem-details.js'

export const scopes = ['read', 'content', 'submit', 'operate'] as const

/** `read`: figures, envelopes, outcomes, the log. `content`: what messages say. `submit`: new mail.
 * `operate`: verbs, and what changes a destination. */
export type Scope = (typeof scopes)[number]

export interface Token {
  /** For the log. */
  readonly name: string
  readonly scopes: readonly Scope[]
  /** SHA-256 of the token. */
  readonly hash: Buffer
  /** Milliseconds since 1970. */
  readonly expiresAt: number | undefined
}

/** Longer ones are compared with nothing. */
const tokenBytesMax = 512
const tokenCountMax = 1000
const namePattern = /^[\w.@+-]{1,64}$/
const hashPattern = /^sha256:([0-9a-f]{64})$/

export const isTokenName = (name: string): boolean => namePattern.test(name)

/** One that nobody can guess. */
export const newToken = (): string => `wbt_${randomBytes(32).toString('base64url')}`

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest()

/** The line of a tokens' file. */
export function tokenLine(
  token: string,
  { name, scopes: given, expiresAt }: Pick<Token, 'name' | 'scopes' | 'expiresAt'>,
): string {
  const until = expiresAt === undefined ? '' : ` until=${new Date(expiresAt).toISOString()}`
  return `${name} ${given.join(',')} sha256:${hashOf(token).toString('hex')}${until}`
}

/** All that a server knows. */
export class Tokens {
  readonly #tokens: readonly Token[]

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  get size(): number {
    return this.#tokens.length
  }

  /** @param header `Authorization` of a request
   * @throws ProblemError TOKEN_MISSING, TOKEN_INVALID, TOKEN_EXPIRED */
  tokenIn(header: string | undefined, wallMs: number): Token {
    const [, text] = /^Bearer +(\S+) *$/i.exec(header ?? '') ?? []
    if (text === undefined)
      throw new ProblemError('TOKEN_MISSING', 'a request has Authorization: Bearer TOKEN')
    const hash = hashOf(Buffer.byteLength(text) > tokenBytesMax ? '' : text)
    let found: Token | undefined
    for (const token of this.#tokens) if (timingSafeEqual(token.hash, hash)) found ??= token
    if (found === undefined) throw new ProblemError('TOKEN_INVALID', 'the token is none of this server')
    checkTime(found, wallMs)
    return found
  }

  /** Is it still one of these? @throws ProblemError TOKEN_INVALID, TOKEN_EXPIRED */
  checkStill(token: Token, wallMs: number): void {
    const now = this.#tokens.find(({ hash }) => hash.equals(token.hash))
    if (now === undefined || token.scopes.some((scope) => !now.scopes.includes(scope)))
      throw new ProblemError('TOKEN_INVALID', 'the token was taken back')
    checkTime(now, wallMs)
  }
}

function checkTime({ expiresAt }: Token, wallMs: number): void {
  if (expiresAt === undefined || wallMs < expiresAt) return
  throw new ProblemError('TOKEN_EXPIRED', `the token was good until ${new Date(expiresAt).toISOString()}`)
}

/** @throws ProblemError SCOPE_MISSING */
export function checkScope(token: Token, scope: Scope): void {
  if (token.scopes.includes(scope)) return
  throw new ProblemError('SCOPE_MISSING', `the token '${token.name}' is not for ${scope}`, { scope })
}

/** Lines `NAME SCOPES sha256:HASH [until=TIME]` of the file at `path`.
 * @throws WaybillError OPTION_INVALID with the line */
export function tokensIn(text: string, path: string): Tokens {
  const tokens: Token[] = []
  for (const { text: line, place } of tableLines(text, 'http-tokens', path)) {
    const wrong = (reason: string): WaybillError => new WaybillError('OPTION_INVALID', reason, place)
    const [name = '', list = '', hash = '', until, ...more] = line.trim().split(/\s+/)
    const [, hex] = hashPattern.exec(hash) ?? []
    if (!isTokenName(name) || hex === undefined || more.length > 0)
      throw wrong('a token is a line NAME SCOPES sha256:HASH [until=TIME], which `waybill token` makes')
    if (tokens.some((other) => other.name === name)) throw wrong(`there is another token ${name}`)
    if (tokens.length >= tokenCountMax) throw wrong(`there are at most ${tokenCountMax} tokens`)
    tokens.push({
      name,
      scopes: scopesIn(list, wrong),
      hash: Buffer.from(hex, 'hex'),
      expiresAt: until === undefined ? undefined : timeIn(until, wrong),
    })
  }
  return new Tokens(tokens)
}

/** The one token that allows everything. */
export const soleToken = (text: string): Tokens =>
  new Tokens([{ name: 'owner', scopes, hash: hashOf(text), expiresAt: undefined }])

/** @throws what `wrong` makes */
export function scopesIn(list: string, wrong: (reason: string) => Error): Scope[] {
  return [...new Set(list.split(','))].map((word) => {
    const scope = scopes.find((known) => known === word)
    if (scope === undefined) throw wrong(`'${word}' is no scope: ${scopes.join(', ')}, with commas between`)
    return scope
  })
}

function timeIn(word: string, wrong: (reason: string) => Error): number {
  const ms = word.startsWith('until=') ? Date.parse(word.slice('until='.length)) : NaN
  if (Number.isNaN(ms)) throw wrong(`'${word}' is no time: until=2027-01-31T00:00:00Z`)
  return ms
}
