/** `waybill serve --source-address`: what is refused, and that mail leaves from there,
 * whichever way. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parseArguments } from '../../../tools/commands/cli/command.js'
import { serve } from '../../../tools/commands/serve/serve.js'
import { transportOf } from '../../../tools/commands/serve/delivery.js'
import { serversAt } from '../../relay/smtp-out/mx-out-fixture.js'
import { deliver } from '../../relay/request.js'
import { runWaybill } from '../command-process.js'
import { temporaryDirectory } from '../../temporary-directory.js'

test.each(['to the relay', 'past the relay', 'directly'])('mail leaves from it: %s', async (way) => {
  const seen = new Set<string | undefined>()
  const host = '127.0.0.2'
  const { port } = await serversAt({ [host]: (_, { address }) => void seen.add(address) })
  const args = parseArguments(serve, ['--source-address', '127.0.0.3', '--source-address', '::1'])
  const surroundings = {
    relay: way === 'directly' ? undefined : { host: way === 'to the relay' ? host : '127.0.0.4', port },
    direct: way === 'directly',
    places: [],
    hostname: 'relay.example.org',
    processLimit: 10,
  }
  const transport = await transportOf(args, surroundings, undefined)
  onTestFinished(() => transport.close?.())
  expect(await deliver(transport, { nexthop: `[${host}]:${port}` })).toMatchObject({ kind: 'delivered' })
  expect([...seen]).toEqual(['127.0.0.3'])
})

test.each([
  [['--maildir', 'm', '--source-address', '127.0.0.3'], /--source-address is for mail that goes to servers/],
  [['--direct', '--source-address', 'localhost'], /--source-address: "localhost" is no address/],
  [
    ['--relay', 'a', '--source-address', '127.0.0.3', '--source-address', '0.0.0.0'],
    /--source-address: two addresses of IPv4/,
  ],
])('wrong options are refused before anything is made: %j', async (args, says) => {
  const directory = await temporaryDirectory('source')
  const ended = await runWaybill(['serve', '--queue', join(directory, 'queue'), ...args], { directory })
  expect(ended).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(says) as string })
  expect(await readdir(directory)).toEqual([])
})
