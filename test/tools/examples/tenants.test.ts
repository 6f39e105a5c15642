/** The example of a queue for each tenant. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { runWaybill } from '../command-process.js'
import { foreignServer } from '../../relay/foreign-server.js'
import { exampleProcess } from './example-process.js'
import { temporaryDirectory } from '../../temporary-directory.js'

test('the mail of one tenant waits, and that of another goes, also when the process is killed', async () => {
  const root = await temporaryDirectory('tenants')
  const acme = await foreignServer()
  let isOpen = false
  const globex = await foreignServer(() => (isOpen ? undefined : '421 4.3.2 come again'))
  onTestFinished(() => {
    acme.close()
    globex.close()
  })
  const tenants = { acme: `127.0.0.1:${acme.port}`, globex: `127.0.0.1:${globex.port}` }
  const environment = { ROOT: root, PORT: '0', TENANTS: JSON.stringify(tenants) }
  const app = await exampleProcess('tenants.mjs', environment)
  const post = (tenant: string): Promise<Response> =>
    fetch(`${app.url}/${tenant}?to=ada@example.org&from=app@example.net`, {
      method: 'POST',
      body: 'Subject: hello\r\n\r\nhello\r\n',
    })
  expect((await post('nobody')).status).toBe(404)
  expect((await fetch(`${app.url}/acme`, { method: 'POST', body: 'no recipient' })).status).toBe(400)
  for (const tenant of ['globex', 'acme']) expect((await post(tenant)).status).toBe(202)
  await expect.poll(() => acme.taken.length).toBe(1)
  expect(globex.taken).toEqual([])
  expect(await readdir(root)).toEqual(['acme', 'globex'])
  // A kill before what became of it is written would send it again.
  const listed = async (): Promise<string> =>
    (await runWaybill(['mailq', '--queue', join(root, 'acme')], { directory: root })).stdout
  await expect.poll(listed).toMatch(/queue is empty/)
  await app.kill()
  isOpen = true
  // What became durable of the refusal decides whether it waits for its retry.
  const flushed = await runWaybill(['flush', '--all', '--queue', join(root, 'globex')], { directory: root })
  expect(flushed.exitCode).toBe(0)
  await exampleProcess('tenants.mjs', environment)
  await expect.poll(() => globex.taken.length).toBe(1)
  expect(acme.taken.length).toBe(1)
})
