import { expect, test } from 'vitest'
import { receivedHeader } from '../../../src/relay/smtp-in/received.js'

const reception = {
  helo: 'c',
  hostname: 'h',
  protocol: 'ESMTP',
  id: 'i',
  recipient: undefined,
  atMs: 0,
}

test.each([
  ['192.0.2.1', '([192.0.2.1])'],
  ['2001:db8::1', '([IPv6:2001:db8::1])'],
])('the address %s stands as the literal %s', (address, literal) => {
  expect(receivedHeader({ ...reception, address }).toString()).toContain(`from c ${literal}\r\n`)
})
