import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { numberedMail, numberOf, withoutReceived, type NumberedMail } from './mail.js'
import { argsOf, RelayProcess } from './relay-process.js'
import { trafficUnderKills } from './traffic.js'

const seed = Number(process.env['WAYBILL_SEED'] ?? 1)
const mailboxCount = 10

let directory: string
let relay: RelayProcess
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'waybill-maildir-kill-'))
  const options = { queue: join(directory, 'queue'), maildir: join(directory, 'mail'), retry: '1s' }
  relay = new RelayProcess(argsOf({ ...options, 'log-level': 'warn' }), {}, { makesQueue: true })
})
afterEach(async () => {
  await relay.kill()
  await rm(directory, { recursive: true, force: true })
})

const mailboxOf = (number: number): string => `box${number % mailboxCount}@example.net`
const mailOf = (number: number): NumberedMail => ({
  ...numberedMail(seed, number, []),
  recipients: [mailboxOf(number)],
})

/** What stands in all mailboxes: the messages of each number. */
async function found(): Promise<Map<number, Buffer[]>> {
  const messages = new Map<number, Buffer[]>()
  for (let i = 0; i < mailboxCount; i++) {
    const path = join(directory, 'mail', mailboxOf(i), 'new')
    for (const name of await readdir(path)) {
      const data = await readFile(join(path, name))
      const number = numberOf(data) ?? -1
      messages.set(number, [...(messages.get(number) ?? []), data])
    }
  }
  return messages
}

/** Below Return-Path, Delivered-To and Received. */
const original = (data: Buffer): Buffer | undefined =>
  withoutReceived(data.subarray(data.indexOf('\r\nReceived: ') + 2))

test('a Maildir has every message that got 250 exactly once, although the relay is killed eight times', async () => {
  const scenario = { seed, settledCount: 600, sessionCount: 20, killCount: 8, lifeMsMax: 700 }
  const { settled, sent } = await trafficUnderKills(relay, scenario, mailOf, () => 0)
  await expect.poll(async () => missing(settled, await found()), { interval: 500 }).toEqual([])
  const messages = await found()
  const wrong = [...messages].filter(
    ([number, copies]) =>
      copies.length !== 1 ||
      original(copies[0] ?? Buffer.alloc(0))?.equals(sent.get(number)?.data ?? Buffer.alloc(0)) !== true,
  )
  expect(
    wrong.map(([number, copies]) => `${number}: ${copies.length} copies`),
    `seed=${seed}`,
  ).toEqual([])
}, 120_000)

const missing = (
  settled: ReadonlyMap<number, NumberedMail>,
  messages: ReadonlyMap<number, unknown>,
): number[] => [...settled.keys()].filter((number) => !messages.has(number)).slice(0, 10)
