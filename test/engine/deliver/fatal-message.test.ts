/** Messages that end each life: they are put on hold alone, after the lives that the option
 * says. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Transport } from '../../../src/delivery/transport.js'
import { codeOf, delivered, pause, simulated, submission, type Stage } from '../stage.js'

const built = new URL('../../../dist/src/index.js', import.meta.url).href

/** A life of a process, in which a delivery to `fatal` is followed by what `end` says. */
const life = (directory: string, end: string, submits: boolean): string => `
  import { openQueue, fixedRetry } from '${built}'
  const queue = await openQueue('${directory}', {
    segmentBytes: 32768, laneSegmentBytes: 32768, freeBytesMin: 0, fruitlessRecoveriesMax: 2,
    retry: fixedRetry([3_600_000]),
    transports: { out: { deliver: async ({ recipients: [recipient] }) => {
      if (recipient.startsWith('fatal')) ${end}
      await new Promise((resolve) => setTimeout(resolve, 100))
      return { kind: 'delivered' }
    } } },
    route: (recipient) => ({ transport: 'out', nexthop: recipient }),
  })
  queue.on('warning', ({ code }) => console.log(code))
  queue.on('delivered', ({ recipients }) => console.log('delivered ' + recipients))
  const recipients = ${submits ? "['fatal@a.test', 'ok@b.test', 'ok@c.test']" : '[]'}
  await Promise.all(recipients.map((to) =>
    queue.submit({ sender: 'ada@example.org', recipients: [to], data: 'x' })))
  await queue.idle()
  console.log('idle')
  process.exit(0)`

test.each([
  ['exits', '{ process.exit(7) }'],
  ['throws in a later tick', "{ setTimeout(() => { throw new Error('a mistake') }) }"],
  ['is killed', "{ process.kill(process.pid, 'SIGKILL') }"],
])('a message in whose attempt the process %s is held, and mail beside it is delivered', (_, end) => {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-fatal-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const lives: string[][] = []
  while (lives.length < 9 && lives.at(-1)?.includes('idle') !== true) {
    const text = life(join(directory, 'queue'), end, lives.length === 0)
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', text], { encoding: 'utf8' })
    lives.push(stdout.trim().split('\n'))
  }
  // Two recoveries found it, the third holds it; the first life had just accepted it.
  expect(lives.length).toBeLessThanOrEqual(5)
  const said = lives.flat()
  expect(said.filter((line) => line === 'MESSAGE_HELD')).toEqual(['MESSAGE_HELD'])
  expect(new Set(said.filter((line) => line.startsWith('delivered')))).toEqual(
    new Set(['delivered ok@b.test', 'delivered ok@c.test']),
  )
})

/** Its attempts never end, and all else is delivered at once. */
const stuck: Transport = {
  deliver: ({ recipients }) =>
    recipients[0]!.startsWith('stuck') ? new Promise<never>(() => undefined) : delivered,
}

async function liveOn(stage: Stage, fruitlessRecoveriesMax: number): Promise<void> {
  await stage.open({ transports: { out: stuck }, fruitlessRecoveriesMax, suffixBytesMax: 4096 })
  await stage.until('recovery ends', () => !stage.queue.stats().recovering)
  await pause(stage, 2500)
}

test('a message that is active for long is counted as one that was started just now', async () => {
  await simulated(async (stage) => {
    await liveOn(stage, 2)
    await stage.queue.submit(submission('stuck@example.net'))
    let lives = 1
    for (; lives < 9 && !stage.warnings.includes('MESSAGE_HELD'); lives++) {
      // Enough to have it carried to a new start.
      for (let i = 0; i < 8; i++) await stage.queue.submit(submission('ok@b.test', 'x\r\n'.repeat(900)))
      await stage.queue.submit(submission('ok@b.test'))
      await pause(stage, 1000)
      await liveOn(stage, 2)
    }
    expect(lives).toBeLessThanOrEqual(5)
  })
})

test('an order for a message that waits for its turn is carried out at once', async () => {
  await simulated(async (stage) => {
    await liveOn(stage, 1000)
    const submitted = await Promise.all(
      [1, 2, 3, 4].map((n) => stage.queue.submit(submission(`stuck@d${n}.test`))),
    )
    for (let n = 0; n < 3; n++) await liveOn(stage, 1000)
    await stage.open({ transports: { out: stuck }, fruitlessRecoveriesMax: 1000 })
    await stage.until('recovery ends', () => !stage.queue.stats().recovering)
    const { id } = submitted[3]!
    expect(await codeOf(stage.queue.hold({ id }))).toBe('accepted')
    const held = []
    for await (const message of stage.queue.list({ lane: 'hold' })) held.push(message.id)
    expect(held).toEqual([id])
  })
})
