/** The console of relays over a store, in a real browser: queues and nodes, before and after a node
 * is gone. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { postgresMissing, Servers } from '../../tools/crash-store/servers.js'
import { type RelayProcess, startedRelay } from '../end-to-end/relay-process.js'
import { runWaybill } from '../tools/command-process.js'
import { hasChromium, launch, openPage } from './browser.js'
import { temporaryDirectory } from '../temporary-directory.js'

const missing = postgresMissing()

let browser: Browser
let servers: Servers
beforeAll(async () => {
  if (!hasChromium || missing !== undefined) return
  browser = await launch()
  servers = await Servers.start(0)
})
afterAll(async () => {
  await browser?.close()
  await servers?.remove()
})

const tokenPattern = /wbt_[\w-]+/

async function node(directory: string, name: string, ...args: string[]): Promise<RelayProcess> {
  const store = `${servers.url}?safety=assumed&ttl=1s`
  const made = await runWaybill(['store', 'init', '--store', store, '--queue', name], { directory })
  expect(made.exitCode).toBe(0)
  const relay = await startedRelay(
    ['--store', store, '--queue', name, '--relay', '127.0.0.1:9', ...args],
    {},
    { makesQueue: true },
  )
  return relay
}

const rowOf = async (page: Page, name: string): Promise<string> => {
  const rows = page.getByRole('region', { name: '2 queues' }).getByRole('row')
  const text = await rows.filter({ has: page.getByRole('rowheader', { name }) }).textContent()
  return (text ?? '').replaceAll(/\s+/g, ' ')
}

describe.skipIf(!hasChromium || missing !== undefined)('the console over a store', () => {
  test('shows the queues of all nodes, and which was adopted when its node is gone', async () => {
    const directory = await temporaryDirectory('console')
    const { stdout } = await runWaybill(['token', 'ada'], { directory })
    const line = stdout.split('\n').find((text) => text.startsWith('ada ')) ?? ''
    const tokens = join(directory, 'tokens')
    await writeFile(tokens, `${line}\n`, { mode: 0o600 })
    const other = await node(directory, 'mx2')
    const relay = await node(directory, 'mx1', '--console', '0', '--http-tokens', tokens)
    const [, origin = ''] = /^console on (http:\/\/127\.0\.0\.1:\d+)\/$/m.exec(relay.output) ?? []
    const { page, end } = await openPage(browser, origin)
    await page.goto(`${origin}/#token=${tokenPattern.exec(stdout)?.[0]}&/queues`)
    await page.getByRole('heading', { name: '2 queues' }).waitFor()
    expect(await rowOf(page, 'mx1')).toMatch(/this relay's has an owner renewed less than \S+ ago mx1 /)
    expect(await rowOf(page, 'mx2')).toMatch(
      /has an owner renewed less than \S+ ago mx2 .*known at its owner/,
    )
    // One server has no standby, which is said.
    await page.getByText('not safe').waitFor()
    await expect.poll(() => relay.log).toMatch(/"queues":\["mx1","mx2"\][^\n]*share the limits of sites/)
    await other.kill()
    await expect.poll(() => rowOf(page, 'mx2')).toMatch(/mx1 .*adopted: its home is mx2/)
    const nodes = page.getByRole('region', { name: '2 nodes' })
    await nodes.getByText('owns no queue').waitFor()
    await nodes.getByText('mx1, mx2').waitFor()
    await end()
  })
})
