/** A queue of deferred mail, made by `waybill fill`. */
import { execFile } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { waybillPath } from '../machine.js'
import { Life } from './life.js'

/** Long enough ago that nothing that `fill` makes is due. */
export const setBackMs: number = 4 * 3_600_000

export interface FilledQueue {
  readonly count: number
  readonly directory: string
  /** When its next message is due, milliseconds since 1970. */
  readonly dueAtMs: number
}

/** @param directory where there is none yet */
export async function fill(directory: string, count: number): Promise<FilledQueue> {
  const args = [waybillPath(), 'fill', '--queue', directory, '--count', String(count)]
  await promisify(execFile)(process.execPath, args)
  // The first mail of `fill`, a moment after it has looked at its clock.
  return { count, directory, dueAtMs: statSync(join(directory, 'queue.json')).mtimeMs }
}

/** A life whose clock is set back: no deferred mail is due. */
export const openedQuietly = ({ directory, dueAtMs }: FilledQueue): Promise<Life> =>
  Life.open({ directory, wallAtMs: dueAtMs - setBackMs, isDue: false })
