/** Clients that log in, behind STARTTLS, as one of the users of a file. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../machine.js'
import { certificateIn, postfixTls, waybillTls } from '../relays/certificate.js'
import type { Login } from '../sessions/client.js'
import type { Settings } from './settings.js'

const saslProgram = '/usr/sbin/saslpasswd2'
const realm = 'bench.example.org'

export const login: Login = { name: 'ada', password: 'a password of the bench' }

/** @param note called when Postfix cannot */
export async function loggedIn(directory: string, note: (text: string) => void): Promise<Settings> {
  const certificate = certificateIn(directory, realm)
  const users = join(directory, 'users')
  const words = ['password', '--file', users, login.name]
  execFileSync(process.execPath, [join(packageRoot(), 'dist/bundle/waybill.js'), ...words], {
    input: `${login.password}\n`,
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  const waybill = [...waybillTls(certificate), '--auth', users]
  if (!existsSync(saslProgram)) {
    note(`${saslProgram} is not there (Debian: sasl2-bin, libsasl2-modules): Postfix was not measured.`)
    return { waybill, postfix: undefined }
  }
  const known = join(directory, 'sasl.db')
  execFileSync(saslProgram, ['-p', '-c', '-f', known, '-u', realm, login.name], { input: login.password })
  execFileSync('chown', ['postfix', known])
  const sasl = [
    'pwcheck_method: auxprop',
    'auxprop_plugin: sasldb',
    'mech_list: PLAIN',
    `sasldb_path: ${known}`,
  ]
  return {
    waybill,
    postfix: [
      ...postfixTls(certificate),
      'smtpd_tls_auth_only = yes',
      'smtpd_sasl_auth_enable = yes',
      `smtpd_sasl_local_domain = ${realm}`,
    ],
    // Debian looks for it there.
    postfixFiles: { 'sasl/smtpd.conf': `${sasl.join('\n')}\n` },
  }
}
