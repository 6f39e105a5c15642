/** What the history finds of mail that has ended, in the same life and in later ones. */
import { WaybillError } from '../../src/errors.js'
import type { SimClock } from '../../src/sim/world/world.js'
import { expect, test } from 'vitest'
import type { HistoryEntry, HistorySelector } from '../../src/history/history-entry.js'
import { historyDirectory } from '../../src/history/history-files.js'
import type { OpenOptions } from '../../src/queue.js'
import {
  codeOf,
  delivered,
  failed,
  pause,
  simulated,
  stages,
  submission,
  type Stage,
} from '../engine/stage.js'

const withHistory = (history: OpenOptions['history'] = {}): Partial<OpenOptions> => ({ history })

const kindsOf = (entries: readonly HistoryEntry[]): string[] => entries.map(({ kind }) => kind)

const found = async (stage: Stage, selector: HistorySelector): Promise<readonly HistoryEntry[]> =>
  (await stage.queue.history(selector)).entries

/** Waits until the end of a message is in the history. */
const ended = (stage: Stage, id: string): Promise<void> =>
  stage.until('the end is in the history', async () =>
    kindsOf(await found(stage, { id })).includes('finished'),
  )

const filesOf = (stage: Stage): string[] =>
  stage.disk!.image.files().filter((path) => path.startsWith(historyDirectory))

const small = 'Message-ID: <one@example.org>\r\n\r\nhello\r\n'
const large = `Message-ID: <large@example.org>\r\n\r\n${'x'.repeat(70)}\r\n`.repeat(200)

test.each(stages)('%s: ended mail is found by id, Message-ID, recipient and tag', async (_, run) => {
  await run(async (stage) => {
    stage.answer = (recipient) => (recipient.startsWith('no') ? failed : delivered)
    await stage.open({ ...withHistory(), inlineBytesMax: 4096 })
    await stage.until('outcomes are kept', () => stage.queue.consumers().length === 1)
    const { id } = await stage.queue.submit({
      ...submission(['Ada@Example.net', 'no@example.net'], small),
      tags: ['news'],
    })
    const { id: second } = await stage.queue.submit(submission(['other@example.net'], large))
    await ended(stage, id)
    await ended(stage, second)
    expect(await stage.isEmpty()).toBe(true)
    const all = ['accepted', 'delivered', 'failed', 'finished', 'reported']
    expect(kindsOf(await found(stage, { id: id.toLowerCase() })).sort()).toEqual(all)
    expect(kindsOf(await found(stage, { tag: 'news' })).sort()).toEqual(all.slice(0, 4))
    expect(kindsOf(await found(stage, { recipient: 'ada@example.NET' }))).toEqual(['accepted', 'delivered'])
    for (const messageId of ['one@example.org', '<one@example.org>'])
      expect((await found(stage, { messageId })).map((entry) => entry.id)).toEqual([id])
    expect((await found(stage, { messageId: 'large@example.org' })).map((entry) => entry.id)).toEqual([
      second,
    ])
    expect(await found(stage, { recipient: 'nobody@example.net' })).toEqual([])
    await stage.open()
    expect(kindsOf(await found(stage, { id })).sort()).toEqual(all)
  })
})

test('pages are in order, and an entry that was written again is found once', async () => {
  await simulated(async (stage) => {
    const ids: string[] = []
    for (let life = 0; life < 4; life++) {
      await stage.open(withHistory())
      await stage.until('outcomes are kept', () => stage.queue.consumers().length === 1)
      for (let count = 0; count < 5; count++)
        ids.push((await stage.queue.submit({ ...submission(['a@b.test']), tags: ['it'] })).id)
      await ended(stage, ids.at(-1)!)
    }
    const entries: HistoryEntry[] = []
    let after: string | undefined
    let pageCount = 0
    do {
      const page = await stage.queue.history({ tag: 'it' }, { max: 7, after })
      entries.push(...page.entries)
      after = page.next
      pageCount++
    } while (after !== undefined)
    expect(pageCount).toBe(9)
    const numbers = entries.map(({ number }) => number)
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b))
    for (const kind of ['accepted', 'delivered', 'finished'])
      expect(new Set(entries.flatMap((entry) => (entry.kind === kind ? entry.id : [])))).toEqual(new Set(ids))
  })
})

