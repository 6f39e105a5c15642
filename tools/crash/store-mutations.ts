/** Guarantees of a queue in a store. What PostgreSQL gives is taken away from the simulated
 * server. */
import { one, type Mutation } from './mutation.js'

export const storeMutations: readonly Mutation[] = [
  one(
    'fence-not-held',
    'a change locks the fence so that a claim waits for it, and it for a claim',
    'sim/store/sim-server.js',
    "(a.kind === 'alone' || b.kind === 'alone');",
    "(a.kind === 'alone' && b.kind === 'alone');",
  ),
  one(
    'names-not-fenced',
    'a claim fences both parts of a queue',
    'sim/store/sim-server.js',
    '!this.#visible.holds(lock, lock.part)',
    '(lock.part === 0 && !this.#visible.holds(lock, lock.part))',
  ),
  one(
    'names-asynchronous',
    'no change is answered before a standby has it',
    'sim/store/sim-server.js',
    'this.#log.push(transaction);',
    `this.#log.push(transaction);
        if (lock.kind === 'shared' && lock.part === 1) {
            this.#show(transaction);
            reply(answer);
        }`,
  ),
  one(
    'warning-taken-for-success',
    'a commit whose wait for the standby was cancelled is no success',
    'sim/store/sim-server.js',
    "transaction.reply('cancelled');",
    'transaction.reply(transaction.answer);',
  ),
  one(
    'looked-up-before-the-resume',
    'what became of a change is asked behind the resume',
    'store/writer.js',
    "isUnknown = answer.kind === 'unknown';",
    `isUnknown = answer.kind === 'unknown';
            if (isUnknown) {
                const early = await lookUp(tenure, works);
                if (early.kind === 'done') {
                    if (early.value !== undefined) return settle(works, early.value);
                    isUnknown = false;
                }
            }`,
  ),
  one(
    'sent-again-without-a-look',
    'a change whose answer was lost is looked up before it is sent again',
    'store/writer.js',
    'if (isUnknown) {',
    'if (isUnknown && false) {',
  ),
  one(
    'resumed-without-an-epoch',
    'a resume raises the epoch, so that what was in flight happens no more',
    'sim/store/database.js',
    'part.epoch++;',
    ';',
  ),
  one(
    'resumed-by-anybody',
    'a life resumes only the queue that bears its nonce',
    'sim/store/database.js',
    'fences.some((part) => part.nonce !== nonce)',
    'false',
  ),
  {
    name: 'late-resume-taken-for-a-loss',
    rule: 'a change that is fenced asks by its nonce whether the queue is lost',
    edits: [
      {
        file: 'store/writer.js',
        find: " && answer.refusal.kind !== 'fenced' ?",
        replace: ' ?',
      },
      {
        file: 'store/lease.js',
        find: "standing.kind === 'done' && standing.value.epoch === fence.epoch",
        replace: 'true',
      },
    ],
  },
  one(
    'connections-to-two-servers',
    'all connections of an owner are to one server',
    'store/lease.js',
    'timeline === beat.timeline',
    'timeline > 0',
  ),
  one(
    'change-not-numbered',
    'a change of names is known by its number when its answer was lost',
    'store/writer.js',
    'numbers.includes(last.value)',
    'numbers.includes(-1)',
  ),
  one(
    'together-known-by-the-first',
    'of changes that were asked together the last one is the number that is kept',
    'store/writer.js',
    'numbers.includes(last.value)',
    'numbers[0] === last.value',
  ),
  one(
    'made-file-not-found',
    'a file whose making was not answered is found by its name',
    'store/writer.js',
    'file?.value?.file ?? 0',
    '0',
  ),
  one(
    'proof-for-ever',
    'a proof of ownership expires',
    'store/ownership-proof.js',
    'this.ageMs < this.#proofMs',
    'this.ageMs < Infinity',
  ),
]
