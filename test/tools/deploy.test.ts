/** The files that operators copy: what they name is there, and the sample configuration
 * starts a relay. */
import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { countedByEvents, notedByEvents } from '../../src/adapters/event-metrics.js'
import { asked, followed, measured } from '../../src/adapters/metrics.js'
import { upMetric } from '../../src/adapters/prometheus.js'
import { relayMetrics } from '../../tools/commands/serve/metrics.js'
import { startedRelay } from '../end-to-end/relay-process.js'
import { freePort, hasIpv6 } from '../free-port.js'
import { project } from '../project.js'
import { certificate } from '../relay/certificate.js'
import { runWaybill } from './command-process.js'

const deploy = fileURLToPath(new URL('../../tools/deploy', import.meta.url))
const text = (name: string): string => readFileSync(join(deploy, name), 'utf8')

test.each(['alerts.yaml', 'dashboard.json'])('every metric that %s names is there', (name) => {
  const metrics = new Set(
    [upMetric, ...measured, ...asked, ...followed, ...countedByEvents, ...notedByEvents, ...relayMetrics].map(
      (metric) => metric.name,
    ),
  )
  const named = [...new Set(text(name).match(/\bwaybill_\w+/g))]
  expect(named.length).toBeGreaterThan(9)
  expect(named.filter((metric) => !metrics.has(metric))).toEqual([])
})

test('the sample configuration starts a relay, on other ports and with secrets of its own', async () => {
  const directory = project()
  cpSync(deploy, directory, { recursive: true })
  writeFileSync(join(directory, 'fullchain.pem'), certificate.cert)
  writeFileSync(join(directory, 'privkey.pem'), certificate.key, { mode: 0o600 })
  const inDirectory = { directory, input: 'secret\n' }
  expect(
    (await runWaybill(['password', '--file', join(directory, 'users'), 'ada'], inDirectory)).exitCode,
  ).toBe(0)
  const key = ['dkim-key', 'example.org', 's2026', join(directory, 's2026.pem')]
  expect((await runWaybill(key, { directory, input: '' })).exitCode).toBe(0)
  const conf = text('waybill.conf')
    .replace('/var/lib/waybill/queue', join(directory, 'queue'))
    .replace(/:25$/gm, `:${await freePort()}`)
    .replace(/:465$/gm, `:${await freePort()}`)
    .replace('127.0.0.1:9464', '127.0.0.1:0')
    .replace(hasIpv6 ? '' : /^.*\[::\].*$/gm, '')
  writeFileSync(join(directory, 'waybill.conf'), conf)
  const args = ['--config', join(directory, 'waybill.conf')]
  const relay = await startedRelay(args, {}, { listens: false })
  await expect.poll(() => relay.output.match(/listening on/g)).toHaveLength(hasIpv6 ? 4 : 2)
  expect(relay.output).toContain('metrics on http://127.0.0.1:')
})

const exposureMax = 2
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0

test.runIf(hasSystemd)('systemd finds the unit well sandboxed (where systemd-analyze is installed)', () => {
  const unit = join(deploy, 'waybill.service')
  const { stdout, status } = spawnSync(
    'systemd-analyze',
    ['security', '--offline=true', '--no-pager', unit],
    {
      encoding: 'utf8',
    },
  )
  expect(status).toBe(0)
  const exposure = /Overall exposure level for \S+: ([\d.]+)/.exec(stdout)?.[1]
  expect(Number(exposure)).toBeLessThanOrEqual(exposureMax)
})
