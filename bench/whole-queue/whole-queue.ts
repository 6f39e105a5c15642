/** Work on a whole queue of 10^N deferred messages: every command that reads it, and a verb.
 * The verb acts on a part of it, alone and beside workload Q. `--to N`; 10^7 take 13 GB. */
import { join } from 'node:path'
import type { BenchArguments } from '../bench.js'
import type { Row } from '../output.js'
import { commandRows } from './commands.js'
import { commandsTitle, deletionsTitle } from './figures.js'
import { fill, openedQuietly, setBackMs, type FilledQueue } from '../scale/filled-queue.js'

const exponentDefault = 6
const producerCount = 100

export async function run({ output, directory, smoke, to = exponentDefault }: BenchArguments): Promise<void> {
  const queue = await fill(join(directory, 'queue'), smoke ? 1000 : 10 ** to)
  output.table(commandsTitle, await commandRows(queue.count, queue.directory))
  output.table(deletionsTitle, await deletionRows(queue))
}

/** Of what `fill` makes an eighth is older than a day, and a twelfth between these. */
const deletedHours = [24, 14]

/** Alone, then beside workload Q. */
async function deletionRows(queue: FilledQueue): Promise<Row[]> {
  const life = await openedQuietly(queue)
  const rows: Row[] = []
  for (const [i, hours] of deletedHours.entries()) {
    const olderThanMs = hours * 3_600_000 - setBackMs
    const deleted = await life.delete({ olderThanMs, producerCount: i * producerCount })
    const { messageCount, durationMs, rateBefore, rateBeside } = deleted
    rows.push({
      deferred: queue.count,
      producers: i * producerCount,
      deleted: messageCount,
      ms: durationMs,
      'lives/s before': i === 0 ? null : rateBefore,
      'lives/s meanwhile': i === 0 ? null : rateBeside,
    })
  }
  await life.kill()
  return rows
}
