import SMTPConnection from 'nodemailer/lib/smtp-connection'
import { expect, test } from 'vitest'
import { checkMembers } from '../../../src/relay/smtp-out/phased-connection.js'

test('a release of nodemailer without a member on which the relay stands is refused by its name', () => {
  const connection = new SMTPConnection({})
  checkMembers(connection)
  const renamed = new Proxy(connection, {
    has: (target, name) => name !== '_responseQueue' && Reflect.has(target, name),
  })
  expect(() => checkMembers(renamed)).toThrow('this release of nodemailer has no _responseQueue')
})
