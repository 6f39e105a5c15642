/** The numbers of a relay, from a separate process. */
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { answerForMetrics } from '../../../tools/commands/serve/metrics.js'
import { atAddresses } from '../../../tools/commands/serve/places.js'
import { type RelayProcess, startedRelay } from '../../end-to-end/relay-process.js'
import { certPath, expiredCertPath, keyPath, renewedCertPath } from '../../relay/certificate.js'
import { rawClient, untilData } from '../../relay/raw-client.js'
import { runWaybill } from '../command-process.js'
import { temporaryDirectory } from '../../temporary-directory.js'

async function temporary(): Promise<string> {
  const directory = await temporaryDirectory('metrics')
  return directory
}

async function served(directory: string, ...args: string[]): Promise<RelayProcess> {
  const places = ['--queue', join(directory, 'queue'), '--maildir', join(directory, 'maildir')]
  return startedRelay([...places, ...args])
}

const addressIn = ({ output }: RelayProcess): string | undefined =>
  /^metrics on (http:\/\/127\.0\.0\.1:\d+\/metrics)$/m.exec(output)?.[1]

test.each(['yes', 'no'])(
  'a relay tells where its numbers are, and they are of its mail; a thread for clients: %s',
  async (word) => {
    const relay = await served(await temporary(), '--metrics', '0', '--smtp-thread', word)
    const address = addressIn(relay)!
    expect(address).toBeDefined()
    await expect.poll(() => relay.log).toContain(`"metrics":"${new URL(address).host}"`)
    const client = await rawClient(relay.endpoint.port)
    await untilData(client)
    await client.say('Subject: x\r\n\r\nx\r\n.')
    client.destroy()
    const numbers = async (): Promise<string> => (await fetch(address)).text()
    await expect.poll(numbers).toContain('waybill_outcomes_total{outcome="delivered"} 1\n')
    const text = await numbers()
    expect(text).toContain('\nwaybill_accepted_messages_total 1\n')
    expect(text).toMatch(/^waybill_recovery_seconds 0\.\d+$/m)
    expect(text).toMatch(/^process_resident_memory_bytes \d+$/m)
    expect((await fetch(new URL('/healthz', address))).status).toBe(200)
  },
)

test('a relay with a certificate tells when it expires, and what a reload has taken up', async () => {
  const directory = await temporary()
  const files = { '--tls-cert': join(directory, 'cert.pem'), '--tls-key': join(directory, 'key.pem') }
  await copyFile(certPath, files['--tls-cert'])
  await copyFile(keyPath, files['--tls-key'])
  const relay = await served(directory, '--metrics', '0', ...Object.entries(files).flat())
  const told = async (...names: string[]): Promise<number[]> => {
    const text = await (await fetch(addressIn(relay)!)).text()
    return names.map((name) => Number(new RegExp(`^waybill_${name} (\\S+)$`, 'm').exec(text)?.[1]))
  }
  const expiry = 'certificate_expiry_timestamp_seconds'
  const isSuccessful = 'config_last_reload_successful'
  const successTime = 'config_last_reload_success_timestamp_seconds'
  const [, startedAt] = await told(expiry, successTime)
  expect(await told(expiry, isSuccessful)).toEqual([Date.parse('2126-10-28T15:41:17Z') / 1000, 1])
  expect(Math.abs(startedAt! - Date.now() / 1000)).toBeLessThan(60)
  const reload = async (exitCode: number): Promise<void> =>
    expect(await runWaybill(['reload', '--queue', join(directory, 'queue')], { directory })).toMatchObject({
      exitCode,
    })
  await copyFile(renewedCertPath, files['--tls-cert'])
  await reload(1)
  expect(await told(isSuccessful, successTime)).toEqual([0, startedAt])
  await copyFile(expiredCertPath, files['--tls-cert'])
  await reload(0)
  expect(await told(expiry, isSuccessful)).toEqual([Date.parse('2026-11-21T23:59:34Z') / 1000, 1])
  expect((await told(successTime))[0]).toBeGreaterThan(startedAt!)
})

test('without --metrics no port is opened for it', async () => {
  const relay = await served(await temporary())
  expect(relay.output).toBe(`listening on 127.0.0.1:${relay.endpoint.port}\n`)
})

test('a name is answered for at all of its addresses, or at none', async () => {
  const endpoints = await atAddresses('metrics', { host: 'relay.test', port: 0 }, async () => [
    '127.0.0.1',
    '127.0.0.2',
    '127.0.0.1',
  ])
  const queue = { isCrashed: false }
  const registry = new Registry()
  const log = pino({ level: 'silent' })
  const said: string[] = []
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => said.push(String(text)) > 0)
  onTestFinished(() => void vi.restoreAllMocks())
  const listeners = await answerForMetrics(queue, registry, endpoints, log)
  onTestFinished(() => listeners.forEach((listener) => listener.close()))
  expect(listeners.map(({ host }) => host)).toEqual(['127.0.0.1', '127.0.0.2'])
  expect(said).toEqual(listeners.map(({ host, port }) => `metrics on http://${host}:${port}/metrics\n`))
  for (const { host, port } of listeners)
    expect((await fetch(`http://${host}:${port}/metrics`)).status).toBe(200)

  const { port } = listeners[0]!
  const both = ['127.0.0.2', '127.0.0.1'].map((host) => ({ host, port }))
  await expect(answerForMetrics(queue, registry, both, log)).rejects.toMatchObject({ code: 'EADDRINUSE' })
  await expect(fetch(`http://127.0.0.2:${port}/metrics`)).rejects.toThrow('fetch failed')
  expect(said).toHaveLength(2)
})

test('--metrics takes a name, and says what it answers at', async () => {
  const relay = await served(await temporary(), '--metrics', 'localhost:0')
  const addresses = Array.from(relay.output.matchAll(/^metrics on (\S+)$/gm), ([, address]) => address!)
  expect(addresses.length).toBeGreaterThan(0)
  for (const address of addresses) expect((await fetch(address)).status).toBe(200)
})

test('a port for numbers that is taken is refused, and so is one for mail with numbers open', async () => {
  const directory = await temporary()
  const relay = await served(directory, '--metrics', '127.0.0.1:0')
  const { host } = new URL(addressIn(relay)!)
  const taken = `127.0.0.1:${relay.endpoint.port}`
  for (const args of [
    ['--metrics', host, '--listen', '127.0.0.1:0'],
    ['--metrics', '127.0.0.1:0', '--listen', taken],
  ])
    expect(
      await runWaybill(['serve', '--queue', join(directory, 'other'), ...args], { directory }),
    ).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('EADDRINUSE') as string,
    })
})

test.each(['nowhere:port', '127.0.0.1', ''])('--metrics %j is a usage error', async (text) => {
  const directory = await temporary()
  expect(await runWaybill(['serve', '--metrics', text], { directory })).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('--metrics takes HOST:PORT') as string,
  })
})
