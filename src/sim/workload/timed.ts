/** Submitters that ask for times and tags. A plus and letters in the sender say what, so that every
 * life of a run, and its model, know: `n` and milliseconds, not before so long after the
 * submission; `e` and milliseconds, it expires then; `t`, it has tags.
 * Invariant: some seeds only have it, and theirs is drawn by a separate generator. */
import { pick, prngAt } from '../../base/prng.js'
import type { SubmissionTerms } from '../../engine/accept/submission-terms.js'
import { smallSetup, type Step, type VerbStep, type Workload } from './workload.js'

export interface Times {
  /** Milliseconds since 1970; 0: none. */
  readonly notBefore: number
  readonly expiresAt: number
  readonly tags: readonly string[]
}

/** @param nowMs when it is submitted, by the wall clock */
export function timesOf(sender: string, nowMs: number): Times {
  const [, before, expires, tag] = /\+(?:n(\d+))?(?:e(\d+))?(t)?@/.exec(sender) ?? []
  return {
    notBefore: before === undefined ? 0 : nowMs + Number(before),
    expiresAt: expires === undefined ? 0 : nowMs + Number(expires),
    tags: tag === undefined ? [] : ['tagged', sender],
  }
}

/** Of no submission. */
export const noTimes: Times = { notBefore: 0, expiresAt: 0, tags: [] }

/** As a submission says it. */
export function asTerms(sender: string, nowMs: number): SubmissionTerms {
  const { notBefore, expiresAt, tags } = timesOf(sender, nowMs)
  return {
    ...(notBefore > 0 ? { notBefore } : undefined),
    ...(expiresAt > 0 ? { expiresAt } : undefined),
    ...(tags.length > 0 ? { tags } : undefined),
  }
}

/** Seeds whose mail has times and tags: of those whose clocks stand still one of nine. */
export const isTimed = (seed: number): boolean => seed % 9 === 2

const asks = ['n700', 'n4500', 'n6100t', 'n13000', 'n21000e30000', 'e1500', 'e9000t', 'e40000', 't', 't', '']

/** The message's name, the same wherever it is named. */
const timedName = (seed: number, sender: string): string => {
  if (sender === '' || sender.includes('+')) return sender
  let hash = 0
  for (const character of sender) hash = (Math.imul(hash, 31) + character.charCodeAt(0)) | 0
  const ask = pick(prngAt(seed, hash, 0x0200_0000), asks)
  return ask === '' ? sender : sender.replace('@', `+${ask}@`)
}

export const timedMail = <T extends Step | VerbStep>(seed: number, steps: readonly T[]): T[] =>
  isTimed(seed) ? steps.map((step) => ({ ...step, sender: timedName(seed, step.sender) })) : [...steps]

const senders = [
  'm0+n9200t@sender.test',
  'm1+n4300@sender.test',
  'm2+e5000t@sender.test',
  'm3@sender.test',
  'm4+n6500e7500@sender.test',
  'm5+e20000@sender.test',
  'm6+n2000@sender.test',
  'm7+n6300@sender.test',
  'm8+e5500@sender.test',
] as const
/** Two come to their end behind the lifetime of the policy, reckoned from their submission. */
const fates = ['ok', 'defer1', 'never', 'defer1', 'never', 'defer7', 'ok', 'defer3', 'never'] as const

/** Mail that waits for its time beside mail that is deferred, and both expire. */
export const timed: Workload = {
  name: 'timed',
  setup: { ...smallSetup, checkpointIntervalMs: 500 },
  intervalsMs: [1000, 2000],
  lifetimeMs: 8000,
  answerMs: 2,
  isPunctual: true,
  steps: senders.map((sender, m): Step => ({
    atMs: 40 * m,
    sender,
    recipients: [`${fates[m]}-${m}@${m % 2 === 0 ? 'a' : 'b'}.test`],
    dataBytes: m === 1 ? 3000 : 150 + 100 * m,
  })),
}
