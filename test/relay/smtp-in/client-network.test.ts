import { expect, test } from 'vitest'
import { clientNetwork } from '../../../src/relay/smtp-in/client-networks.js'

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['', ''],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:db8::ffff:2:3:4', '2001:db8:0:0::/64'],
  ['2001:db8::1:2:3:4:5', '2001:db8:0:1::/64'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::', '2001:db8:1:2::/64'],
  ['::1', '0:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
  ['::2:3:4:5:6:7:8', '0:2:3:4::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
])('%j counts as %j', (address, network) => {
  expect(clientNetwork(address)).toBe(network)
})
