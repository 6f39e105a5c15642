import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { knownCountMax, KnownLogins, knownMsMax } from '../../../src/relay/smtp-in/known-logins.js'
import { Logins } from '../../../src/relay/smtp-in/logins.js'
import type { isPassword, PasswordHash } from '../../../src/relay/tables/password-hash.js'
import { usersWith } from '../tables/users-fixture.js'

const users = usersWith({ ada: 'secret', grace: 'other' })

/** Checks that end on request. */
function heldChecks(): {
  check: (password: string) => Promise<boolean>
  begun: string[]
  end: (isRight?: boolean) => Promise<void>
  fail: () => Promise<void>
} {
  const begun: string[] = []
  const open: PromiseWithEnds[] = []
  return {
    begun,
    check: (password) => {
      begun.push(password)
      return new Promise((resolve, reject) => open.push({ resolve, reject }))
    },
    end: (isRight = true) => {
      open.shift()!.resolve(isRight)
      return turn()
    },
    fail: () => {
      open.shift()!.reject(new Error('no memory'))
      return turn()
    },
  }
}

interface PromiseWithEnds {
  readonly resolve: (isRight: boolean) => void
  readonly reject: (error: Error) => void
}

test.each([
  ['ada', 'secret', true],
  ['ada', 'other', false],
  ['Ada', 'secret', false],
  ['nobody', 'secret', false],
  ['', '', false],
])('%s with the password %s: %s', async (name, password, isRight) => {
  expect(await new Logins(users).isRight(name, password, 'n')).toBe(isRight)
})

test('one password is checked at a time, and networks take turns', async () => {
  const { check, begun, end } = heldChecks()
  const logins = new Logins(users, check)
  const answers = ['a1', 'a2', 'a3', 'b1', 'c1', 'b2'].map((word) => logins.isRight('ada', word, word[0]!))
  await turn()
  for (let count = 1; count <= 6; count++) {
    expect(begun).toHaveLength(count)
    await end()
  }
  expect(begun).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2'])
  expect(await Promise.all(answers)).toEqual(Array(6).fill(true))
  void logins.isRight('ada', 'later', 'd')
  await turn()
  expect(begun).toHaveLength(7)
})

test('behind 200 that wait nobody waits, until one is through', async () => {
  const { check, end } = heldChecks()
  const logins = new Logins(users, check)
  for (let i = 0; i <= 200; i++) void logins.isRight('ada', `x${i}`, String(i))
  expect(await logins.isRight('ada', 'x', 'n')).toBeUndefined()
  await end()
  const last = logins.isRight('ada', 'x', 'n')
  for (let i = 0; i <= 200; i++) await end()
  expect(await last).toBe(true)
})

test('when too many wait, the last of the network with the most gives way to another', async () => {
  const { check, begun, end } = heldChecks()
  const logins = new Logins(users, check)
  const guesses = Array.from({ length: 201 }, (_, i) => logins.isRight('ada', `guess ${i}`, 'guesser'))
  expect(await logins.isRight('ada', 'one more', 'guesser')).toBeUndefined()
  const other = logins.isRight('ada', 'secret', 'n')
  expect(await guesses.at(-1)).toBeUndefined()
  for (let i = 0; i < 3; i++) await end()
  expect(await other).toBe(true)
  expect(begun.slice(0, 4)).toEqual(['guess 0', 'guess 1', 'secret', 'guess 2'])
  for (let i = 3; i <= 200; i++) await end()
  expect(begun).toHaveLength(201)
  const later = Array.from({ length: 201 }, (_, i) => logins.isRight('ada', `word ${i}`, `n${i}`))
  await turn()
  for (let i = 0; i <= 200; i++) await end()
  expect(await Promise.all(later)).toEqual(later.map(() => true))
})

test('a check that fails rejects its login, and the next one begins', async () => {
  const { check, end, fail } = heldChecks()
  const logins = new Logins(users, check)
  const first = logins.isRight('ada', 'x', 'n')
  const second = logins.isRight('ada', 'y', 'n')
  await turn()
  await Promise.all([expect(first).rejects.toThrow('no memory'), fail()])
  await end()
  expect(await second).toBe(true)
})

