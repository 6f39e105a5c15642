import { expect, test } from 'vitest'
import { isStoreUrl } from '../../src/store/is-store-url.js'
import { storePlaceOf } from '../../src/store/store-url.js'
import { shownQueue } from '../../tools/commands/cli/shown-queue.js'

test('each host has a URL of its own, with what PostgreSQL understands', () => {
  const place = storePlaceOf('postgres://me:pw@n1,n2:5433/mail?queue=mx1&sslmode=require&ttl=3s')
  expect(place.urls).toEqual([
    'postgres://me:pw@n1/mail?sslmode=require',
    'postgres://me:pw@n2:5433/mail?sslmode=require',
  ])
  expect(place).toMatchObject({ queue: 'mx1', node: undefined, safety: 'required', ttlMs: 3000 })
})

test('its name has no password', () => {
  expect(storePlaceOf('postgres://me:secret@n1/mail').name).toBe('postgres://me@n1/mail')
})

test.each([
  ['postgres://n1/mail?queue=Mx1', 'queue'],
  ['postgres://n1/mail?queue=', 'queue'],
  ['postgres://n1/mail?node=a%20b', 'node'],
  ['postgres://n1/mail?ttl=6', 'ttl'],
  ['postgres://n1/mail?ttl=1ms', 'ttl'],
  ['postgres://n1/mail?safety=none', 'safety'],
  ['postgres://n1/mail?deadline=0s', 'deadline'],
  ['postgres://n1/mail?saftey=assumed', 'store'],
  ['postgres://n1/mail?application_name=mta', 'store'],
  ['postgres://n1/mail?statement_timeout=1000', 'store'],
  ['postgres:///mail?host=n1,n2', 'store'],
])('%s is refused', (url, option) => {
  expect(() => storePlaceOf(url)).toThrowError(
    expect.objectContaining({ code: 'OPTION_INVALID', place: { option } }),
  )
})

test.each([
  'postgres://me:topmost@secret@n1/mail?queue=q',
  'postgres://me:topmost@n1,n2@secret:5432/mail?queue=q',
  'postgres://me:topmost/secret@n1/mail?queue=q',
  'postgres://me:topmost?secret@n1/mail?queue=q',
  'postgres://me:topmost#secret@n1/mail?queue=q',
])('a password that is not encoded is refused, and not shown: %s', (url) => {
  const refusal = (): unknown => {
    try {
      return storePlaceOf(url)
    } catch (error) {
      return error
    }
  }
  expect(refusal()).toMatchObject({
    code: 'OPTION_INVALID',
    message: expect.stringContaining('are %40, %2F, %3F and %23') as string,
  })
  expect(JSON.stringify([refusal(), String(refusal())])).not.toMatch(/topmost|secret/)
  expect(shownQueue(url)).not.toMatch(/topmost|secret@/)
})

test('hosts may be addresses of IPv6 and directories of sockets', () => {
  expect(storePlaceOf('postgres://me@[::1]:1,[::2]:2/mail').urls).toEqual([
    'postgres://me@[::1]:1/mail',
    'postgres://me@[::2]:2/mail',
  ])
  expect(storePlaceOf('postgres://me@%2Frun%2Fpg/mail').urls).toEqual(['postgres://me@%2Frun%2Fpg/mail'])
  expect(storePlaceOf('postgres:///mail?host=/run/pg').urls).toEqual(['postgres:///mail?host=%2Frun%2Fpg'])
})

test('a directory is no URL of a store', () => {
  expect(isStoreUrl('./var/queue')).toBe(false)
  expect(isStoreUrl('postgres')).toBe(false)
  expect(isStoreUrl('postgresql://n1/x')).toBe(true)
})
