/** Mail that is signed: Waybill signs, Postfix has it signed by OpenDKIM, with the same key. */
import { execFile } from 'node:child_process'
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { packageRoot } from '../machine.js'
import { freePort } from '../relays/free-port.js'
import { started } from '../relays/started.js'
import type { Settings } from './settings.js'

const signer = '/usr/sbin/opendkim'
const domain = 'example.org'
const selector = 'bench'

/** @param note called when there is no OpenDKIM */
export async function signed(directory: string, note: (text: string) => void): Promise<Settings> {
  const key = join(directory, 'key')
  const command = join(packageRoot(), 'dist/bundle/waybill.js')
  await promisify(execFile)(process.execPath, [command, 'dkim-key', domain, selector, key])
  const table = join(directory, 'dkim')
  writeFileSync(table, `${domain} ${selector} ${key}\n`)
  const waybill = ['--dkim', table]
  if (!existsSync(signer)) {
    note(`${signer} is not there (Debian: opendkim): Postfix signs nothing, and was not measured.`)
    return { waybill, postfix: undefined }
  }
  const port = await freePort()
  const config = join(directory, 'opendkim.conf')
  const lines = [
    'Syslog no',
    'Mode s',
    'Canonicalization relaxed/relaxed',
    `Domain ${domain}`,
    `Selector ${selector}`,
    `KeyFile ${key}`,
    'RequireSafeKeys no',
    'InternalHosts 127.0.0.0/8',
    `Socket inet:${port}@127.0.0.1`,
  ]
  writeFileSync(config, `${lines.join('\n')}\n`)
  chmodSync(key, 0o600)
  const log = join(directory, 'opendkim.log')
  const daemon = await started(signer, ['-f', '-x', config], log)
  // It says nothing when it answers.
  await sleep(1000)
  const milter = [`smtpd_milters = inet:127.0.0.1:${port}`, 'milter_default_action = tempfail']
  return { waybill, postfix: milter, helperIds: [daemon.processId], stop: () => daemon.stop() }
}
