/** The console of a real relay in a real browser: every action, a relay that is killed and returns,
 * tokens, hostile mail. */
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type RelayProcess, startedRelay } from '../end-to-end/relay-process.js'
import { rawClient, untilData } from '../relay/raw-client.js'
import { runWaybill } from '../tools/command-process.js'
import { hasChromium, launch, openPage } from './browser.js'
import { temporaryDirectory } from '../temporary-directory.js'

let browser: Browser
beforeAll(async () => {
  if (hasChromium) browser = await launch()
})
afterAll(() => browser?.close())

interface Stage {
  readonly relay: RelayProcess
  readonly directory: string
  readonly queue: string
  readonly origin: string
}

/** Nothing listens there: mail is deferred. */
const nowhere = ['--relay', '127.0.0.1:9']

async function temporary(): Promise<string> {
  const directory = await temporaryDirectory('console')
  return directory
}

async function served(directory: string, ...args: string[]): Promise<Stage> {
  const queue = join(directory, 'queue')
  const relay = await startedRelay(['--queue', queue, ...nowhere, ...args])
  const [, origin = ''] = /^console on (http:\/\/127\.0\.0\.1:\d+)\/$/m.exec(relay.output) ?? []
  expect(origin).not.toBe('')
  return { relay, directory, queue, origin }
}

const tokenOf = async ({ queue }: Pick<Stage, 'queue'>): Promise<string> =>
  (await readFile(join(queue, 'http-token'), 'utf8')).trim()

async function filled(directory: string, ...args: string[]): Promise<void> {
  const { exitCode } = await runWaybill(
    ['fill', '--queue', join(directory, 'queue'), '--size', '300', ...args],
    { directory },
  )
  expect(exitCode).toBe(0)
}

async function sent({ relay }: Stage, data: string): Promise<void> {
  const client = await rawClient(relay.endpoint.port)
  await untilData(client)
  await client.say(`${data}\r\n.`)
  client.destroy()
}

const shows = (page: Page, text: string | RegExp): Promise<void> => page.getByText(text).first().waitFor()

/** @returns how it ended */
async function carriedOut(
  page: Page,
  verb: string,
  count: number,
  fields: Readonly<Record<string, string>> = {},
): Promise<string> {
  await page
    .getByRole('button', { name: `${verb} …` })
    .first()
    .click()
  const confirm = page.getByRole('button', { name: new RegExp(`^${verb} ${count} messages?$`) })
  await confirm.waitFor()
  for (const [label, value] of Object.entries(fields)) await page.getByLabel(label).fill(value)
  await confirm.click()
  const result = page.locator('dialog .result')
  await result.waitFor()
  const text = (await result.textContent()) ?? ''
  await page.getByRole('button', { name: 'Close' }).click()
  return text.trim().replaceAll(/\s+/g, ' ')
}

/** A message that has ended is asked for once more. */
const isGone = (text: string): boolean => text.includes('404')

