/** A receiver of `waybill serve --webhook` that keeps what became of each message in SQLite.
 *
 *     WEBHOOK_SECRET=whsec_… DATABASE=./mail.db PORT=8080 node webhooks-to-sqlite.mjs
 *
 * Outcomes and the number of the last one are written in one transaction, and the request is answered
 * behind it. So each outcome is in the database once: a request whose answer was lost comes again, and
 * its numbers are known. It wants Node.js 22.13 or later for `node:sqlite`. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { DatabaseSync } from 'node:sqlite'

const { WEBHOOK_SECRET = '', DATABASE = './mail.db', PORT = '0' } = process.env
const key = Buffer.from(WEBHOOK_SECRET.replace(/^whsec_/, ''), 'base64')
const toleranceSeconds = 300
const bodyBytesMax = 16 * 1024 * 1024

const database = new DatabaseSync(DATABASE)
database.exec(`
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS outcomes (
    number INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    message TEXT NOT NULL,
    kind TEXT NOT NULL,
    sender TEXT NOT NULL,
    recipients TEXT NOT NULL,
    status TEXT NOT NULL,
    text TEXT NOT NULL
  );
  CREATE INDEX IF NOT EXISTS outcomes_of_message ON outcomes (message);
  CREATE TABLE IF NOT EXISTS gaps (first INTEGER PRIMARY KEY, last INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS seen (one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER NOT NULL);
  INSERT OR IGNORE INTO seen VALUES (1, 0);
`)
const insert = database.prepare('INSERT INTO outcomes VALUES (?, ?, ?, ?, ?, ?, ?, ?)')
const insertGap = database.prepare('INSERT OR IGNORE INTO gaps VALUES (?, ?)')
const lastSeen = database.prepare('SELECT number FROM seen')
const see = database.prepare('UPDATE seen SET number = ?')

function keep(items) {
  database.exec('BEGIN IMMEDIATE')
  try {
    let { number: seen } = lastSeen.get()
    for (const item of items) {
      const last = item.kind === 'gap' ? item.to : item.number
      if (last <= seen) continue
      if (item.kind === 'gap') insertGap.run(item.from, item.to)
      else {
        const { number, at, id, kind, sender, recipients, status, text } = item
        insert.run(number, at, id, kind, sender, recipients.join(' '), status, text)
      }
      seen = last
    }
    see.run(seen)
    database.exec('COMMIT')
  } catch (error) {
    database.exec('ROLLBACK')
    throw error
  }
}

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
    if (!isGenuine(request.headers, body)) return response.writeHead(401).end()
    keep(JSON.parse(body).data)
    response.writeHead(204).end()
  } catch (error) {
    // The relay posts it again.
    console.error(error.message)
    response.writeHead(500).end()
  }
})
server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`)
})
