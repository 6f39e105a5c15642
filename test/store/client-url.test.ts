/** What `pg` gets of the URL of a store, and of the environment. */
import { afterEach, expect, test, vi } from 'vitest'
import { clientUrl } from '../../src/store/postgres/client-url.js'

afterEach(() => void vi.unstubAllEnvs())

const parametersOf = (query: string, host = 'n1'): URLSearchParams =>
  new URLSearchParams(clientUrl(`postgres://ada@${host}/mail?${query}`).split('?')[1])

test.each(['allow', 'prefer', 'require', 'verify-ca', 'verify-full'])(
  'a certificate is checked in full for sslmode %s, of which nothing is warned',
  (mode) => {
    expect(parametersOf(`sslmode=${mode}`).get('sslmode')).toBe('verify-full')
    expect(parametersOf(`sslmode=${mode}&uselibpqcompat=true`).get('sslmode')).toBe(mode)
  },
)

test.each(['allow', 'prefer', 'require', 'verify-ca'])('so it is for PGSSLMODE %s', (mode) => {
  vi.stubEnv('PGSSLMODE', mode)
  expect(parametersOf('').get('sslmode')).toBe('verify-full')
  expect(parametersOf('sslmode=no-verify').get('sslmode')).toBe('no-verify')
  expect(parametersOf('ssl=0').has('sslmode')).toBe(false)
})

test.each(['true', '1'])('ssl=%s is verify-full, with the certificates of the environment', (ssl) => {
  vi.stubEnv('PGSSLROOTCERT', '/ca.pem')
  expect(parametersOf(`ssl=${ssl}`).get('sslrootcert')).toBe('/ca.pem')
  vi.stubEnv('PGSSLMODE', 'disable')
  expect(parametersOf(`ssl=${ssl}`).get('sslrootcert')).toBe('/ca.pem')
  expect(parametersOf(`ssl=${ssl}`).get('sslmode')).toBe('verify-full')
  expect(parametersOf('ssl=no-verify').has('sslmode')).toBe(false)
})

test('an unknown mode is refused: in the environment it would be plain text', () => {
  expect(() => parametersOf('sslmode=verifyfull')).toThrow('verify-full, verify-ca')
  vi.stubEnv('PGSSLMODE', 'Verify-Full')
  expect(() => parametersOf('')).toThrow('or PGSSLMODE, is one of')
  vi.stubEnv('PGSSLMODE', '')
  expect(parametersOf('').has('sslmode')).toBe(false)
})

test.each(['channel_binding', 'gssencmode'])('a demand that `pg` does not meet is refused: %s', (name) => {
  expect(() => parametersOf(`${name}=require`)).toThrow(`does not do ${name}=require`)
  expect(parametersOf(`${name}=prefer`).get(name)).toBe('prefer')
  vi.stubEnv(`PG${name.replace('_', '').toUpperCase()}`, 'require')
  expect(() => parametersOf('')).toThrow(`does not do ${name}=require`)
  expect(() => parametersOf(`${name}=disable`)).not.toThrow()
})

test.each([
  ['%2Frun%2Fpostgresql', 'sslmode=verify-full&sslrootcert=/not/there'],
  ['', 'host=/run/postgresql&ssl=true'],
])('there is no TLS on a socket, whatever other servers need: %s?%s', (host, query) => {
  vi.stubEnv('PGSSLMODE', 'verify-full')
  vi.stubEnv('PGSSLCERT', '/not/there')
  const parameters = parametersOf(query, host)
  expect(parameters.get('sslmode')).toBe('disable')
  expect(['ssl', 'sslrootcert', 'sslcert'].filter((name) => parameters.has(name))).toEqual([])
})
