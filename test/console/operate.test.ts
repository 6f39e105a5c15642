/** What an operator does on the page Destinations, in a real browser before a real relay: a button
 * is judged by what arrives at the site. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openSink, type Sink } from '../end-to-end/sink.js'
import { type RelayProcess, startedRelay } from '../end-to-end/relay-process.js'
import { rawClient, untilData } from '../relay/raw-client.js'
import { hasChromium, launch, openPage } from './browser.js'
import { temporaryDirectory } from '../temporary-directory.js'

let browser: Browser
beforeAll(async () => {
  if (hasChromium) browser = await launch()
})
afterAll(() => browser?.close())

async function sunk(): Promise<Sink> {
  const sink = await openSink()
  onTestFinished(() => sink.close())
  return sink
}

const nexthopOf = ({ host, port }: Sink): string => `${host}:${port}`

interface Stage {
  readonly relay: RelayProcess
  readonly page: Page
  readonly end: () => Promise<void>
}

/** A relay that sends all mail there and retries in an hour, and its page Destinations. */
async function served(nexthop: string): Promise<Stage> {
  const directory = await temporaryDirectory('console')
  const queue = join(directory, 'queue')
  const relay = await startedRelay(['--queue', queue, '--relay', nexthop, '--console', '0', '--retry', '1h'])
  const [, origin = ''] = /^console on (http:\/\/127\.0\.0\.1:\d+)\/$/m.exec(relay.output) ?? []
  const token = (await readFile(join(queue, 'http-token'), 'utf8')).trim()
  const { page, end } = await openPage(browser, origin)
  await page.goto(`${origin}/#token=${token}&/destinations`)
  await page.getByRole('heading', { name: 'Act on any destination' }).waitFor()
  return { relay, page, end }
}

async function send({ relay }: Stage, recipient: string): Promise<void> {
  const client = await rawClient(relay.endpoint.port)
  await untilData(client, [recipient])
  expect(await client.say('Subject: x\r\n\r\nx\r\n.')).toMatch(/^250 /)
  client.destroy()
}

const rowOf = (page: Page, nexthop: string): Locator =>
  page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: nexthop }) })

/** Of the form, for a next hop whether it has a row or not. */
async function act(page: Page, verb: string, nexthop: string): Promise<void> {
  await page.getByLabel('Next hop').fill(nexthop)
  await page
    .getByRole('region', { name: 'Act on any destination' })
    .getByRole('button', { name: verb })
    .click()
}

/** Confirms a verb that was counted. @returns how it ended */
async function confirmed(
  page: Page,
  button: string,
  fields: Readonly<Record<string, string>> = {},
): Promise<string> {
  const dialog = page.locator('dialog')
  const confirm = dialog.getByRole('button', { name: button })
  await confirm.waitFor()
  for (const [label, value] of Object.entries(fields)) await dialog.getByLabel(label).fill(value)
  await confirm.click()
  const text = (await dialog.locator('.result').textContent()) ?? ''
  await dialog.getByRole('button', { name: 'Close' }).click()
  return text.trim().replaceAll(/\s+/g, ' ')
}

const deferredCount = ({ log }: RelayProcess): number => log.split('"msg":"deferred"').length - 1

