/** `qshape -N` on a terminal: the table so far behind each so many messages, then all of it. */
import { expect, test } from 'vitest'
import { parseArguments } from '../../../tools/commands/cli/command.js'
import { qshape } from '../../../tools/commands/look/qshape.js'
import { frozenQueue } from '../../inspect/frozen-queue.js'
import { MemoryDisk } from '../../inspect/memory-disk.js'

const { files, directories, nowMs } = frozenQueue()
const clearScreen = '\x1b[H\x1b[J'

async function onTerminal(...args: string[]): Promise<string[]> {
  let stdout = ''
  await qshape.runIn(parseArguments(qshape, args), {
    write: async (text) => void (stdout += text),
    complain: () => undefined,
    nowMs: () => nowMs,
    isTerminal: true,
    complainsToTerminal: false,
    openDisk: () => new MemoryDisk(files, directories),
    stopped: AbortSignal.abort(),
  })
  return stdout.split(clearScreen)
}

const totalIn = (table: string): number => Number(/TOTAL\s+(\d+)/.exec(table)![1])

const lanes = ['deferred', 'hold', 'active']

test('by sender each message is one step', async () => {
  const [all] = await onTerminal('-s', ...lanes)
  const [nothing, ...tables] = await onTerminal('-s', '-N', '3', ...lanes)
  expect(nothing).toBe('')
  expect(tables.at(-1)).toBe(all)
  const steps = tables.slice(0, -1)
  expect(steps.map(totalIn)).toEqual(steps.map((_, i) => 3 * (i + 1)))
  expect(steps).toHaveLength(Math.floor(totalIn(all!) / 3))
  expect(steps.length).toBeGreaterThan(3)
})

test('by recipient all of a message are counted in one step', async () => {
  const messageCount = totalIn((await onTerminal('-s', ...lanes))[0]!)
  const [all] = await onTerminal(...lanes)
  const [nothing, ...tables] = await onTerminal('-N', '1', ...lanes)
  expect(nothing).toBe('')
  expect(tables).toHaveLength(messageCount + 1)
  expect(tables.slice(-2)).toEqual([all, all])
})

test('what is not counted makes no step', async () => {
  const [, ...tables] = await onTerminal('-N', '1000', 'deferred')
  expect(tables).toEqual([])
})
