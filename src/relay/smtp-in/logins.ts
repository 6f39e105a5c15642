/** Checks logins.
 * Invariant: one password is checked at a time, for scrypt takes a thread of the pool that the
 * journal's writes go through, and a whole processor; behind it wait at most `waitingMax`. Networks
 * take turns, and when too many wait the one with the most gives way:
 *    1. somebody guesses in fifty sessions at once
 *    2. each guess takes a tenth of a second
 *    3. a user with the right password waits for two checks, not fifty
 * A name that there is not costs what one costs that there is. A login that was right a short time
 * ago is not checked again. */
import { createHmac } from 'node:crypto'
import { isPassword, type PasswordHash } from '../tables/password-hash.js'
import type { Users } from '../tables/users.js'
import { KnownLogins } from './known-logins.js'

/** A bounded number waits; further ones are refused for now. */
const waitingMax = 200

export class Logins {
  #users: Users
  #hashes: readonly PasswordHash[]
  readonly #check: typeof isPassword
  readonly #known: KnownLogins
  #isChecking = false
  #waitingCount = 0
  /** By network, in the order of their turns; none is empty. Each gets its turn, or a refusal. */
  readonly #waiting = new Map<string, ((isTurn: boolean) => void)[]>()

  /** @param users at least one */
  constructor(users: Users, check: typeof isPassword = isPassword, known: KnownLogins = new KnownLogins()) {
    this.#users = users
    this.#hashes = [...users.values()]
    this.#check = check
    this.#known = known
  }

  /** The next turns are those of these, or of none. @param users at least one */
  renew(users: Users): void {
    this.#users = users
    this.#hashes = [...users.values()]
  }

  /** @param network whose turn it is, client-networks.ts
   * @returns whether the password is right; undefined if too many wait */
  async isRight(name: string, password: string, network: string): Promise<boolean | undefined> {
    if (this.#isKnown(name, password)) return true
    if (!(await this.#turnOf(network))) return undefined
    try {
      // Of several sessions that begin together the first one's check is for all.
      if (this.#isKnown(name, password)) return true
      const hash = this.#users.get(name)
      const isPasswordOf = await this.#check(password, hash ?? this.#standIn(name))
      if (hash === undefined || !isPasswordOf) return false
      this.#known.add(name, password, hash)
      return true
    } finally {
      this.#next()
    }
  }

  #isKnown(name: string, password: string): boolean {
    const hash = this.#users.get(name)
    return hash !== undefined && this.#known.has(name, password, hash)
  }

  async #turnOf(network: string): Promise<boolean> {
    if (!this.#isChecking) {
      this.#isChecking = true
      return true
    }
    const line = this.#waiting.get(network) ?? []
    if (this.#waitingCount >= waitingMax && !this.#givesWay(line.length + 1)) return false
    this.#waiting.set(network, line)
    this.#waitingCount++
    return new Promise((resolve) => line.push(resolve))
  }

  /** The last of the longest line leaves it. @returns false when none is longer than so many */
  #givesWay(length: number): boolean {
    let longest: ((isTurn: boolean) => void)[] = []
    for (const line of this.#waiting.values()) if (line.length > longest.length) longest = line
    if (longest.length <= length) return false
    longest.pop()!(false)
    this.#waitingCount--
    return true
  }

  #next(): void {
    const [first] = this.#waiting
    if (first === undefined) {
      this.#isChecking = false
      return
    }
    const [network, line] = first
    const begin = line.shift()!
    this.#waitingCount--
    this.#waiting.delete(network)
    if (line.length > 0) this.#waiting.set(network, line)
    begin(true)
  }

  /** For a name the same each time, and behind the next start: users whose hashes cost more
   * than others' do not stand out among names that there are not. A key is a secret that
   * the file keeps. */
  #standIn(name: string): PasswordHash {
    const drawn = createHmac('sha256', this.#hashes[0]!.key).update(name).digest().readUInt32LE()
    return this.#hashes[drawn % this.#hashes.length]!
  }
}
