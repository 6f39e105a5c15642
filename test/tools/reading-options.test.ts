/** Each option of a reading command does what its help says, on the frozen queue. */
import { expect, test } from 'vitest'
import { complainOf, type InspectCommand } from '../../tools/commands/look/inspection.js'
import { mailq } from '../../tools/commands/look/mailq.js'
import { processSurroundings } from '../../tools/commands/text/output.js'
import { qshape } from '../../tools/commands/look/qshape.js'
import { command, type Commanded } from '../inspect/commanded.js'
import { frozenQueue } from '../inspect/frozen-queue.js'
import { MemoryDisk } from '../inspect/memory-disk.js'

const { files, directories, nowMs } = frozenQueue()

const say = (inspect: InspectCommand, args: readonly string[]): Promise<Commanded> =>
  command(inspect, args, () => new MemoryDisk(files, directories), nowMs)

interface Listed {
  readonly queue_id: string
  readonly queue_name: string
  readonly sender: string
  readonly arrival_time: number
  readonly lane: number
  readonly recipients: readonly { readonly address: string }[]
}

const listed = async (...args: string[]): Promise<Listed[]> =>
  (await say(mailq, ['--json', ...args])).stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Listed)

const all = await listed()
const middleSeconds = all.map((message) => message.arrival_time).sort((a, b) => a - b)[all.length >> 1]!
const goesTo = ({ recipients }: Listed, wanted: RegExp): boolean =>
  recipients.some(({ address }) => wanted.test(address))

test.each<[args: string[], means: (message: Listed) => boolean]>([
  [['--sender', '<>'], ({ sender }) => sender === 'MAILER-DAEMON'],
  [['--sender', 'sender1@from.example'], ({ sender }) => sender === 'sender1@from.example'],
  [['--recipient', 'r7@later.example'], (message) => goesTo(message, /^r7@later\.example$/)],
  [['--domain', 'FULL.example.'], (message) => goesTo(message, /@full\.example$/)],
  [['--lane', '3'], ({ lane }) => lane === 3],
  [['--lane', 'hold'], ({ queue_name }) => queue_name === 'hold'],
  [
    ['--lane', 'active', '--domain', 'slow.example'],
    (message) => message.queue_name === 'active' && goesTo(message, /@slow/),
  ],
  [
    ['--older-than', `${Math.round(nowMs - 1000 * middleSeconds)}ms`],
    (message) => message.arrival_time <= middleSeconds,
  ],
])('mailq %j lists those messages and no other', async (args, means) => {
  const expected = all.filter(means)
  expect(expected.length).toBeGreaterThan(0)
  expect(expected.length).toBeLessThan(all.length)
  expect(await listed(...args)).toEqual(expected)
})

const shape = async (...args: string[]): Promise<string[]> =>
  (await say(qshape, [...args, 'deferred', 'hold'])).stdout.trimEnd().split('\n')

test('qshape -n shows the largest domains, below the total of all', async () => {
  const whole = await shape()
  expect(whole.length).toBeGreaterThan(3)
  expect(await shape('-n', '1')).toEqual(whole.slice(0, 3))
})

test('qshape -w makes lines so long, and of a domain for which there is no room the end is shown', async () => {
  const lines = await shape('-w', '100', '-b', '2')
  expect(new Set(lines.map(({ length }) => length))).toEqual(new Set([100]))
  const narrow = await shape('-w', '1', '-s', '-b', '2')
  expect(narrow[1]).toMatch(/^ {13}TOTAL +\d/)
})

test.each([
  [10, []],
  [12, ['damage: 2 more']],
])(
  'of %d damages a listing shows ten, how many there are more, and where to go from there',
  (count, more) => {
    let said = ''
    const surroundings = { ...processSurroundings(), complain: (text: string) => void (said += text) }
    const findings = Array.from({ length: count }, (_, i) => ({
      log: `file ${i}`,
      bytes: 0,
      reason: 'is gone',
      lost: 'it',
    }))
    complainOf({ findings, path: '/q', surroundings: { ...surroundings, complainsToTerminal: false } })
    const lines = said.trimEnd().split('\n')
    expect(lines.slice(0, 10)).toEqual(
      findings.slice(0, 10).map(({ log }) => `damage: ${log}: is gone; lost: it`),
    )
    expect(lines.slice(10)).toEqual([
      ...more,
      expect.stringMatching(/^waybill: `waybill log verify --queue \/q`/),
    ])
  },
)
