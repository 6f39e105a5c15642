/** A certificate that a relay shows, as files: signed by itself, for two days. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

export interface CertificateFiles {
  readonly cert: string
  readonly key: string
}

export function certificateIn(directory: string, host: string): CertificateFiles {
  const files = { cert: join(directory, 'cert.pem'), key: join(directory, 'key.pem') }
  const asked = `req -x509 -newkey rsa:2048 -subj /CN=${host} -days 2 -nodes`.split(' ')
  execFileSync('openssl', [...asked, '-keyout', files.key, '-out', files.cert], { stdio: 'ignore' })
  return files
}

/** Arguments of `serve`. */
export const waybillTls = ({ cert, key }: CertificateFiles): string[] => [
  '--tls-cert',
  cert,
  '--tls-key',
  key,
]

/** Lines of main.cf. */
export const postfixTls = ({ cert, key }: CertificateFiles): string[] => [
  `smtpd_tls_cert_file = ${cert}`,
  `smtpd_tls_key_file = ${key}`,
  'smtpd_tls_security_level = may',
]
