/** The receiver of webhooks that keeps outcomes in a database. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { exampleProcess } from './example-process.js'
import { temporaryDirectory } from '../../temporary-directory.js'

interface Database {
  prepare(sql: string): { all(): Record<string, unknown>[] }
  close(): void
}

type Sqlite = { readonly DatabaseSync: new (path: string) => Database }

const sqlite = ((): Sqlite | undefined => {
  try {
    return createRequire(import.meta.url)('node:sqlite') as Sqlite
  } catch {
    return undefined
  }
})()
if (sqlite === undefined)
  console.log(`webhooks-to-sqlite is not run: Node.js ${process.version} has no node:sqlite`)

const secret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`
const outcome = (number: number, kind: string) => ({
  number,
  kind,
  at: 1_795_657_200_000 + number,
  id: '1M8B0338H81QB7AA',
  sender: 'ada@example.org',
  recipients: ['grace@example.net'],
  recipientCount: 1,
  status: '',
  text: '',
  remote: '',
  attempt: 1,
})

async function post(url: string, data: readonly object[], key: string = secret): Promise<number> {
  const body = JSON.stringify({ type: 'outcomes', timestamp: new Date().toISOString(), data })
  const at = new Date()
  const response = await fetch(url, {
    method: 'POST',
    body,
    headers: {
      'webhook-id': 'webhook_1-2',
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': new Webhook(key).sign('webhook_1-2', at, body),
    },
  })
  return response.status
}

test.skipIf(sqlite === undefined)(
  'each outcome is in the database once, through repeated requests and a kill',
  async () => {
    const directory = await temporaryDirectory('example')
    const environment = { WEBHOOK_SECRET: secret, DATABASE: join(directory, 'mail.db') }
    const first = await exampleProcess('webhooks-to-sqlite.mjs', environment)
    const stranger = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
    expect(await post(first.url, [outcome(1, 'accepted')], stranger)).toBe(401)
    expect(await post(first.url, [outcome(1, 'accepted'), outcome(2, 'deferred')])).toBe(204)
    await first.kill()
    const second = await exampleProcess('webhooks-to-sqlite.mjs', environment)
    // The answer was lost, and there are more by now.
    const more = [outcome(2, 'deferred'), { kind: 'gap', from: 3, to: 5 }, outcome(6, 'delivered')]
    expect(await post(second.url, more)).toBe(204)
    await second.kill()
    const database = new sqlite!.DatabaseSync(environment.DATABASE)
    const all = (sql: string): unknown[] =>
      database
        .prepare(sql)
        .all()
        .map((row) => ({ ...row }))
    expect(all('SELECT number, kind FROM outcomes ORDER BY number')).toEqual([
      { number: 1, kind: 'accepted' },
      { number: 2, kind: 'deferred' },
      { number: 6, kind: 'delivered' },
    ])
    expect(all('SELECT first, last FROM gaps')).toEqual([{ first: 3, last: 5 }])
    database.close()
  },
)
