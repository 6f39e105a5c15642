/** Guarantees under disturbances.
 * The wall clock is set, callers give up, `hold` is compacted, the disk hangs, a life is drained,
 * or a message ends each process. */
import { one, type Mutation } from './mutation.js'

export const disturbanceMutations: readonly Mutation[] = [
  one(
    'waits-by-the-wall-clock',
    'mail waits at most its interval by the monotonic clock',
    'lane/lane.js',
    ': byWall, byMonotonic));',
    ': byWall, Infinity));',
  ),
  one(
    'early-when-set-back-twice',
    'mail is tried before its time only by a clock that was set forward',
    'lane/lane.js',
    'isAhead && timeMs >= this.#setBack.shownAtMs',
    'isAhead',
  ),
  one(
    'attempted-without-room-for-outcomes',
    'no attempt begins while outcomes wait for a segment',
    'log/journal-writer.js',
    '!leaves && isThere && purpose',
    '!leaves && purpose',
  ),
  one(
    'too-old-when-set-back',
    'nothing grows old by a clock that is set back',
    'engine/settle/message-age.js',
    'Math.max(0, Math.min(...times) - acceptedAt)',
    'Math.abs(Math.min(...times) - acceptedAt)',
  ),
  one(
    'aborted-though-appended',
    'a submission that is aborted when it is appended is accepted',
    'engine/accept/accept.js',
    '? this.#appendNow(group, data, file)',
    `? Promise.race([
          this.#appendNow(group, data, file),
          new Promise((_, reject) => signal?.addEventListener('abort', () => reject(aborted(signal)))),
        ])`,
  ),
  one(
    'compacted-into-incoming',
    'what is on hold stays there when it is moved together',
    'admin/verbs/compaction.js',
    "const order = { kind: 'move', lane: 'hold', changes: {} };",
    "const order = { kind: 'move', lane: 'incoming', changes: {} };",
  ),
  one(
    'attempted-while-the-disk-hangs',
    'no attempt begins while a synced write has been under way for longer than proofMs',
    'engine/deliver/attempt-gate.js',
    '- sinceMs <= options.proofMs',
    '- sinceMs <= Infinity',
  ),
  one(
    'attempted-without-proof',
    'no attempt begins while it is not proven that the life owns the queue',
    'engine/deliver/attempt-gate.js',
    'this.#isInTime && isProven',
    'this.#isInTime',
  ),
  one(
    'attempted-while-drained',
    'no attempt begins in a life that is being drained',
    'engine/deliver/drain.js',
    'dispatch.gate.close();',
    ';',
  ),
  one(
    'drained-while-under-way',
    'a life is drained when no attempt is under way',
    'engine/deliver/drain.js',
    'await dispatch.whenStill();',
    ';',
  ),
  one(
    'drained-before-durable',
    'a life is drained when its outcomes are durable',
    'engine/deliver/drain.js',
    'await allDurable();',
    ';',
  ),
  one(
    'attempted-before-its-start-is-durable',
    'the first attempt on a message of an earlier life waits until its start is durable',
    'engine/deliver/start-barrier.js',
    'if (at < journal.durableEnd)',
    'if (true)',
  ),
  one(
    'attempts-not-counted-at-once',
    'the first attempt on a message that a recovery found waits until its note is durable',
    'engine/deliver/start-barrier.js',
    'return message.attemptNote;',
    'return nowhere;',
  ),
  one(
    'suspects-attempted-together',
    'messages that recoveries found again and again are attempted one at a time',
    'engine/deliver/poison-suspects.js',
    'if (message.recoveries < Math.min(',
    'if (true || message.recoveries < Math.min(',
  ),
]
