/** What `waybill serve` tells the transport that it delivers by. */
import { expect, onTestFinished, test } from 'vitest'
import { parseArguments } from '../../../tools/commands/cli/command.js'
import { serve } from '../../../tools/commands/serve/serve.js'
import { transportOf } from '../../../tools/commands/serve/delivery.js'
import { deliver } from '../../relay/request.js'
import { scripted } from '../../relay/smtp-out/smtp-out-fixture.js'

test('as many connections are busy at once as the process limit says', async () => {
  const server = await scripted((line) => (line === 'DATA' ? { does: 'hang' } : undefined))
  const processLimit = 210
  const transport = await transportOf(
    parseArguments(serve, []),
    {
      relay: { host: server.host, port: server.port },
      direct: false,
      places: [{ host: '127.0.0.1', port: 0 }],
      hostname: 'relay.example.org',
      processLimit,
    },
    undefined,
  )
  onTestFinished(() => transport.close?.())
  const nexthop = `${server.host}:${server.port}`
  const attempts = Array.from({ length: processLimit }, () => deliver(transport, { nexthop }))
  await expect.poll(() => server.busyCount()).toBe(processLimit)
  server.close()
  await Promise.all(attempts)
})

test('a process limit of half the largest number of connections and more is a limit like others', async () => {
  const surroundings = {
    relay: { host: '127.0.0.1', port: 25 },
    direct: false,
    places: [{ host: '127.0.0.1', port: 0 }],
    hostname: 'relay.example.org',
    processLimit: 600_000,
  }
  await expect(transportOf(parseArguments(serve, []), surroundings, undefined)).resolves.toBeDefined()
})
