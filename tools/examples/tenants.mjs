/** A queue for each tenant, in one process: the mail of one waits, fills its bounds or is damaged, and
 * the others go on. Each has its directory, and so its lock, log, limits and backups.
 *
 *     TENANTS='{"acme":"mx.acme.example:25","globex":"mx.globex.example:25"}' \
 *       ROOT=./tenants PORT=3000 node tenants.mjs
 *     curl --data-binary @mail.eml 'http://127.0.0.1:3000/acme?to=ada@acme.example'
 *
 * Small segments, because a queue at rest takes four of them: 16 MiB here for each tenant. */
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isWaybillError, openQueue, postfixRetry, smtpTransport } from 'waybill'

const { TENANTS = '{}', ROOT = './tenants', PORT = '3000' } = process.env
const servers = new Map(Object.entries(JSON.parse(TENANTS)))

await mkdir(ROOT, { recursive: true })

/** Opened when the process starts: mail that waits goes on, also of who sends nothing today. */
const queues = new Map()
for (const tenant of servers.keys()) queues.set(tenant, await opened(tenant))

async function opened(tenant) {
  const [host, port] = servers.get(tenant).split(':')
  const queue = await openQueue(join(ROOT, tenant), {
    segmentBytes: 4 * 1024 * 1024,
    laneSegmentBytes: 1024 * 1024,
    // What one tenant may have under way, so that the descriptors are enough for all.
    activeCountMax: 1000,
    scheduler: { transports: { smtp: { processLimit: 10 } } },
    transports: { smtp: smtpTransport({ host, port: Number(port) }) },
    route: () => ({ transport: 'smtp', nexthop: host }),
    retry: postfixRetry(),
  })
  // One that meets its end is opened again; the others notice nothing.
  queue.on('crashed', ({ error }) => {
    if (error === undefined) return
    console.error(tenant, error)
    queues.delete(tenant)
    setTimeout(async () => queues.set(tenant, await opened(tenant)), 5000)
  })
  queue.on('failed', ({ recipients, text }) => console.error(`${tenant}: ${recipients.join(' ')}: ${text}`))
  return queue
}

const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost')
  const tenant = pathname.slice(1)
  const answer = (status, body) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(`${JSON.stringify(body)}\n`)
  const queue = queues.get(tenant)
  if (queue === undefined)
    return servers.has(tenant)
      ? answer(503, { error: 'the queue is opened again' })
      : answer(404, { error: 'no such tenant' })
  if (request.method === 'GET') return answer(200, { waiting: queue.stats().activeCount })
  try {
    const data = await buffer(request)
    const sender = searchParams.get('from') ?? ''
    answer(202, await queue.submit({ sender, recipients: searchParams.getAll('to'), data }))
  } catch (error) {
    if (!isWaybillError(error)) throw error
    const isLater = ['DISK_FULL', 'DISK_FAILED', 'QUEUE_CRASHED'].includes(error.code)
    answer(isLater ? 503 : 400, { error: error.message, code: error.code })
  }
})
server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`)
})
