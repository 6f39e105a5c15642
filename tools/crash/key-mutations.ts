/** Guarantees of idempotency keys: a key is durable as long as it is remembered. */
import { one, type Mutation } from './mutation.js'

export const keyMutations: readonly Mutation[] = [
  one(
    'keys-hold-no-suffix',
    'the suffix begins no later than the first envelope whose key has no record',
    'engine/checkpoint/capture.js',
    'journal.end, captured.from,',
    'journal.end,',
  ),
  one(
    'keys-not-synced',
    'a checkpoint names only keys that are durable',
    'engine/checkpoint/checkpointer.js',
    'await log.sync();',
    'void 0;',
  ),
  one(
    'keys-of-suffix-forgotten',
    'recovery takes over the keys of envelopes in the suffix',
    'recovery/read-suffix.js',
    'keyed.push({ key, id, acceptedAt, envelope: position });',
    'void 0;',
  ),
  one(
    'key-directory-not-synced',
    'the name of the log of keys is durable before a checkpoint names it',
    'engine/side-logs/side-log.js',
    "await disk.syncDirectory('');",
    '',
  ),
  one(
    'recorded-keys-forgotten',
    'a start reads the log of keys',
    'engine/keys/known-keys.js',
    'this.#readRecord(window, at, place)',
    'undefined',
  ),
]
