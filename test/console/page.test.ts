/** The page in a real browser, before a relay that is made up: what no real one shows in a test. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Message } from '../../src/console/facts/api.js'
import { filterNames } from '../../src/console/facts/place.js'
import { consolePages } from '../../tools/commands/serve/console-pages.js'
import { hasChromium, launch, openPage } from './browser.js'
import {
  fakeRelay,
  plainDestination,
  plainMessage,
  plainQueue,
  type FakeRelay,
  type FakeRelayOptions,
} from './fake-relay.js'

const pages = consolePages(fileURLToPath(new URL('../../dist/src/console/', import.meta.url)))
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

let browser: Browser
beforeAll(async () => {
  if (hasChromium) browser = await launch()
})
afterAll(() => browser?.close())

const problems = [
  {
    code: 'DESTINATION_DEAD',
    severity: 'critical',
    text: 'site-0.example is dead, and 4000 messages wait for it',
    subject: { transport: 'smtp', name: 'site-0.example' },
    help: null,
  },
  { code: 'RECOVERING', severity: 'notice', text: 'recovering', subject: {}, help: null },
] as const

async function withRelay(
  options: Partial<FakeRelayOptions>,
  use: (relay: FakeRelay, origin: string) => Promise<void>,
): Promise<void> {
  const relay = await fakeRelay({ pages, messageCount: 300, problems, ...options })
  try {
    await use(relay, `http://127.0.0.1:${relay.port}`)
  } finally {
    relay.close()
  }
}

/** Every view, each when it shows what it shows. */
const places: readonly [path: string, text: string][] = [
  ['#/now', 'Destinations by impact'],
  ['#/messages', 'messages so far'],
  ['#/messages/01J00041', 'Dear customer'],
  ['#/destinations', 'example.edu'],
  ['#/log', 'Lives so far'],
  ['#/queues', 'adopted: its home is mx2'],
  ['#/nosuch', 'There is no such page'],
]

const shows = (page: Page, text: string): Promise<void> => page.getByText(text).first().waitFor()

/** Of the document, with what stands beside the screen. */
const widthPx = (page: Page): Promise<unknown> =>
  page.evaluate('Math.max(document.documentElement.scrollWidth, innerWidth)')