/** A server that nobody should ask. */
async function listener(): Promise<{ readonly url: string; readonly connectionCount: () => number }> {
  let count = 0
  const server = createServer((socket) => {
    count++
    socket.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, connectionCount: () => count }
}

/** What the frame's policy has blocked is what is tested. */
const isBlocked = (text: string): boolean => /Blocked script|Content Security Policy|sandboxed/i.test(text)

/** A server that is away is no fault of the page. */
const isAway = (text: string): boolean =>
  /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE|ERR_CONNECTION_RESET|ERR_EMPTY|401/.test(text)

describe.skipIf(!hasChromium)('the console', () => {
  test('shows mail that arrives, and goes on when the relay was killed and returns', async () => {
    const stage = await served(await temporary(), '--console', '0')
    const { page, end } = await openPage(browser, stage.origin, {}, isAway)
    const policy = (await fetch(stage.origin)).headers.get('content-security-policy')
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'")
    expect(policy).not.toContain('unsafe')
    await page.goto(`${stage.origin}/#token=${await tokenOf(stage)}`)
    await shows(page, 'Ready: no mail yet')
    expect(page.url()).not.toContain('token')
    await sent(stage, 'Subject: first\r\n\r\nhello')
    await shows(page, 'All is well')
    await page.getByRole('link', { name: 'Messages' }).click()
    await shows(page, '1 message in all')
    await stage.relay.kill()
    await shows(page, 'The relay does not answer.')
    expect((await page.getByRole('alert').innerText()).match(/does not answer/g)).toHaveLength(1)
    const now = page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Now' })
    await now.click()
    await shows(page, 'All was well')
    await page.getByRole('link', { name: 'Messages' }).click()
    const again = await served(stage.directory, '--console', new URL(stage.origin).host)
    await page.getByRole('alert').waitFor({ state: 'detached' })
    await shows(page, 'live')
    await page.reload()
    await shows(page, '1 message in all')
    expect(again.origin).toBe(stage.origin)
    await end()
  })

  test('calls a queue with mail of an earlier life neither new nor well while nothing is delivered', async () => {
    const directory = await temporary()
    await filled(directory, '--count', '20', '--domains', '1')
    const stage = await served(directory, '--console', '0', '--freeze')
    const { page, end } = await openPage(browser, stage.origin)
    await page.goto(`${stage.origin}/#token=${await tokenOf(stage)}`)
    await shows(page, 'mail is taken, and nothing is delivered')
    await shows(page, '1 problem')
    expect(await page.getByText('no mail yet').count()).toBe(0)
    await end()
  })

  test('carries every verb out on what its filter means, with exact results', async () => {
    const directory = await temporary()
    await filled(directory, '--count', '0', '--hold', '60', '--domains', '1')
    const stage = await served(directory, '--console', '0', '--retry', '1h')
    const { page, end } = await openPage(browser, stage.origin, {}, isGone)
    await page.goto(`${stage.origin}/#token=${await tokenOf(stage)}&/messages`)
    await shows(page, '60 messages in all')
    expect(await carriedOut(page, 'Release', 60)).toMatch(/^Released 60 messages with 60 recipients\.$/)
    await page.getByLabel('Queue').selectOption('deferred')
    await page.getByRole('button', { name: 'Find' }).click()
    await expect
      .poll(
        async () => (
          await page.getByRole('button', { name: 'Find' }).click(),
          page.locator('.list-end').textContent()
        ),
      )
      .toContain('60 messages in all')
    expect(await carriedOut(page, 'Hold', 60)).toMatch(/^Held 60 messages/)
    await page.getByRole('link', { name: 'Clear' }).click()
    await shows(page, '60 messages in all')
    await page.locator('a.row').first().click()
    await shows(page, 'when released')
    expect(await carriedOut(page, 'Reroute', 1, { 'Next hop': '[127.0.0.1]:9' })).toMatch(
      /^Rerouted 1 message with 1 recipient\.$/,
    )
    expect(await carriedOut(page, 'Requeue', 1)).toMatch(/^Requeued 1 message /)
    await expect.poll(() => page.locator('.pairs').first().textContent()).toMatch(/active|deferred|incoming/)
    await page.goto(`${stage.origin}/#/messages?lane=hold`)
    await shows(page, '59 messages in all')
    expect(await carriedOut(page, 'Delete', 59, { 'Type the count': '59' })).toMatch(
      /^Deleted 59 messages with 59 recipients\.$/,
    )
    await page.goto(`${stage.origin}/#/messages`)
    await shows(page, '1 message in all')
    expect(await carriedOut(page, 'Flush', 1)).toMatch(/^Started 1 message /)
    expect(await carriedOut(page, 'Expire', 1)).toMatch(/^Expired 1 message /)
    await end()
  })

  test('shows HTML of a message without scripts and without anything from elsewhere, and its history', async () => {
    const stage = await served(await temporary(), '--console', '0')
    const elsewhere = await listener()
    const { page, end } = await openPage(browser, stage.origin, {}, isBlocked)
    const html = [
      `<h1 id="shown">Hello &#8238;reader</h1><script>top.location = "${elsewhere.url}"; alert(1)</script>`,
      `<img src="${elsewhere.url}pixel.png" onerror="alert(2)"><iframe src="${elsewhere.url}"></iframe>`,
      `<form action="${elsewhere.url}"><button>Go</button></form><style>body { color: teal }</style>`,
    ]
    const subject = 'Subject: =?utf-8?B?PHNjcmlwdD5hbGVydCgzKTwvc2NyaXB0Pg==?='
    await sent(stage, `${subject}\r\nContent-Type: text/html; charset=utf-8\r\n\r\n${html.join('\r\n')}`)
    // A list that is read while a message moves may have it twice, or not at all.
    await expect.poll(() => stage.relay.log).toContain('"msg":"deferred"')
    await page.goto(`${stage.origin}/#token=${await tokenOf(stage)}&/messages`)
    await shows(page, '1 message in all')
    await page.locator('a.row').first().click()
    await page.getByRole('heading', { name: '<script>alert(3)</script>' }).waitFor()
    await page.getByRole('button', { name: /^All \d+ fields$/ }).click()
    await shows(page, 'Received')
    expect(await page.locator('main').textContent()).not.toMatch(/NaN|undefined|null/)
    const frame = page.frameLocator('iframe.body')
    await frame.getByRole('heading', { name: /^Hello/ }).waitFor()
    expect(await page.locator('iframe.body').getAttribute('sandbox')).toBe('')
    await shows(page, /from a@example|Accepted/)
    await shows(page, 'Deferred')
    expect(page.url()).toContain('#/messages/')
    expect(elsewhere.connectionCount()).toBe(0)
    await end()
  })

  test('shows what the files of the queue hold, and that they are sound', async () => {
    const directory = await temporary()
    await filled(directory, '--count', '40', '--hold', '5', '--domains', '2')
    const stage = await served(directory, '--console', '0')
    const { page, end } = await openPage(browser, stage.origin)
    await page.goto(`${stage.origin}/#token=${await tokenOf(stage)}&/log`)
    await shows(page, /^deferred, 5m/)
    await page.getByRole('button', { name: 'Verify all of it' }).click()
    await page.getByText('Sound', { exact: true }).waitFor()
    expect(await page.locator('.sound').textContent()).toMatch(/45 messages/)
    await page.goto(`${stage.origin}/#/destinations`)
    await shows(page, 'TOTAL')
    await page.getByRole('button', { name: 'Sender' }).click()
    await shows(page, /sender\d+\.example/)
    await end()
  })

  test('says that a token has expired, and takes another one', async () => {
    const directory = await temporary()
    const made = async (...more: string[]): Promise<{ token: string; line: string }> => {
      const { stdout } = await runWaybill(['token', 'ada', ...more], { directory })
      const token = /wbt_[\w-]+/.exec(stdout)?.[0] ?? ''
      const line = stdout.split('\n').find((text) => text.startsWith('ada ')) ?? ''
      return { token, line }
    }
    const old = await made()
    const fresh = await made()
    const file = join(directory, 'tokens')
    await writeFile(
      file,
      `${old.line} until=2026-01-01T00:00:00Z\n${fresh.line.replace(/^ada/, 'grace')}\n`,
      { mode: 0o600 },
    )
    const stage = await served(directory, '--console', '0', '--http-tokens', file)
    const { page, end } = await openPage(browser, stage.origin, {}, isAway)
    await page.goto(`${stage.origin}/#token=${old.token}`)
    await shows(page, 'This token has expired')
    await page.getByLabel('Token').fill(fresh.token)
    await page.getByRole('button', { name: 'Open' }).click()
    await shows(page, 'as grace')
    expect(await page.getByLabel('Token').count()).toBe(0)
    await end()
  })
})
