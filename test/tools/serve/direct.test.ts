/** `waybill serve --direct`, as a separate process; its DNS is this machine's, so that nothing is
 * asked of it here. */
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { parseArguments, type Arguments } from '../../../tools/commands/cli/command.js'
import { withAddresses } from '../../../tools/commands/serve/places.js'
import { serve } from '../../../tools/commands/serve/serve.js'
import { routeOf, transportOf } from '../../../tools/commands/serve/delivery.js'
import { type RelayProcess, startedRelay } from '../../end-to-end/relay-process.js'
import { rawClient, untilData, type RawClient } from '../../relay/raw-client.js'
import { deliver } from '../../relay/request.js'
import { serversAt } from '../../relay/smtp-out/mx-out-fixture.js'
import { runWaybill } from '../command-process.js'
import { temporaryDirectory } from '../../temporary-directory.js'

let directory: string
beforeEach(async () => {
  directory = await temporaryDirectory('direct')
})

async function direct(...args: string[]): Promise<{ relay: RelayProcess; client: RawClient }> {
  const relay = await startedRelay(['--direct', '--queue', join(directory, 'queue'), ...args])
  const client = await rawClient(relay.endpoint.port)
  return { relay, client }
}

// Nobody can be connected to there, and the system says so at once.
const nobody = '[255.255.255.255]'

test('mail goes to the destination of its domain, and elsewhere when an operator says so', async () => {
  const { servers, port } = await serversAt({ '127.0.0.2': undefined })
  const { relay, client } = await direct('--retry', '1h', '--hostname', 'relay.example.org')
  await untilData(client, [`one@${nobody}`])
  expect(await client.say('Subject: x\r\n\r\nx\r\n.')).toMatch(/^250 /)
  await expect.poll(() => relay.log).toMatch(/"nexthop":"\[255[^\n]*"status":"4\.4\.1"[^\n]*"msg":"deferred"/)
  expect(relay.log).not.toContain('--hostname')

  const all = ['--queue', join(directory, 'queue'), '--all']
  for (const verb of [['reroute', '--to', `[127.0.0.2]:${port}`], ['flush']])
    expect(await runWaybill([...verb, ...all], { directory })).toMatchObject({ exitCode: 0 })
  await expect.poll(() => servers[0]?.taken.length).toBe(1)
  expect(servers[0]?.commands).toContain('1 EHLO relay.example.org')
})

test('a client that is not trusted sends nothing', async () => {
  const { client } = await direct('--trust', '192.0.2.1')
  const [, , toRecipient] = await untilData(client)
  expect(toRecipient).toMatch(/^554 5\.7\.1 /)
})

test.each(['yes', 'no'])(
  'the client that a balancer names is not trusted as it is: thread %s',
  async (word) => {
    const { relay, client } = await direct('--proxy-protocol', '127.0.0.1', '--smtp-thread', word)
    client.send('PROXY TCP4 192.0.2.1 127.0.0.1 50000 25\r\n')
    const [, , toRecipient] = await untilData(client)
    expect(toRecipient).toMatch(/^554 5\.7\.1 /)
    const unnamed = await rawClient(relay.endpoint.port)
    unnamed.send('EHLO c.example\r\n')
    await unnamed.closed
    await expect.poll(() => relay.log).toContain('no line PROXY from 127.0.0.1')
    const handed = await runWaybill(['sendmail', '--queue', join(directory, 'queue'), `a@${nobody}`], {
      directory,
      input: 'PROXY TCP4 192.0.2.1 127.0.0.1 50000 25\n\nx\n',
    })
    expect(handed).toMatchObject({ exitCode: 0, stderr: '' })
    await expect.poll(() => relay.log).toMatch(/"msg":"accepted"/)
  },
)

test('a name without a domain is warned of', async () => {
  const { relay } = await direct('--hostname', 'relay')
  await expect.poll(() => relay.log).toContain('mail from a host without a domain')
})

const argumentsOf = (...args: string[]): Arguments => parseArguments(serve, ['--direct', ...args])

test.each(['127.0.0.1', '0.0.0.0', 'localhost'])('mail for where it listens loops back: %s', async (host) => {
  const transport = await transportOf(
    argumentsOf(),
    {
      relay: undefined,
      direct: true,
      places: await withAddresses([{ host, port: 25 }]),
      hostname: 'relay.example.org',
      processLimit: 100,
    },
    undefined,
  )
  const request = { nexthop: '[127.0.0.1]', recipients: ['one@[127.0.0.1]'] }
  expect(await deliver(transport, request)).toMatchObject({ kind: 'failed', status: '5.4.6' })
})

test.each(['one@Example.NET', 'two@example.net.'])(
  'a domain is one destination, however it is written: %s',
  (recipient) => {
    expect(routeOf(undefined)(recipient)).toEqual({ transport: 'smtp', nexthop: 'example.net' })
  },
)
