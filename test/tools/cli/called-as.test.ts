import { expect, test } from 'vitest'
import { wordsOf } from '../../../tools/commands/cli/called-as.js'

const queue = ['--queue', '/var/lib/waybill/queue']

test.each([
  ['/usr/local/bin/waybill', ['sendmail', 'a@b'], ['sendmail', 'a@b']],
  ['/opt/waybill/dist/tools/waybill.js', [], []],
  ['/usr/sbin/sendmail', ['-t', '-i'], ['sendmail', ...queue, '-t', '-i']],
  ['/usr/lib/sendmail', ['mailq'], ['sendmail', ...queue, 'mailq']],
  ['/usr/bin/newaliases', [], ['sendmail', '-bi']],
  ['/usr/bin/mailq', [], ['mailq', ...queue]],
  ['/usr/bin/mailq', ['--queue=q'], ['mailq', '--queue=q']],
  ['/usr/sbin/sendmail', ['--queue', 'q', 'a@b'], ['sendmail', '--queue', 'q', 'a@b']],
  ['/usr/sbin/sendmail', ['--smtp', 'x:25', 'a@b'], ['sendmail', '--smtp', 'x:25', 'a@b']],
  ['/usr/sbin/sendmail', ['--', '--queue'], ['sendmail', ...queue, '--', '--queue']],
  [undefined, ['help'], ['help']],
])('%s called with %j means %j', (path, words, meant) => {
  expect(wordsOf(path, words, '')).toEqual(meant)
})

test('a queue of the environment goes before that of the machine', () => {
  expect(wordsOf('/usr/sbin/sendmail', ['-t'], '/srv/queue')).toEqual(['sendmail', '-t'])
})
