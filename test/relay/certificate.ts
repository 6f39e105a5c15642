/** A certificate for `localhost` and 127.0.0.1 that signed itself: who names it as a root verifies it. Valid until 2126; made by
 * `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 36500 -subj /CN=localhost
 * -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout localhost-key.pem -out localhost.pem`. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const certPath: string = fileURLToPath(new URL('./localhost.pem', import.meta.url))
export const keyPath: string = fileURLToPath(new URL('./localhost-key.pem', import.meta.url))

export const certificate: { readonly cert: string; readonly key: string } = {
  cert: readFileSync(certPath, 'utf8'),
  key: readFileSync(keyPath, 'utf8'),
}
