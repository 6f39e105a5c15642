import { expect, test, vi } from 'vitest'
import { RoomTurns, type Append } from '../../../src/engine/accept/room-turns.js'
import type { MessageId } from '../../../src/base/message-id.js'
import { WaybillError } from '../../../src/errors.js'
import { Journal } from '../../../src/log/journal.js'
import { codeOf, simulated, submission } from '../stage.js'

/** Turns of mail that is appended while there is room, each for `bytes`. */
function turnsWith(): {
  readonly turns: RoomTurns
  readonly disk: { roomBytes: number; isFull: boolean }
  readonly looked: string[]
  readonly appended: string[]
  readonly wait: (name: string, bytes: number, signal?: AbortSignal) => Promise<string>
} {
  const turns = new RoomTurns()
  const disk = { roomBytes: 0, isFull: false }
  const looked: string[] = []
  const appended: string[] = []
  const wait = (name: string, bytes: number, signal?: AbortSignal): Promise<string> => {
    const append: Append = () => {
      looked.push(name)
      if (disk.isFull) throw new WaybillError('DISK_FULL', 'no room')
      if (disk.roomBytes < bytes) return undefined
      disk.roomBytes -= bytes
      appended.push(name)
      return Promise.resolve({ id: name as MessageId })
    }
    return codeOf(turns.wait(append, signal))
  }
  return { turns, disk, looked, appended, wait }
}

test('submissions that wait for room are appended in turn, and none is looked at behind one that has to wait on', async () => {
  const { turns, disk, looked, appended, wait } = turnsWith()
  const all = [wait('one', 10), wait('large', 50), wait('small', 1)]
  expect(turns.isFree).toBe(false)
  disk.roomBytes = 20
  turns.look()
  expect([looked, appended]).toEqual([['one', 'large'], ['one']])
  disk.roomBytes = 60
  turns.look()
  expect(appended).toEqual(['one', 'large', 'small'])
  expect(turns.isFree).toBe(true)
  expect(await Promise.all(all)).toEqual(['accepted', 'accepted', 'accepted'])
})

test('a submission that is given up or refused is rejected, and keeps none behind it', async () => {
  const { turns, disk, appended, wait } = turnsWith()
  const abort = new AbortController()
  const gone = wait('gone', 50, abort.signal)
  const next = wait('next', 1)
  disk.roomBytes = 1
  turns.look()
  abort.abort()
  expect(await gone).toBe('SUBMIT_ABORTED')
  expect(await next).toBe('accepted')
  disk.isFull = true
  const refused = [wait('a', 1), wait('b', 1)]
  turns.look()
  expect(await Promise.all(refused)).toEqual(['DISK_FULL', 'DISK_FULL'])
  expect([appended, turns.isFree]).toEqual([['next'], true])
})

test('thousands that are submitted at once are looked at when room has come for them, not all of them at each sync', async () => {
  await simulated(
    async (stage) => {
      const queue = await stage.open()
      const room = vi.spyOn(Journal.prototype, 'room')
      const order: number[] = []
      const submit = async (n: number): Promise<void> => {
        await queue.submit(submission(`r${n}@example.net`))
        order.push(n)
      }
      await Promise.all(Array.from({ length: 3000 }, (_, n) => submit(n)))
      expect(room.mock.calls.length).toBeLessThan(4 * 3000)
      expect(order).toEqual(Array.from({ length: 3000 }, (_, n) => n))
      room.mockRestore()
    },
    { queue: { deliver: false } },
  )
})
