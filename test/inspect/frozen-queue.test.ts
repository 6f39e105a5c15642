import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openQueue } from '../../src/index.js'
import { fixtureQueue, type Fixture } from './fixture-queue.js'
import { frozenQueue } from './frozen-queue.js'
import { stateOf } from './inspected-state.js'

const queues = async (state: Fixture): Promise<string[]> =>
  (await stateOf(state))!.text.split('\n').map((line) => line.split(' ')[0]!)

test('a queue written by the first release is read: mail of every kind is found in it', async () => {
  const found = await queues(frozenQueue())
  const counts = Object.fromEntries(
    ['incoming', 'active', 'deferred', 'hold'].map((name) => [
      name,
      found.filter((queue) => queue === name).length,
    ]),
  )
  expect(counts).toEqual({ incoming: 7, active: 8, deferred: 19, hold: 3 })
})

test('the queue that is frozen is one that the engine still makes', async () => {
  expect(await queues(await fixtureQueue())).toEqual(await queues(frozenQueue()))
})

test('a queue of format 1 is opened: its mail is there, and goes on beside new mail through the next start', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-format-1-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const { files, directories } = frozenQueue()
  for (const name of directories) mkdirSync(join(directory, name), { recursive: true })
  for (const [name, bytes] of files) writeFileSync(join(directory, name), bytes)
  const before = (await queues(frozenQueue())).length
  const counts: number[] = []
  for (let life = 0; life < 2; life++) {
    const queue = await openQueue(directory, {
      transports: { never: { deliver: () => new Promise(() => undefined) } },
      route: () => ({ transport: 'never', nexthop: 'example.net' }),
    })
    onTestFinished(() => queue.crash())
    await queue.submit({ sender: 's@example.org', recipients: ['r@example.net'], data: 'x\r\n' })
    let count = 0
    for await (const _message of queue.list()) count++
    counts.push(count)
    queue.crash()
  }
  expect(counts).toEqual([before + 1, before + 2])
})
