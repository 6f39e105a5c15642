/** A receiver of `waybill serve --webhook`: verifies each request and prints its outcomes.
 *
 *     WEBHOOK_SECRET=whsec_… PORT=8080 node webhook-receiver.mjs
 *
 * A batch that was answered is not sent again. One whose answer is lost is: `seen` forgets nothing
 * here; a real receiver keeps the number of the last outcome beside what it makes of it, in one
 * transaction. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'

const key = Buffer.from((process.env.WEBHOOK_SECRET ?? '').replace(/^whsec_/, ''), 'base64')
const toleranceSeconds = 300
const bodyBytesMax = 16 * 1024 * 1024
let seen = 0

function isGenuine(headers, body) {
  const timestamp = Number(headers['webhook-timestamp'])
  if (!(Math.abs(Date.now() / 1000 - timestamp) <= toleranceSeconds)) return false
  const signed = `${headers['webhook-id']}.${timestamp}.${body}`
  const expected = createHmac('sha256', key).update(signed).digest()
  return String(headers['webhook-signature'])
    .split(' ')
    .some((one) => {
      const given = Buffer.from(one.replace(/^v1,/, ''), 'base64')
      return given.length === expected.length && timingSafeEqual(given, expected)
    })
}

async function bodyOf(request) {
  const pieces = []
  let bytes = 0
  for await (const piece of request) {
    bytes += piece.length
    if (bytes > bodyBytesMax) throw new Error('the request is too large')
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}

const server = createServer(async (request, response) => {
  try {
    const body = await bodyOf(request)
    if (!isGenuine(request.headers, body)) {
      response.writeHead(401).end()
      return
    }
    for (const outcome of JSON.parse(body).data) {
      if (outcome.kind === 'gap') console.log(`outcomes ${outcome.from} to ${outcome.to} are lost`)
      else if (outcome.number > seen) {
        seen = outcome.number
        console.log(`${outcome.number} ${outcome.kind} ${outcome.id} ${outcome.recipients.join(' ')}`.trim())
      }
    }
    response.writeHead(204).end()
  } catch (error) {
    console.error(error.message)
    response.writeHead(400).end()
  }
})
server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`)
})
