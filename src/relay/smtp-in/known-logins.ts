/** Logins that succeeded a short time ago, so that they need no scrypt, which takes a tenth of a
 * second. Many programs open a session for each message, and log in with the same password.
 * Invariant: an entry shows nothing of a password without this process's memory. It belongs to one
 * hash in the file: with another hash the password is checked again. Only successful logins are
 * kept, so a guess stays expensive. */
import { createHmac, randomBytes } from 'node:crypto'
import type { PasswordHash } from '../tables/password-hash.js'

/** Milliseconds since the check. */
export const knownMsMax = 300_000
/** Further ones take the place of the oldest. */
export const knownCountMax = 1000

export class KnownLogins {
  readonly #key = randomBytes(32)
  readonly #nowMs: () => number
  /** When each was checked, oldest first. */
  readonly #checkedAtMs = new Map<string, number>()

  /** @param nowMs of a clock that only goes on */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs
  }

  has(name: string, password: string, hash: PasswordHash): boolean {
    const checkedAtMs = this.#checkedAtMs.get(this.#digestOf(name, password, hash))
    return checkedAtMs !== undefined && this.#nowMs() - checkedAtMs < knownMsMax
  }

  /** It was right. */
  add(name: string, password: string, hash: PasswordHash): void {
    const digest = this.#digestOf(name, password, hash)
    this.#checkedAtMs.delete(digest)
    this.#checkedAtMs.set(digest, this.#nowMs())
    if (this.#checkedAtMs.size <= knownCountMax) return
    const [oldest] = this.#checkedAtMs.keys()
    this.#checkedAtMs.delete(oldest!)
  }

  /** Names and passwords have no NUL: AUTH PLAIN ends them with it (RFC 4616 §2). */
  #digestOf(name: string, password: string, { salt, key }: PasswordHash): string {
    const mac = createHmac('sha256', this.#key).update(`${name}\0${password}\0`)
    return mac.update(salt).update(key).digest('base64')
  }
}