test('lives that end before their next checkpoint write few outcomes again', async () => {
  await simulated(async (stage) => {
    const lives = 5
    let lineCount = 0
    for (let life = 0; life < lives; life++) {
      await stage.open({ ...withHistory(), checkpointIntervalMs: 600_000 })
      await stage.until('outcomes are kept', () => stage.queue.consumers().length === 1)
      const { id } = await stage.queue.submit(submission(['a@b.test']))
      await ended(stage, id)
      await stage.queue.idle()
    }
    for (const path of filesOf(stage).filter((name) => name.endsWith('.jsonl')))
      lineCount += stage.disk!.image.bytes(path).toString().match(/^\{/gm)?.length ?? 0
    const outcomeCount = stage.queue.consumers()[0]!.last
    expect(outcomeCount).toBe(3 * lives)
    expect(lineCount).toBeLessThanOrEqual(2 * outcomeCount)
  })
})

test('files go when they are too old, whole, and the log keeps nothing for a history that ended', async () => {
  await simulated(async (stage) => {
    await stage.open(withHistory({ retentionMs: 3_600_000 }))
    await stage.until('outcomes are kept', () => stage.queue.consumers().length === 1)
    const { id } = await stage.queue.submit(submission(['a@b.test']))
    await ended(stage, id)
    expect(filesOf(stage)).toHaveLength(1)
    await pause(stage, 4 * 3_600_000)
    expect(filesOf(stage)).toEqual([])
    expect(await found(stage, { id })).toEqual([])
    const { id: later } = await stage.queue.submit(submission(['a@b.test']))
    await ended(stage, later)
    await stage.open()
    await stage.until('nobody consumes', () => stage.queue.consumers().length === 0)
    expect(kindsOf(await found(stage, { id: later }))).toEqual(['accepted', 'delivered', 'finished'])
  })
})

const hourMs = 3_600_000
const yearMs = 365 * 24 * hourMs
const step = (stage: Stage, ms: number): void => (stage.clock as SimClock).stepWall(ms)

const sent = async (stage: Stage): Promise<string> => {
  const { id } = await stage.queue.submit(submission(['a@b.test']))
  await ended(stage, id)
  return id
}

test.each([
  ['that is set ahead', false],
  ['that is ahead at a start', true],
])('a clock %s makes no entry old, and files that it named end with others', async (_, atStart) => {
  await simulated(async (stage) => {
    await stage.open(withHistory({ retentionMs: 3 * hourMs }))
    await stage.until('outcomes are kept', () => stage.queue.consumers().length === 1)
    const id = await sent(stage)
    if (atStart) stage.queue.crash()
    step(stage, yearMs)
    if (atStart) await stage.open(withHistory({ retentionMs: 3 * hourMs }))
    const ahead = await sent(stage)
    await pause(stage, 2 * hourMs)
    expect(kindsOf(await found(stage, { id }))).toContain('finished')
    step(stage, -yearMs)
    const right = await sent(stage)
    await pause(stage, 2 * hourMs)
    expect(kindsOf(await found(stage, { id: right }))).toContain('finished')
    await pause(stage, 6 * hourMs)
    for (const gone of [id, ahead, right]) expect(await found(stage, { id: gone })).toEqual([])
    expect(filesOf(stage)).toEqual([])
  })
})

test('an index whose lines a crash has left out is removed', async () => {
  await simulated(async (stage) => {
    await stage.open(withHistory())
    await stage.until('outcomes are kept', () => stage.queue.consumers().length === 1)
    await sent(stage)
    await pause(stage, 2 * hourMs)
    const [lines, index] = filesOf(stage).toSorted()
    expect(index).toMatch(/\.keys$/)
    await stage.disk!.unlink(lines!)
    await stage.open(withHistory())
    await sent(stage)
    expect(filesOf(stage)).toEqual([expect.stringMatching(/\.jsonl$/)])
  })
})

test('a disk without room for the history delays no mail; the history goes on when there is some', async () => {
  await simulated(async (stage) => {
    await stage.open(withHistory())
    await stage.until('outcomes are kept', () => stage.queue.consumers().length === 1)
    const open = stage.disk!.open.bind(stage.disk)
    let isFull = true
    stage.disk!.open = (path, mode) =>
      isFull && path.startsWith(historyDirectory) && mode === 'create'
        ? Promise.reject(new WaybillError('DISK_FULL', 'no room'))
        : open(path, mode)
    const { id } = await stage.queue.submit(submission(['a@b.test']))
    await stage.until('it is delivered', () => stage.isEmpty())
    await stage.until('a warning comes', () => stage.warnings.includes('DISK_FULL'))
    expect(await found(stage, { id })).toEqual([])
    isFull = false
    await pause(stage, 61_000)
    await ended(stage, id)
  })
})

test.each([{}, { id: 'X', tag: 'y' }, { sender: 'a@b' }, { tag: '' }])(
  'a selector is one thing: %j',
  async (selector) => {
    await simulated(async (stage) => {
      await stage.open()
      expect(await codeOf(stage.queue.history(selector as HistorySelector))).toBe('OPTION_INVALID')
      expect(await codeOf(stage.queue.history({ id: 'X' }, { after: 'y' }))).toBe('OPTION_INVALID')
    })
  },
)
