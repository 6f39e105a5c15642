/** Guarantees that matter when a device fails again, in a later life and mostly
 * during its recovery. */
import { one, type Mutation } from './mutation.js'

export const failureMutations: readonly Mutation[] = [
  one(
    'rewrite-fails-unheard',
    'a last batch that cannot be written again ends the start',
    'engine/recover/open-journal.js',
    'await file.write(batch, offsetBytes);',
    'await file.write(batch, offsetBytes).catch(() => undefined);',
  ),
  one(
    'unread-is-forgotten',
    'a message that a recovery cannot read is carried to the next one',
    'engine/recover/recover.js',
    'damaged.push({ working, error: revived });',
    ';',
  ),
]
