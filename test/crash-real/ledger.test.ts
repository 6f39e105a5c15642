/** The oracles of the real tier find what they are there for: each is given a trace that it
 * must not pass. */
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { Ledger } from '../../tools/crash-real/ledger.js'
import { fateOf, numberedMail } from '../../tools/crash-real/mail.js'
import type { EffectLine, TraceLine } from '../../tools/crash-real/trace.js'

const seed = 1
const hashOf = (number: number): string =>
  createHash('sha256')
    .update(numberedMail(seed, number, 'mixed').data)
    .digest('hex')

/** The first message with one recipient of this fate, and numbers behind it for others. */
function mailFor(fate: string): number {
  for (let number = 1; ; number++) {
    const { recipients, sender } = numberedMail(seed, number, 'mixed')
    if (recipients.length === 1 && fateOf(recipients[0]!) === fate && sender !== '') return number
  }
}

const taken = mailFor('ok')
const refused = mailFor('fail')

function effectOf(number: number, change: Partial<EffectLine> = {}): EffectLine {
  const { sender, recipients } = numberedMail(seed, number, 'mixed')
  return {
    kind: 'effect',
    id: `ID${number}`,
    sender,
    recipient: recipients[0]!,
    attempts: 0,
    outcome: fateOf(recipients[0]!) === 'fail' ? 'failed' : 'delivered',
    hash: hashOf(number),
    named: [],
    ...change,
  }
}

const reportOn = (number: number, id: string): EffectLine =>
  effectOf(number, {
    id,
    sender: '',
    recipient: numberedMail(seed, number, 'mixed').sender,
    outcome: 'delivered',
    named: numberedMail(seed, number, 'mixed').recipients,
  })

const accepted = (number: number): TraceLine[] => [
  { kind: 'begun', number },
  { kind: 'settled', number },
]

const recorded = ({ id, recipient }: EffectLine): TraceLine => ({
  kind: 'recorded',
  id,
  recipients: [recipient],
})

/** What the ledger says about these lives. */
function judged(...lives: readonly (readonly TraceLine[])[]): Ledger {
  const ledger = new Ledger(seed, 'mixed')
  for (const lines of lives) {
    ledger.beginLife()
    for (const line of lines) ledger.absorb(line)
    ledger.endLife()
  }
  ledger.close()
  return ledger
}

const kinds = (ledger: Ledger): readonly string[] => ledger.violations.map(({ kind }) => kind)

test('mail that was settled and delivered is right', () => {
  expect(judged([...accepted(taken), effectOf(taken)]).violations).toEqual([])
})

test('mail that was settled and not delivered is lost', () => {
  expect(kinds(judged(accepted(taken)))).toEqual(['lost'])
})

test('mail that was begun and neither settled nor seen is nobody’s loss', () => {
  expect(judged([{ kind: 'begun', number: taken }]).violations).toEqual([])
})

test('mail that was seen once must come to its end, settled or not', () => {
  const seen = effectOf(taken, { outcome: 'deferred' })
  expect(kinds(judged([{ kind: 'begun', number: taken }, seen]))).toEqual(['lost'])
})

test('mail that was refused for want of room must not appear', () => {
  const lines: TraceLine[] = [
    { kind: 'begun', number: taken },
    { kind: 'rejected', number: taken, code: 'DISK_FULL', message: '' },
    effectOf(taken),
  ]
  expect(kinds(judged(lines))).toEqual(['phantom'])
})

test('mail that nobody submitted is a phantom', () => {
  expect(kinds(judged([effectOf(taken)]))).toEqual(['phantom'])
})

test('one submission under two ids is a phantom', () => {
  const again = effectOf(taken, { id: 'OTHER' })
  expect(kinds(judged([...accepted(taken), effectOf(taken)], [again]))).toContain('phantom')
})

test('other data than was submitted is found', () => {
  expect(kinds(judged([...accepted(taken), effectOf(taken, { hash: 'x' })]))).toEqual(['changed'])
})

test('a delivery is not repeated in the life in which it was made', () => {
  expect(kinds(judged([...accepted(taken), effectOf(taken), effectOf(taken)]))).toEqual(['repeated'])
})

test('a delivery that nothing proves durable may be repeated after a crash, and is counted', () => {
  const ledger = judged([...accepted(taken), effectOf(taken), recorded(effectOf(taken))], [effectOf(taken)])
  expect(ledger.violations).toEqual([])
  expect(ledger.counts).toMatchObject({ duplicates: 1, allowance: 2 })
})

test('a delivery whose outcome was recorded before a submission that settled is not repeated', () => {
  const later = [...accepted(refused), effectOf(refused), reportOn(refused, 'R1')]
  const lines = [...accepted(taken), effectOf(taken), recorded(effectOf(taken)), ...later]
  expect(kinds(judged(lines, [effectOf(taken)]))).toEqual(['repeated'])
})

test('a submission that began before the outcome was recorded proves nothing', () => {
  const lines: TraceLine[] = [
    ...accepted(taken),
    { kind: 'begun', number: refused },
    effectOf(taken),
    recorded(effectOf(taken)),
    { kind: 'settled', number: refused },
    effectOf(refused),
    reportOn(refused, 'R1'),
  ]
  expect(judged(lines, [effectOf(taken)]).violations).toEqual([])
})

test('a failure without a report is a loss', () => {
  expect(kinds(judged([...accepted(refused), effectOf(refused)]))).toEqual(['lost'])
})

test('a failure is reported by one report', () => {
  const lines = [...accepted(refused), effectOf(refused), reportOn(refused, 'R1')]
  expect(judged(lines).violations).toEqual([])
  expect(kinds(judged([...lines, reportOn(refused, 'R2')]))).toEqual(['report'])
})

test('a report on mail that was taken is wrong', () => {
  expect(kinds(judged([...accepted(taken), effectOf(taken), reportOn(taken, 'R1')]))).toEqual(['report'])
})

test('a file that nobody needs is found', () => {
  expect(kinds(judged([{ kind: 'drained', leftovers: ['spool/1.mail'] }]))).toEqual(['leftover'])
})

test('mail that cannot be read is found, unless the device was made to fail', () => {
  const line = { kind: 'unreadable', recipient: 'a@b', code: 'DISK_FAILED', message: '' } as const
  expect(kinds(judged([line]))).toEqual(['unreadable'])
  const ledger = new Ledger(seed, 'mixed')
  ledger.beginLife()
  ledger.deviceFails()
  ledger.absorb(line)
  expect(ledger.violations).toEqual([])
  ledger.absorb({ ...line, code: 'DATA_CORRUPT' })
  expect(kinds(ledger)).toEqual(['unreadable'])
})
