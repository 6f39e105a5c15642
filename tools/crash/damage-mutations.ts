/** Guarantees about damage: only what depends on the damaged bytes waits. */
import { one, type Mutation } from './mutation.js'

export const damageMutations: readonly Mutation[] = [
  one(
    'damage-stops-all-lanes',
    'a runner that meets damage stops its lane; the other lanes go on',
    'engine/start/lane-reading.js',
    'lane.damage = error;',
    'for (const other of this.#parts.lanes) other.damage = error;',
  ),
  one(
    'freed-with-the-last-batch',
    'what a checkpoint gives free goes when one more batch is durable',
    'engine/checkpoint/checkpointer.js',
    'await this.#outlive(payload);',
    'void payload;',
  ),
  one(
    'file-goes-with-its-finish',
    'the file of large mail that has ended goes when one more batch is durable',
    'engine/settle/finish.js',
    'await this.#callbacks.outlived();',
    '',
  ),
  one(
    'start-takes-files-at-once',
    'a start lets the files of mail that the last batch has ended go when it has a batch of its own',
    'engine/recover/recover.js',
    'await journal.whenDurable(position(tailEnd + 1));',
    '',
  ),
  one(
    'segment-taken-for-batch',
    'a life that has a segment and no batch in it has put none behind the last one',
    'engine/recover/recovered-state.js',
    'checkpoint.life === tail.begunLife',
    'checkpoint.life === tail.life',
  ),
  one(
    'lane-goes-with-its-checkpoint',
    'the directory of a lane that the last batch has retired goes when a start has a batch of its own',
    'engine/beginning.js',
    'await journal.whenDurable(position(tail.end + 1));',
    ';',
  ),
]