test('a name that there is not costs a check, always of the same hash, and is never right', async () => {
  const hashes = new Map<string, Set<PasswordHash>>()
  const logins = new Logins(users, (password, hash) => {
    hashes.set(password, (hashes.get(password) ?? new Set()).add(hash))
    return Promise.resolve(true)
  })
  const names = Array.from({ length: 64 }, (_, i) => `nobody${i}`)
  for (const name of [...names, ...names]) expect(await logins.isRight(name, name, 'n')).toBe(false)
  expect([...hashes.values()].map(({ size }) => size)).toEqual(names.map(() => 1))
  // Of all users, so that the cost of none stands out.
  expect(new Set([...hashes.values()].flatMap((set) => [...set]))).toEqual(new Set(users.values()))
})

test('behind the next start, too, a name that there is not costs what it did', async () => {
  const checked: PasswordHash[][] = []
  for (let start = 0; start < 2; start++) {
    const hashes: PasswordHash[] = []
    const logins = new Logins(users, (_, hash) => Promise.resolve(hashes.push(hash) === 0))
    for (let i = 0; i < 64; i++) await logins.isRight(`nobody${i}`, '', 'n')
    checked.push(hashes)
  }
  expect(checked[1]).toEqual(checked[0])
})

test('behind a reload a name that there is not costs what one of the new users costs', async () => {
  const renewed = usersWith({ eve: 'new' })
  const hashes: PasswordHash[] = []
  const logins = new Logins(users, (_, hash) => Promise.resolve(hashes.push(hash) === 0))
  logins.renew(renewed)
  for (let i = 0; i < 8; i++) await logins.isRight(`nobody${i}`, '', 'n')
  expect(new Set(hashes)).toEqual(new Set(renewed.values()))
})

/** A check that counts, and says yes to `secret`. */
function countedChecks(): { readonly check: typeof isPassword; readonly checked: string[] } {
  const checked: string[] = []
  return {
    checked,
    check: (password) => Promise.resolve(checked.push(password) > 0 && password === 'secret'),
  }
}

test('a login that was right is not checked again, and a wrong one is, each time', async () => {
  const { check, checked } = countedChecks()
  const logins = new Logins(users, check)
  const words = ['secret', 'wrong', 'secret', 'wrong', 'secret']
  const answers = await Promise.all(words.map((word) => logins.isRight('ada', word, 'n')))
  expect(answers).toEqual([true, false, true, false, true])
  expect(checked).toEqual(['secret', 'wrong', 'wrong'])
})

test('what was right for one user is checked for another', async () => {
  const { check, checked } = countedChecks()
  const logins = new Logins(users, check)
  await logins.isRight('ada', 'secret', 'n')
  await logins.isRight('grace', 'secret', 'n')
  expect(await logins.isRight('nobody', 'secret', 'n')).toBe(false)
  expect(checked).toHaveLength(3)
})

test('behind a reload a user with another hash is checked again, and one who is gone is refused', async () => {
  const { check, checked } = countedChecks()
  const logins = new Logins(users, check)
  await logins.isRight('ada', 'secret', 'n')
  logins.renew(usersWith({ ada: 'another' }))
  await logins.isRight('ada', 'secret', 'n')
  expect(checked).toHaveLength(2)
  logins.renew(usersWith({ grace: 'other' }))
  expect(await logins.isRight('ada', 'secret', 'n')).toBe(false)
})

test('a login is known for five minutes, and the oldest gives way to the thousandth behind it', async () => {
  let nowMs = 0
  const { check, checked } = countedChecks()
  const known = new KnownLogins(() => nowMs)
  const logins = new Logins(users, check, known)
  const again = async (): Promise<number> => {
    await logins.isRight('ada', 'secret', 'n')
    return checked.length
  }
  expect(await again()).toBe(1)
  nowMs = knownMsMax - 1
  expect(await again()).toBe(1)
  nowMs = knownMsMax
  expect(await again()).toBe(2)
  const hash = users.get('grace')!
  for (let i = 0; i < knownCountMax - 1; i++) known.add('grace', `other ${i}`, hash)
  expect(await again()).toBe(2)
  known.add('grace', 'one more', hash)
  expect(await again()).toBe(3)
})