describe.skipIf(!hasChromium)('destinations in the console', () => {
  test('a site that is suspended gets nothing until it is resumed', async () => {
    const sink = await sunk()
    const nexthop = nexthopOf(sink)
    const stage = await served(nexthop)
    const { page, end } = stage
    await act(page, 'Suspend', nexthop)
    await page
      .getByText(`${nexthop} is suspended until you resume it. Mail for it is kept.`)
      .first()
      .waitFor()
    const row = rowOf(page, nexthop)
    await row.getByText('by an operator').waitFor()
    await send(stage, 'ok-1@example.net')
    await page.waitForTimeout(1500)
    expect(sink.takenCount()).toBe(0)
    // What is suspended is not suspended once more.
    expect(await row.getByRole('button', { name: 'Suspend' }).count()).toBe(0)
    await row.getByRole('button', { name: 'Resume' }).click()
    await page.getByText(`${nexthop} is resumed.`).first().waitFor()
    // Mail that came meanwhile is deferred, and waits for its time or a flush.
    await page.getByRole('button', { name: 'Flush what is deferred …' }).click()
    expect(await confirmed(page, 'Flush 1 message')).toBe('Started 1 message with 1 recipient.')
    await expect.poll(() => sink.takenCount()).toBe(1)
    await send(stage, 'ok-2@example.net')
    await expect.poll(() => sink.takenCount()).toBe(2)
    await end()
  })

  test('a site is slowed to a rate until it is resumed', async () => {
    const sink = await sunk()
    const nexthop = nexthopOf(sink)
    const stage = await served(nexthop)
    const { page, end } = stage
    await page.getByLabel('Deliveries').fill('1')
    await page.getByLabel('each').selectOption('hour')
    await act(page, 'Slow', nexthop)
    await page.getByText(`${nexthop} is slowed to 1 in 1h for 1h, or until you resume it.`).first().waitFor()
    await rowOf(page, nexthop).getByText('slowed by an operator to 1 in 1h').waitFor()
    for (const n of [1, 2]) await send(stage, `ok-${n}@example.net`)
    await page.waitForTimeout(1500)
    expect(sink.takenCount()).toBe(1)
    await rowOf(page, nexthop).getByRole('button', { name: 'Resume' }).click()
    // What waits in memory for its turn needs no flush.
    await expect.poll(() => sink.takenCount()).toBe(2)
    await end()
  })

  test('a suspension for a time says so, and ends when it is resumed by the button beside Flush', async () => {
    const sink = await sunk()
    const nexthop = nexthopOf(sink)
    const stage = await served(nexthop)
    const { relay, page, end } = stage
    await send(stage, 'defer1-1@example.net')
    await expect.poll(() => deferredCount(relay)).toBe(1)
    await page.getByLabel('How long').selectOption('for 2 hours')
    await act(page, 'Suspend', nexthop)
    await rowOf(page, nexthop)
      .getByText(/^suspended, 1h59m$/)
      .waitFor()
    await rowOf(page, nexthop).getByRole('button', { name: 'Resume' }).click()
    // Its row goes, for no mail is being worked on; what is deferred can be flushed all the same.
    await rowOf(page, nexthop).waitFor({ state: 'detached' })
    expect(sink.takenCount()).toBe(0)
    await page.getByRole('button', { name: 'Flush what is deferred …' }).click()
    expect(await confirmed(page, 'Flush 1 message')).toBe('Started 1 message with 1 recipient.')
    await expect.poll(() => sink.takenCount()).toBe(1)
    await end()
  })

  test('deferred mail is flushed at a rate, and rerouted to another site', async () => {
    const [sink, other] = [await sunk(), await sunk()]
    const nexthop = nexthopOf(sink)
    const stage = await served(nexthop)
    const { relay, page, end } = stage
    for (const i of [1, 2, 3]) await send(stage, `defer1-${i}@example.net`)
    await expect.poll(() => deferredCount(relay)).toBe(3)
    await act(page, 'Flush …', '')
    await page.getByText('To flush, name a next hop.').first().waitFor()
    await act(page, 'Flush …', nexthop)
    const beganMs = performance.now()
    expect(await confirmed(page, 'Flush 3 messages', { 'Messages a second': '1' })).toMatch(
      /^Started 3 messages/,
    )
    // Two pauses of a second lie between three messages.
    expect(performance.now() - beganMs).toBeGreaterThan(1500)
    await expect.poll(() => sink.takenCount()).toBe(3)
    await send(stage, 'defer1-4@example.net')
    await expect.poll(() => deferredCount(relay)).toBe(4)
    await act(page, 'Reroute …', nexthop)
    const result = await confirmed(page, 'Reroute 1 message', { 'Next hop': `[${other.host}]:${other.port}` })
    expect(result).toBe('Rerouted 1 message with 1 recipient.')
    // The other site has not seen this recipient, and defers it once.
    await expect.poll(() => deferredCount(relay)).toBe(5)
    expect(relay.log).toContain(`${other.host}:${other.port}`)
    expect(sink.takenCount()).toBe(3)
    await end()
  })

  test('a dead site is suspended, resumed and flushed from its row', async () => {
    const nexthop = '127.0.0.1:9'
    const stage = await served(nexthop)
    const { page, end } = stage
    // Attempts at once, of which the first ones say that nothing answers there.
    await act(page, 'Suspend', nexthop)
    const row = rowOf(page, nexthop)
    await row.waitFor()
    for (let i = 0; i < 12; i++) await send(stage, `ok-${i}@example.net`)
    await row.getByRole('button', { name: 'Resume' }).click()
    await page.getByRole('button', { name: 'Flush what is deferred …' }).click()
    expect(await confirmed(page, 'Flush 12 messages', { 'Messages a second': '' })).toMatch(/^Started 12 /)
    await row.getByText(/^dead, /).waitFor()
    await row.getByRole('button', { name: 'Suspend' }).click()
    await row.getByText(/^suspended/).waitFor()
    await row.getByRole('button', { name: 'Flush …' }).click()
    await page.getByRole('button', { name: 'Flush 12 messages' }).waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await row.getByRole('button', { name: 'Resume' }).click()
    await page.getByText(`${nexthop} is resumed.`).first().waitFor()
    await row.getByText(/^suspended/).waitFor({ state: 'detached' })
    await end()
  })
})
