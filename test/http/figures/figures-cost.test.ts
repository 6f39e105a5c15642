/** What is counted whether somebody watches or not. */
import { expect, test } from 'vitest'
import { Figures } from '../../../src/http/figures/figures.js'
import type { Queue, StatsOptions } from '../../../src/index.js'
import { heldClock } from '../../held-clock.js'
import { simulated } from '../../engine/stage.js'

test('counting asks for the few destinations that it looks at, until somebody watches', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    const asked: (StatsOptions['destinations'] | 'nothing')[] = []
    const watched: Pick<Queue, 'stats' | 'room' | 'isCrashed' | 'on' | 'off' | 'destinations'> = {
      isCrashed: false,
      stats: (options) => {
        asked.push(options?.destinations ?? 'nothing')
        return queue.stats(options)
      },
      room: () => queue.room(),
      on: queue.on.bind(queue) as Queue['on'],
      off: queue.off.bind(queue) as Queue['off'],
      destinations: () => queue.destinations(),
    }
    const clock = heldClock()
    const figures = new Figures(watched, { clock, version: '1', hostname: 'mail.example.org' })
    for (let second = 0; second < 3; second++) clock.advance(1000)
    expect(asked).toEqual(['none', 'busy', 'busy', 'busy'])
    figures.snapshot()
    expect(asked.slice(4)).toEqual(['nothing'])
    await figures.end()
  })
})
