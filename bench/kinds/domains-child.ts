/** The process in a separate network, with the resolver, the mail hosts of all domains, and the
 * relays. Prints the rows. */
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { postfix } from '../relays/postfix.js'
import { placed, type Relay, type RelayOptions } from '../relays/relay.js'
import { started } from '../relays/started.js'
import { waybill } from '../relays/waybill.js'
import { mailOf } from '../sessions/send.js'
import { Sink } from '../sessions/sink.js'
import { rowsOf } from '../sessions/turns.js'

const domainCount = 1000
const kibibyte = 1024

/** Each domain has another address, none of which is a relay's. */
const addressOf = (number: number): string => `127.1.${Math.floor(number / 200)}.${(number % 200) + 1}`

async function main(directory: string, isSmoke: boolean): Promise<void> {
  chmodSync(directory, 0o711)
  const names = Array.from({ length: domainCount }, (_, i) => [
    `mx-host=domain${i}.test,mx.domain${i}.test,10`,
    `host-record=mx.domain${i}.test,${addressOf(i)}`,
  ]).flat()
  const usual = [
    'no-resolv',
    'no-hosts',
    'user=root',
    'listen-address=127.0.0.1',
    'local=/test/',
    'local-ttl=300',
  ]
  const zone = join(directory, 'dnsmasq.conf')
  writeFileSync(zone, `${[...usual, ...names].join('\n')}\n`)
  const resolver = await started(
    '/usr/sbin/dnsmasq',
    ['--keep-in-foreground', `--conf-file=${zone}`, '--pid-file='],
    join(directory, 'dnsmasq.log'),
  )
  const sink = await Sink.start(undefined, { host: '0.0.0.0', port: 25 })
  const relays: Relay[] = []
  try {
    const at = (name: string): RelayOptions => placed(join(directory, name), sink.port)
    relays.push(await waybill({ ...at('waybill'), isDirect: true }))
    relays.push(await postfix({ ...at('postfix'), more: ['relayhost ='] }))
    const mails = Array.from({ length: domainCount }, (_, i) => mailOf(kibibyte, [`ada@domain${i}.test`]))
    const sending = { mail: (id: number) => mails[id % domainCount]! }
    process.stdout.write(`\n${JSON.stringify(await rowsOf(relays, sink, sending, isSmoke))}\n`)
  } finally {
    for (const relay of relays) await relay.stop()
    await sink.stop()
    await resolver.stop()
  }
}

await main(process.argv[2]!, process.argv[3] === 'smoke')
