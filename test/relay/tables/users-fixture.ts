/** Users whose passwords cost little to check. */
import { randomBytes, scryptSync } from 'node:crypto'
import type { PasswordHash } from '../../../src/relay/tables/password-hash.js'
import type { Users } from '../../../src/relay/tables/users.js'

/** @param ln 16 takes some tenths of a second */
export function hashOfCost(password: string, ln: number): PasswordHash {
  const salt = randomBytes(16)
  const key = scryptSync(password, salt, 32, { N: 2 ** ln, r: 8, p: 1, maxmem: 2 ** 30 })
  return { ln, r: 8, p: 1, salt, key }
}

/** @param passwords by name */
export const usersWith = (passwords: Readonly<Record<string, string>>, ln = 2): Users =>
  new Map(Object.entries(passwords).map(([name, password]) => [name, hashOfCost(password, ln)]))

export const base64 = (text: string): string => Buffer.from(text).toString('base64')
