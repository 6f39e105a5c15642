/** Guarantees of times: mail is not late, and what submitters ask. */
import { one, type Mutation } from './mutation.js'

export const timeMutations: readonly Mutation[] = [
  one(
    'new-mail-wakes-nobody',
    'new mail wakes the runner of incoming',
    'engine/engine.js',
    'onAccepted: () => this.#wakeLater()',
    'onAccepted: () => undefined',
  ),
  one(
    'lane-wakes-late',
    'a runner wakes when the first message of its lane is due',
    'engine/start/intake.js',
    'this.#timer.at(monotonicMs + waitMs, monotonicMs)',
    'this.#timer.at(monotonicMs + 2 * waitMs, monotonicMs)',
  ),
  one(
    'sent-before-its-time',
    'no attempt begins before the time that was asked for',
    'engine/schedule/schedule.js',
    'const isWaiting = !message.hasOutcome && isEarly(terms, wallMs);',
    'const isWaiting = false;',
  ),
  one(
    'terms-lost-in-lane',
    'a replacement has the times and the tags of its message',
    'engine/settle/replacement.js',
    'terms: termsAfter(envelope.terms, warnings > envelope.warnings, changes),',
    'terms: undefined,',
  ),
  one(
    'lane-beyond-its-time',
    'the lane of a message ends before its time',
    'engine/schedule/timed-wait.js',
    'findLast((each) => each <= leftMs - slackMs)',
    'find((each) => each >= leftMs)',
  ),
  one(
    'expiry-waits-for-retry',
    'what expires before its next attempt does not wait for that',
    'engine/settle/decide.js',
    'until: expiresAt > 0 && wallMs + delayMs >= expiresAt ? expiresAt : undefined,',
    'until: undefined,',
  ),
  one(
    'lifetime-of-policy',
    'what has a time at which it expires is not given up before',
    'engine/settle/decide.js',
    "if (expiresAt > 0 && decision.kind === 'expire')",
    'if (false)',
  ),
  one(
    'age-from-acceptance',
    'the lifetime of a message that waited for its time begins then',
    'engine/settle/settle.js',
    'Math.max(message.envelope.acceptedAt, terms?.notBefore ?? 0)',
    'message.envelope.acceptedAt',
  ),
]
