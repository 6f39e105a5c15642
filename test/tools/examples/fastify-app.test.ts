/** The application that sends mail from a queue in it. */
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { foreignServer } from '../../relay/foreign-server.js'
import { laySmallQueue } from '../../end-to-end/laid-queue.js'
import { exampleProcess } from './example-process.js'
import { temporaryDirectory } from '../../temporary-directory.js'

test('mail of an order that was answered arrives, also when the application is killed before', async () => {
  const directory = await temporaryDirectory('example')
  const queue = join(directory, 'queue')
  laySmallQueue(queue)
  let isOpen = false
  const server = await foreignServer(() => (isOpen ? undefined : '421 4.3.2 come again'))
  onTestFinished(() => server.close())
  const environment = { QUEUE: queue, PORT: '0', SMTP: `127.0.0.1:${server.port}` }
  const app = await exampleProcess('fastify-app.mjs', environment)
  const order = (body: object): Promise<Response> =>
    fetch(`${app.url}/orders`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  expect((await order({ email: 'nobody', item: 'a compiler' })).status).toBe(400)
  const answer = await order({ email: 'ada@example.org', item: 'a compiler' })
  expect(answer.status).toBe(201)
  await app.kill()
  expect(server.taken).toEqual([])
  isOpen = true
  await exampleProcess('fastify-app.mjs', environment)
  await expect.poll(() => server.taken.length).toBe(1)
})
