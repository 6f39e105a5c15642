/** Chromium for the tests of the page.
 * Invariant: the browser asks nobody but the relay; a request to elsewhere, an error of the page or
 * a breach of its policy fails the test. */
import { existsSync } from 'node:fs'
import { chromium, type Browser, type BrowserContextOptions, type Page, type Request } from 'playwright-core'
import { expect } from 'vitest'

const executablePath = '/usr/bin/chromium'
export const hasChromium: boolean = existsSync(executablePath)
if (!hasChromium) process.stderr.write(`skipped: there is no ${executablePath} (Debian's package chromium)\n`)

const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export const launch = (): Promise<Browser> => chromium.launch({ executablePath, args, headless: true })

export interface WatchedPage {
  readonly page: Page
  /** Closes it, and fails for what went wrong on it. */
  readonly end: () => Promise<void>
}

/** @param origin of the relay @param isExpected of messages on the console of the browser */
export async function openPage(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
  isExpected: (text: string, url: string) => boolean = () => false,
): Promise<WatchedPage> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    timezoneId: 'Europe/Berlin',
    ...options,
  })
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  const faults: string[] = []
  const elsewhere = new Set<Request>()
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`))
  page.on('console', (message) => {
    if (message.type() === 'error' && !isExpected(message.text(), message.location().url))
      faults.push(message.text())
  })
  page.on('dialog', (dialog) => {
    faults.push(`a script of a message ran: ${dialog.message()}`)
    void dialog.dismiss()
  })
  context.on('request', (request) => {
    if (!request.url().startsWith(`${origin}/`) && !/^(?:data|blob|about):/.test(request.url()))
      elsewhere.add(request)
  })
  // A request that the policy forbids fails by it, and never leaves the browser.
  context.on('requestfailed', (request) => {
    if (request.failure()?.errorText === 'csp') elsewhere.delete(request)
  })
  return {
    page,
    end: async () => {
      await context.close()
      expect([...faults, ...[...elsewhere].map((request) => `asked elsewhere: ${request.url()}`)]).toEqual([])
    },
  }
}
