/** A web application that sends mail: `sendMail` settles when the mail is durable, so the answer to the
 * customer waits for no other server, and no mail is lost when the application is killed.
 *
 *     SMTP=mail.example.net:25 QUEUE=./mail-queue PORT=3000 node fastify-app.mjs
 *     curl -H 'Content-Type: application/json' \
 *       -d '{ "email": "ada@example.org", "item": "a compiler" }' http://127.0.0.1:3000/orders
 *
 * It wants `waybill`, `nodemailer` and `fastify`. One process has the queue open: an application with
 * several processes runs `waybill serve`, and posts to its HTTP API. */
import { fastify } from 'fastify'
import { createTransport } from 'nodemailer'
import { openQueue, postfixRetry, smtpTransport } from 'waybill'
import { queueTransport } from 'waybill/nodemailer'

const { SMTP = '127.0.0.1:25', QUEUE = './mail-queue', PORT = '3000' } = process.env
const [host, port] = SMTP.split(':')

const queue = await openQueue(QUEUE, {
  transports: { smtp: smtpTransport({ host, port: Number(port) }) },
  route: () => ({ transport: 'smtp', nexthop: host }),
  retry: postfixRetry(),
})
// The queue has met its end: a supervisor starts the next life.
queue.on('crashed', ({ error }) => {
  if (error === undefined) return
  console.error(error)
  process.exit(1)
})
queue.on('failed', ({ recipients, text }) => console.log(`no mail for ${recipients.join(' ')}: ${text}`))

const mailer = createTransport(queueTransport(queue))
const app = fastify()

const order = {
  type: 'object',
  required: ['email', 'item'],
  additionalProperties: false,
  properties: {
    email: { type: 'string', format: 'email', maxLength: 254 },
    item: { type: 'string', minLength: 1, maxLength: 200 },
  },
}

app.post('/orders', { schema: { body: order } }, async (request, reply) => {
  const { email, item } = request.body
  const { queueId } = await mailer.sendMail({
    from: { name: 'The shop', address: 'shop@example.org' },
    to: { name: '', address: email },
    subject: `Your order: ${item}`,
    text: `Thank you for ordering ${item}.`,
  })
  reply.code(201)
  return { mail: queueId }
})

app.get('/mail', () => {
  const { activeCount, lanes } = queue.stats()
  return { activeCount, waiting: lanes.some(({ waitingBytes }) => waitingBytes > 0) }
})

// Deliveries under way may end, so that the next life does not repeat them.
for (const signal of ['SIGTERM', 'SIGINT'])
  process.once(signal, async () => {
    await app.close()
    await queue.drain({ signal: AbortSignal.timeout(10_000) })
    queue.crash()
    process.exit(0)
  })

console.log(`listening on ${await app.listen({ host: '127.0.0.1', port: Number(PORT) })}`)
