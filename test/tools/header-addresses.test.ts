import { expect, test } from 'vitest'
import { qualifiedField } from '../../tools/commands/header-addresses.js'

test.each([
  ['From: root (Cron Daemon)\r\n', 'From: root@o.example (Cron Daemon)\r\n'],
  ['To: root\r\n', 'To: root@o.example\r\n'],
  ['To:root,admin ,a@b\r\n', 'To:root@o.example,admin@o.example ,a@b\r\n'],
  ['To: root,\r\n\tadmin\r\n', 'To: root@o.example,\r\n\tadmin@o.example\r\n'],
  ['From: Cron Daemon <root>\r\n', 'From: Cron Daemon <root@o.example>\r\n'],
  ['From: "a, b" <root>, (x, y) c\r\n', 'From: "a, b" <root@o.example>, (x, y) c@o.example\r\n'],
  ['Cc: friends: root, a@b;\r\n', 'Cc: friends: root@o.example, a@b;\r\n'],
])('%j becomes %j', (text, qualified) => {
  expect(qualifiedField(text, 'o.example')).toBe(qualified)
})

test.each([
  'From: a@b (root)\r\n',
  'From: "root"\r\n',
  'From: "x\\" root" <a@b>\r\n',
  'From: <>\r\n',
  'From:\r\n',
  'To: undisclosed-recipients:;\r\n',
  'To: list not shown\r\n',
  'From: root (a (nested) comment)\r\n',
  'From: root "open\r\n',
  'From: M\xfcller <a@b>\r\n',
])('%j stays as it is', (text) => {
  expect(qualifiedField(text, 'o.example')).toBe(text)
})
