/** Certificates for `localhost` and 127.0.0.1 that signed themselves: a client that names
 * one as a root verifies it. Valid until 2126; made by
 * `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 36500 -subj
 * /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout localhost-key.pem -out
 * localhost.pem`, and `renewed` with another name. One for the first key ended in 2026:
 * `openssl x509 -req -days -1 -signkey localhost-key.pem`, of a request in the name of
 * `expired`. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { rawClient } from './raw-client.js'

const pathOf = (name: string): string => fileURLToPath(new URL(`./${name}`, import.meta.url))

export const certPath: string = pathOf('localhost.pem')
export const keyPath: string = pathOf('localhost-key.pem')
export const renewedCertPath: string = pathOf('renewed.pem')
export const renewedKeyPath: string = pathOf('renewed-key.pem')
export const expiredCertPath: string = pathOf('expired.pem')

export const certificate: { readonly cert: string; readonly key: string } = {
  cert: readFileSync(certPath, 'utf8'),
  key: readFileSync(keyPath, 'utf8'),
}

export const renewed: typeof certificate = {
  cert: readFileSync(renewedCertPath, 'utf8'),
  key: readFileSync(renewedKeyPath, 'utf8'),
}

/** One whose end is no time, which OpenSSL takes for a certificate all the same. */
export function endless({ cert }: typeof certificate): string {
  const bytes = Buffer.from(cert.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64').toString('latin1')
  const text = Buffer.from(bytes.replace(/(2126\d{10})Z/, '$1X'), 'latin1').toString('base64')
  return `-----BEGIN CERTIFICATE-----\n${text.replaceAll(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`
}

/** The name in the certificate that a new client is shown: behind STARTTLS, or at once. */
export async function shownName(port: number, implicitTls: boolean): Promise<string> {
  const client = await rawClient(port)
  try {
    if (!implicitTls) {
      await client.reply()
      await client.say('EHLO client.example')
      await client.say('STARTTLS')
    }
    client.socket.removeAllListeners('data')
    const secure = connect({ socket: client.socket, rejectUnauthorized: false })
    await once(secure, 'secureConnect')
    return String(secure.getPeerCertificate().subject.CN)
  } finally {
    client.destroy()
  }
}
