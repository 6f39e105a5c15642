/** Listeners run in the engine's turn and may use the queue in it. */
import { expect, test } from 'vitest'
import type { NumberedOperation } from '../../src/sim/sim-disk.js'
import { codeOf, mail, simulated, submission } from './stage.js'

const large = mail('A line of a message that fills a batch.\r\n'.repeat(90))

test('mail that is submitted by who hears of a report does not come between the report and the end of its message', async () => {
  let reportedCount = 0
  for (let at = 1; at <= 12; at++) {
    let look = (): void => undefined
    const after = ({ operation }: NumberedOperation): void => {
      if (operation.kind === 'writeSynced') look()
    }
    await simulated(
      async (stage) => {
        const queue = await stage.open({ deliver: false })
        const { id } = await queue.submit(submission())
        const submitted: Promise<string>[] = []
        queue.on('reported', () => {
          for (let i = 0; i < 8; i++) submitted.push(codeOf(queue.submit(submission('b@example.net', large))))
        })
        let writeCount = 0
        look = () => void (++writeCount === at && queue.crash())
        await codeOf(queue.expire({ all: true }))
        await Promise.all(submitted)
        await stage.open({ deliver: false })
        const ids = await stage.ids()
        const isReported = ids.includes(`${id}-1`)
        if (isReported) reportedCount++
        expect([at, ids.includes(id)]).toEqual([at, !isReported])
        expect(stage.crashes.filter((error) => error !== undefined)).toEqual([])
      },
      { disk: { observer: { after } } },
    )
  }
  expect(reportedCount).toBeGreaterThan(0)
})
