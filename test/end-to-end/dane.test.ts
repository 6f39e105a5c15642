/** DANE where DNSSEC is real: zones that were signed, and unbound, which validates them. */
import { execFileSync, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { DeliveryResult } from '../../src/delivery/transport.js'
import { shown, tlsa, x509 } from '../relay/dane-certificates.js'
import { mxTransportOf } from '../relay/smtp-out/mx-out-fixture.js'
import { requestOf, someData } from '../relay/request.js'
import { tlsServer } from '../relay/tls-server.js'
import { temporaryDirectory } from '../temporary-directory.js'

const unbound = '/usr/sbin/unbound'
const missing = [unbound, '/usr/bin/dnssec-keygen', '/usr/bin/dnssec-signzone'].find(
  (path) => !existsSync(path),
)
if (missing !== undefined)
  process.stdout.write(
    `skipped: DNSSEC that is real needs ${missing} (Debian packages unbound, bind9-utils)\n`,
  )

/** Of a certificate for TLSA records: that of the server, and another one. */
const digestOf = (name: 'mx' | 'root'): string =>
  tlsa('3 1 1', x509(name)).certificate.toString('hex').toUpperCase()

const zoneText = (zone: string, port: number, digest: string): string =>
  [
    '$TTL 60',
    `@ SOA ns.${zone}. h.${zone}. 1 3600 600 86400 60`,
    `@ NS ns.${zone}.`,
    'ns A 127.0.0.1',
    `@ MX 10 mx.${zone}.`,
    'mx A 127.0.0.1',
    `_${port}._tcp.mx TLSA 3 1 1 ${digest}`,
    `alias MX 10 elsewhere.${zone}.`,
    `elsewhere CNAME mx.${zone}.`,
    `none MX 10 mx2.${zone}.`,
    'mx2 A 127.0.0.1',
    '',
  ].join('\n')

interface Zone {
  readonly name: string
  readonly digest: string
  readonly isSigned: boolean
  /** What somebody writes into it when it is signed. */
  readonly forged?: string
}

/** @returns lines of unbound's configuration */
async function zoneIn(directory: string, port: number, zone: Zone): Promise<string[]> {
  const { name, digest, isSigned, forged } = zone
  const path = join(directory, name)
  await writeFile(path, zoneText(name, port, digest))
  const lines = ['auth-zone:', `name: "${name}"`, 'for-downstream: no', 'for-upstream: yes']
  if (!isSigned) return [...lines, `zonefile: "${path}"`]
  const keys = ['-K', directory, '-a', 'ECDSAP256SHA256']
  execFileSync('dnssec-keygen', [...keys, '-f', 'KSK', name], { stdio: 'pipe' })
  const anchor = readdirSync(directory).find((file) => file.startsWith(`K${name}.`) && file.endsWith('.key'))!
  execFileSync('dnssec-keygen', [...keys, name], { stdio: 'pipe' })
  const signed = `${path}.signed`
  execFileSync('dnssec-signzone', ['-S', '-K', directory, '-d', directory, '-o', name, '-f', signed, path], {
    stdio: 'pipe',
  })
  if (forged !== undefined) {
    const text = await readFile(signed, 'utf8')
    const written = /(\tTLSA\t3 1 1 \()[\s\dA-F]+\)/
    expect(text).toMatch(written)
    await writeFile(signed, text.replace(written, `$1 ${forged} )`))
  }
  return [...lines, `zonefile: "${signed}"`, 'server:', `trust-anchor-file: "${join(directory, anchor)}"`]
}

/** An address of this machine on which nobody else listens, and a port of it. */
async function freeEndpoint(): Promise<{ address: string; port: number }> {
  const address = `127.${randomInt(1, 255)}.${randomInt(256)}.${randomInt(1, 255)}`
  const socket = createSocket('udp4').bind(0, address)
  await once(socket, 'listening')
  const { port } = socket.address()
  socket.close()
  return { address, port }
}

/** @returns `127.1.2.3:1234` */
async function resolverOf(zones: readonly Zone[], port: number): Promise<string> {
  const directory = await temporaryDirectory('dane')
  const endpoint = await freeEndpoint()
  const lines = [
    'server:',
    `interface: ${endpoint.address}@${endpoint.port}`,
    'chroot: ""',
    'username: ""',
    `directory: "${directory}"`,
    'pidfile: ""',
    'use-syslog: no',
    'logfile: ""',
    'local-zone: "test." nodefault',
    'remote-control:',
    'control-enable: no',
  ]
  for (const zone of zones) lines.push(...(await zoneIn(directory, port, zone)))
  const config = join(directory, 'unbound.conf')
  await writeFile(config, `${lines.join('\n')}\n`)
  const child = spawn(unbound, ['-d', '-c', config], { stdio: ['ignore', 'ignore', 'pipe'] })
  onTestFinished(async () => {
    child.kill()
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
  await new Promise<void>((resolve, reject) => {
    let log = ''
    child.stderr.on('data', (chunk: Buffer) => {
      log += chunk.toString()
      if (log.includes('start of service')) resolve()
    })
    child.stderr.once('end', () => reject(new Error(`unbound ended: ${log}`)))
  })
  return `${endpoint.address}:${endpoint.port}`
}

test.skipIf(missing !== undefined)(
  'a resolver that validates: mail goes to hosts of signed records, and a forged record lets none out',
  async () => {
    const server = await tlsServer(shown('mx'))
    const right = digestOf('mx')
    const wrong = digestOf('root')
    const daneServer = await resolverOf(
      [
        { name: 'right.test', digest: right, isSigned: true },
        { name: 'wrong.test', digest: wrong, isSigned: true },
        { name: 'forged.test', digest: wrong, isSigned: true, forged: right },
        { name: 'plain.test', digest: wrong, isSigned: false },
      ],
      server.port,
    )
    const transport = mxTransportOf({
      port: server.port,
      tls: 'opportunistic',
      dane: true,
      daneServers: [daneServer],
    })
    const sent = async (nexthop: string): Promise<DeliveryResult> =>
      transport.deliver(requestOf(someData, { nexthop }), new AbortController().signal)

    expect(await sent('right.test')).toMatchObject({ kind: 'delivered' })
    expect(await sent('alias.right.test')).toMatchObject({ kind: 'delivered' })
    expect(server.taken.map(({ secure }) => secure)).toEqual([true, true])

    const match = { kind: 'site', status: '4.7.5', reason: expect.stringContaining('no TLSA record of') }
    expect(await sent('wrong.test')).toMatchObject(match)
    expect(await sent('alias.wrong.test')).toMatchObject(match)
    const servfail = { kind: 'site', status: '4.7.5', reason: expect.stringContaining('ESERVFAIL') }
    expect(await sent('forged.test')).toMatchObject(servfail)
    expect(server.taken).toHaveLength(2)

    expect(await sent('none.wrong.test')).toMatchObject({ kind: 'delivered' })
    expect(await sent('plain.test')).toMatchObject({ kind: 'delivered' })
    expect(await sent('nobody.right.test')).toMatchObject({ kind: 'site', status: '4.3.5' })
    expect(server.taken).toHaveLength(4)
  },
)
