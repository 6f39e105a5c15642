/** Several relays behind one port, each with a separate queue. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { expect, onTestFinished, test } from 'vitest'
import { canSharePorts } from '../../../src/relay/listening.js'
import { argsOf, RelayProcess } from '../../end-to-end/relay-process.js'
import { rawClient, untilData } from '../../relay/raw-client.js'
import { temporaryDirectory } from '../../temporary-directory.js'

const here = `this is Node ${process.versions.node}`

test.each([
  ['20.20.2', false],
  ['23.0.9', false],
  ['23.1.0', true],
  ['24.0.0', true],
])('Node %s shares ports: %s', (node, can) => {
  expect(canSharePorts(node)).toBe(can)
})

async function relayIn(directory: string, name: string): Promise<RelayProcess> {
  const relay = new RelayProcess(
    argsOf({ queue: join(directory, name), maildir: join(directory, `${name}-mail`), 'share-port': 'yes' }),
  )
  onTestFinished(() => relay.kill())
  return relay
}

async function placeOfTest(): Promise<string> {
  const directory = await temporaryDirectory('share-port')
  return directory
}

test.skipIf(!canSharePorts())(
  `two relays take mail at one port, each into its own queue (needs Node 23.1; ${here})`,
  async () => {
    const directory = await placeOfTest()
    const one = await relayIn(directory, 'one')
    const two = await relayIn(directory, 'two')
    await one.start()
    two.endpoint = one.endpoint
    await two.start()
    expect(two.endpoint).toEqual(one.endpoint)
    const sent = 40
    for (let i = 0; i < sent; i++) {
      const client = await rawClient(one.endpoint.port)
      await untilData(client, ['grace@example.net'])
      expect(await client.say(`Subject: ${i}\r\n\r\nx\r\n.`)).toMatch(/^250 /)
      client.destroy()
    }
    const inMaildirOf = async (name: string): Promise<number> =>
      (await readdir(join(directory, `${name}-mail`, 'grace@example.net', 'new')).catch(() => [])).length
    const counts = async (): Promise<number[]> => [await inMaildirOf('one'), await inMaildirOf('two')]
    await expect.poll(async () => (await counts()).reduce((sum, n) => sum + n)).toBe(sent)
    expect(Math.min(...(await counts()))).toBeGreaterThan(0)
  },
)

test.skipIf(canSharePorts())(
  `a Node that cannot share ports says so (needs one before 23.1; ${here})`,
  async () => {
    const relay = await relayIn(await placeOfTest(), 'one')
    await relay.start()
    expect(relay.log).toContain('--share-port needs Node 23.1 or later')
  },
)