/** Findings of axe, with where they are. */
async function findingsOfAxe(page: Page, rules?: readonly string[]): Promise<string[]> {
  // By the protocol of the debugger, which no policy of the page keeps out.
  await page.evaluate(axe)
  const { violations } = (await page.evaluate(
    `axe.run(${JSON.stringify(rules === undefined ? {} : { runOnly: rules })})`,
  )) as {
    violations: { id: string; impact: string; nodes: { html: string }[] }[]
  }
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' | ')}`,
  )
}

describe.skipIf(!hasChromium)('the page', () => {
  // What depends on colours is looked at in both schemes, what depends on room at both widths.
  for (const [colorScheme, width, rules] of [
    ['light', 1280, undefined],
    ['light', 390, undefined],
    ['dark', 1280, ['color-contrast']],
  ] as const)
    test(`has no finding of axe in any view, ${colorScheme}, ${width} px wide`, async () => {
      await withRelay({}, async (_relay, origin) => {
        const viewport = { width, height: 800 }
        const { page, end } = await openPage(browser, origin, { colorScheme, viewport })
        for (const [place, text] of places) {
          await page.goto(`${origin}/${place}`)
          await shows(page, text)
          expect({ place, findings: await findingsOfAxe(page, rules) }).toEqual({ place, findings: [] })
        }
        await page.goto(`${origin}/#/messages`)
        await page.getByRole('button', { name: 'Delete …' }).click()
        await shows(page, 'Nothing undoes this')
        expect(await findingsOfAxe(page, rules)).toEqual([])
        await end()
      })
    })

  test('fits a phone in every view, without a part beside the screen', async () => {
    await withRelay({}, async (_relay, origin) => {
      const { page, end } = await openPage(browser, origin, { viewport: { width: 360, height: 740 } })
      for (const [place, text] of places) {
        await page.goto(`${origin}/${place}`)
        await shows(page, text)
        expect({ place, widthPx: await widthPx(page) }).toEqual({ place, widthPx: 360 })
      }
      await end()
    })
  })

  test('has the words of the list of messages below their heads', async () => {
    await withRelay({}, async (_relay, origin) => {
      const { page, end } = await openPage(browser, origin)
      await page.goto(`${origin}/#/messages`)
      await shows(page, 'messages so far')
      const beginsPx = (selector: string): Promise<unknown> =>
        page.evaluate(`(() => {
          const cell = document.querySelector('${selector}')
          return cell.getBoundingClientRect().left + parseFloat(getComputedStyle(cell).paddingLeft)
        })()`)
      const listBorderPx = 1
      for (const [head, cell] of [
        ['.columns :nth-child(2)', '.row .queue'],
        ['.columns :nth-child(6)', '.row .accepted'],
      ] as const)
        expect(Math.abs(Number(await beginsPx(head)) - Number(await beginsPx(cell)))).toBe(listBorderPx)
      await end()
    })
  })

  test('keeps the words of its navigation whole on the narrowest screen', async () => {
    await withRelay({}, async (_relay, origin) => {
      const { page, end } = await openPage(browser, origin, { viewport: { width: 320, height: 700 } })
      await page.goto(`${origin}/#/now`)
      await shows(page, 'Destinations by impact')
      const words = await page.evaluate(`[...document.querySelectorAll('nav a')].map((link) => {
        const range = document.createRange()
        const text = [...link.childNodes].find((node) => node.nodeType === 3 && node.data.trim() !== '')
        range.selectNodeContents(text)
        return text.data.trim() + ' ' + new Set([...range.getClientRects()].map(({ top }) => top)).size
      })`)
      expect(words).toEqual(['Now 1', 'Messages 1', 'Destinations 1', 'Log 1', 'Queues 1'])
      expect(await widthPx(page)).toBe(320)
      await end()
    })
  })

  test('scrolls sideways in no view, however long the names in it are', async () => {
    const long = `${'long-name-'.repeat(24)}@${'label.'.repeat(30)}example`
    const value = encodeURIComponent(long)
    const messageAt = (index: number): Message => ({
      ...plainMessage(index),
      sender: long,
      recipients: [`r-${index}@example.net`],
    })
    const destination = { ...plainDestination(0), name: long, nexthop: long }
    const problem = { ...problems[0], text: `${long} is dead`, subject: { transport: 'smtp', name: long } }
    const queues = {
      store: long,
      timeline: 1,
      standbyCount: 1,
      unsafe: [long],
      queues: [plainQueue(long, { home: long, owner: 'mx1', address: long })],
    }
    const header = [
      { name: 'Subject', value: long },
      { name: long, value: long },
    ]
    const options = {
      messageAt,
      destinations: [destination],
      problems: [problem],
      queues,
      header,
      text: long,
    }
    const filters = filterNames.map((name) => `#/messages?${name}=${value}`)
    const views = ['#/now', '#/messages/01J', '#/destinations', '#/log', '#/queues', '#/messages', ...filters]
    await withRelay(options, async (_relay, origin) => {
      for (const width of [1280, 390]) {
        const { page, end } = await openPage(browser, origin, { viewport: { width, height: 800 } })
        for (const place of views) {
          await page.goto(`${origin}/${place}`)
          await shows(page, place === '#/log' ? 'Lives so far' : 'long-name-')
          expect({ place, widthPx: await widthPx(page) }).toEqual({ place, widthPx: width })
        }
        // A long sender does not hide the recipient.
        const [row, to] = [page.locator('a.row').first(), page.locator('a.row bdi:last-of-type').first()]
        const [outer, inner] = [await row.boundingBox(), await to.boundingBox()]
        expect(inner!.width).toBeGreaterThan(60)
        expect(inner!.x + inner!.width).toBeLessThan(outer!.x + outer!.width)
        await page.getByRole('button', { name: 'Hold …' }).click()
        await shows(page, 'Hold 300 messages')
        expect(await page.evaluate('document.querySelector("dialog").scrollWidth')).toBeLessThan(width)
        await end()
      }
    })
  })

  test('shows each reply under its command, and folds a long conversation', async () => {
    await withRelay({}, async (_relay, origin) => {
      const { page, end } = await openPage(browser, origin)
      await page.goto(`${origin}/#/messages/01J00041`)
      await shows(page, '34 more commands, 2 of them refused')
      const first = page.locator('.conversation li').filter({ hasText: 'MAIL FROM' })
      expect(((await first.textContent()) ?? '').replaceAll(/\s+/g, ' ').trim()).toMatch(
        /^relay MAIL FROM:<billing@shop.example.com> server 250 2.1.5 Ok$/,
      )
      const last = page.locator('.conversation li').last()
      expect((await last.textContent()) ?? '').toMatch(/DATA[^]*354 go on[^]*250 2.0.0 Ok: queued/)
      const refused = page.locator('.conversation li').filter({ hasText: 'customer-14@' })
      expect(await refused.isVisible()).toBe(false)
      await page.getByText('34 more commands').click()
      expect(await refused.textContent()).toContain('550 5.1.1 no customer-14 here')
      await end()
    })
  })

  test('folds lanes without mail, and counts the messages of the others when asked', async () => {
    await withRelay({}, async (_relay, origin) => {
      const { page, end } = await openPage(browser, origin)
      await page.goto(origin)
      const lanes = page.getByRole('region', { name: 'Lanes' })
      await lanes.waitFor()
      expect(await lanes.getByRole('row').count()).toBe(6)
      await lanes.getByRole('button', { name: 'Show 1 empty lane' }).click()
      await lanes.getByRole('row').nth(6).waitFor()
      await lanes.getByRole('button', { name: 'Count messages' }).click()
      await lanes.getByText('Messages were counted').waitFor()
      expect(await lanes.getByRole('row').filter({ hasText: 'deferred, 5m' }).textContent()).toContain(
        '4\u202f711',
      )
      await end()
    })
  })

  test('says beside the form what is missing there, and lets nothing be suspended by an empty one', async () => {
    await withRelay({}, async (_relay, origin) => {
      const { page, end } = await openPage(browser, origin)
      await page.goto(`${origin}/#/destinations`)
      const form = page.getByRole('region', { name: 'Act on any destination' })
      await form.getByRole('button', { name: 'Suspend' }).click()
      await form.getByText('To suspend, name a next hop, a transport or both.').waitFor()
      expect(await form.locator('.trouble .icon.warning').count()).toBe(1)
      await shows(page, 'and 40 more domains')
      await end()
    })
  })

  test('shows hostile subjects, addresses, replies and bodies as harmless text', async () => {
    const word = 'W'.repeat(10_240)
    const hostile = `<img src=x onerror=alert(1)><script>alert(2)</script>\u202Egpj.exe ${word}`
    const messageAt = (index: number): Message => ({
      ...plainMessage(index),
      sender: `"${hostile}"@example.com`,
      recipients: [`javascript:alert(3)//${hostile}@example.net`],
      notes: [
        {
          kind: 'deferred',
          status: '4.0.0',
          text: hostile,
          remote: hostile,
          ranges: [0, 0],
        },
      ],
    })
    const destination = { ...plainDestination(0), name: hostile, nexthop: hostile }
    const queue = plainQueue(hostile, { home: hostile, owner: hostile, address: hostile })
    const options = {
      messageAt,
      queues: { store: hostile, timeline: 1, standbyCount: 1, unsafe: [hostile], queues: [queue] },
      destinations: [destination],
      problems: [{ ...problems[0], text: hostile, subject: { transport: 'smtp', name: hostile } }],
      header: [
        { name: 'Subject', value: hostile },
        { name: 'From', value: hostile },
      ],
      text: hostile,
    }
    await withRelay(options, async (_relay, origin) => {
      const { page, end } = await openPage(browser, origin, { viewport: { width: 360, height: 740 } })
      const views = ['#/now', '#/messages', '#/messages/01J', '#/destinations', '#/queues']
      for (const place of views) {
        await page.goto(`${origin}/${place}`)
        await shows(page, '⟨U+202E⟩')
        expect({ place, widthPx: await widthPx(page) }).toEqual({ place, widthPx: 360 })
        expect(await page.locator('main img, main script').count()).toBe(0)
        expect(await page.locator('main').textContent()).not.toContain('\u202E')
      }
      await end()
    })
  })

  test('shows all queues and nodes of a store, reached by keyboard', async () => {
    await withRelay({}, async (_relay, origin) => {
      const { page, end } = await openPage(browser, origin)
      await page.goto(origin)
      await shows(page, 'Destinations by impact')
      await page.getByRole('link', { name: 'Log' }).focus()
      await page.keyboard.press('Tab')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: '4 queues' }).waitFor()
      await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Queues')
      const rowOf = async (name: string): Promise<string> =>
        ((await page.getByRole('row').filter({ hasText: name }).first().textContent()) ?? '').replaceAll(
          /\s+/g,
          ' ',
        )
      expect(await rowOf('adopted')).toMatch(
        /mx2 .*has an owner renewed less than 6s ago mx1 .* home is mx2 31/,
      )
      expect(await rowOf('mx3')).toMatch(/owner is silent not renewed for at least 2m14s mx3/)
      expect(await rowOf('spare')).toMatch(/never opened no node has had it yet – 0 0 bytes of/)
      expect(await rowOf("this relay's")).toMatch(/1.180 active/)
      const nodes = page.getByRole('region', { name: '3 nodes' })
      expect(await nodes.getByRole('row').filter({ hasText: 'owns no queue' }).textContent()).toMatch(/mx2/)
      await end()
    })
  })

  test('shows a queue in a directory alone, and says what a store is that is not safe', async () => {
    const alone = plainQueue('queue', { isHere: true, epoch: null, usedBytes: null, activeCount: 3 })
    const onFiles = { store: null, timeline: null, standbyCount: null, unsafe: [], queues: [alone] }
    await withRelay({ queues: onFiles }, async (_relay, origin) => {
      const { page, end } = await openPage(browser, origin)
      await page.goto(`${origin}/#/queues`)
      await shows(page, 'This queue lies in a directory')
      expect(await page.getByRole('heading', { name: 'node' }).count()).toBe(0)
      await end()
    })
    const unsafe = { ...onFiles, store: 'n1/waybill', unsafe: ['fsync is off'] }
    await withRelay({ queues: unsafe }, async (_relay, origin) => {
      const { page, end } = await openPage(browser, origin)
      await page.goto(`${origin}/#/queues`)
      await shows(page, 'not safe')
      await shows(page, 'fsync is off')
      await end()
    })
  })

  test('has no stream while nobody sees it, and is live again when somebody does', async () => {
    await withRelay({}, async (relay, origin) => {
      const { page, end } = await openPage(browser, origin)
      const turn = (state: string): Promise<unknown> =>
        page.evaluate(`
          Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true })
          document.dispatchEvent(new Event('visibilitychange'))`)
      await page.goto(`${origin}/#/now`)
      await page.getByText('live', { exact: true }).waitFor()
      // The figures, and the newest outcomes.
      await expect.poll(relay.streamCount).toBe(2)
      await turn('hidden')
      await expect.poll(relay.streamCount).toBe(0)
      await turn('visible')
      await page.getByText('live', { exact: true }).waitFor()
      await expect.poll(relay.streamCount).toBe(2)
      await end()
    })
  })

  test('says that what is no token is not accepted, and takes another one', async () => {
    await withRelay({}, async (_relay, origin) => {
      for (const token of ['wbt_\u2026', 'wbt_a%20b']) {
        const { page, end } = await openPage(browser, origin)
        await page.goto(`${origin}/#token=${token}`)
        await shows(page, 'This token is not accepted')
        await page.getByLabel('Token').fill('wbt_%zz')
        await page.getByRole('button', { name: 'Open' }).click()
        await page.getByText('live', { exact: true }).waitFor()
        expect(await page.getByLabel('Token').count()).toBe(0)
        await end()
      }
    })
  })

  test('scrolls through ten million messages with a bounded document and bounded requests', async () => {
    await withRelay({ messageCount: 10_000_000 }, async (relay, origin) => {
      const { page, end } = await openPage(browser, origin)
      await page.goto(`${origin}/#/messages`)
      await shows(page, 'so far')
      // To the end of what there is, again and again: each time there is more.
      for (let i = 0; i < 60; i++) {
        await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
        await page.waitForTimeout(25)
      }
      const shownCount = await page.locator('a.row').count()
      expect(shownCount).toBeGreaterThan(10)
      expect(shownCount).toBeLessThan(100)
      expect(relay.askedCount()).toBeGreaterThan(10)
      expect(relay.askedCount()).toBeLessThan(200)
      const far = await page.locator('a.row').last().getAttribute('href')
      // Pages far away were dropped, and are asked for again.
      await page.evaluate('scrollTo(0, 0)')
      await page.locator(`a[href="#/messages/${plainMessage(0).id}"]`).waitFor()
      expect(far).not.toContain(plainMessage(0).id)
      await end()
    })
  })

  test('goes by keyboard from the list into a message and through a verb', async () => {
    await withRelay({}, async (_relay, origin) => {
      const { page, end } = await openPage(browser, origin)
      await page.goto(`${origin}/#/messages?sender=ada%40example.com`)
      await shows(page, 'from ada@example.com')
      await page.locator('a.row').first().focus()
      for (const key of ['ArrowDown', 'ArrowDown', 'j', 'k']) await page.keyboard.press(key)
      await page.keyboard.press('Enter')
      await page.waitForURL(`**/#/messages/${plainMessage(2).id}`)
      await shows(page, 'Dear customer')
      await page.getByRole('button', { name: 'Hold …' }).focus()
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Hold 300 messages' }).waitFor()
      await page.keyboard.press('Tab')
      await page.keyboard.press('Enter')
      await shows(page, 'Held 300 messages with 300 recipients.')
      await expect.poll(() => page.evaluate('document.activeElement.textContent.trim()')).toBe('Close')
      await page.keyboard.press('Enter')
      await expect.poll(() => page.locator('dialog[open]').count()).toBe(0)
      await end()
    })
  })

  test('asks for the exact count before what nothing undoes', async () => {
    await withRelay({}, async (_relay, origin) => {
      const { page, end } = await openPage(browser, origin)
      await page.goto(`${origin}/#/messages`)
      await page.getByRole('button', { name: 'Delete …' }).click()
      await page.getByLabel('Type the count').fill('299')
      await page.getByRole('button', { name: 'Delete 300 messages' }).click()
      expect(await page.getByText(/^Deleted \d/).count()).toBe(0)
      await page.getByLabel('Type the count').fill('300')
      await page.getByRole('button', { name: 'Delete 300 messages' }).click()
      await shows(page, 'Deleted 300 messages with 300 recipients.')
      await end()
    })
  })

  test("shows times in the reader's zone beside the log's", async () => {
    await withRelay({}, async (_relay, origin) => {
      const { page, end } = await openPage(browser, origin, { timezoneId: 'Asia/Kolkata' })
      await page.goto(`${origin}/#/messages/01J00041`)
      await shows(page, 'Times are in your time zone, UTC+5:30')
      const times = await page.locator('.timeline time').first().textContent()
      expect(times).toMatch(/\d\d:\d\d:\d\d \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ/)
      await end()
    })
  })
})
