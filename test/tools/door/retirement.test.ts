/** What a drained relay answers. */
import { Readable } from 'node:stream'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { Retirement } from '../../../tools/commands/door/retirement.js'
import { codeOf, simulated, submission } from '../../engine/stage.js'

test('a drained relay refuses mail, and answers for a known idempotency key as before', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    const retirement = new Retirement(pino({ level: 'silent' }))
    const door = retirement.door(queue)
    const keyed = { ...submission(), idempotencyKey: 'k' }
    const { id } = await door.submit(keyed)
    await retirement.retire()
    const data = Readable.from(['one line\r\n'])
    expect(await door.submit({ ...keyed, data })).toEqual({ id, isDuplicate: true })
    expect(data.destroyed).toBe(true)
    expect(await codeOf(door.submit(submission()))).toBe('QUEUE_DRAINING')
    expect(await codeOf(door.submit({ ...submission(), idempotencyKey: 'new' }))).toBe('QUEUE_DRAINING')
    await queue.idle()
    expect(stage.attempts.map((attempt) => attempt.id)).toEqual([id])
  })
})
