/** `waybill flush`: attempts deferred messages now. */
import { UsageError } from '../cli/command.js'
import type { OperatingCommand } from './operating-command.js'
import { parseCount } from '../cli/values.js'
import { verbCommand } from './verb-command.js'

export const flush: OperatingCommand = verbCommand({
  name: 'flush',
  done: 'flushed',
  synopsis: ' [--rate N | --at-once]',
  options: {
    rate: { value: 'N', help: 'messages a second (100)' },
    'at-once': { help: 'as fast as there is room; after an outage this is a flood' },
  },
  notes:
    'Dead destinations get another chance. A flush ends when the last message is started, not\n' +
    'when it is delivered. Without a relay nothing is attempted: the next relay attempts flushed mail first.',
  request: (args) => {
    if (args.isSet('rate') && args.isSet('at-once')) throw new UsageError('--rate or --at-once, not both')
    const rate = args.one('rate')
    const perSecond = args.isSet('at-once')
      ? Infinity
      : rate === undefined
        ? undefined
        : parseCount('rate', rate, 1)
    return (selector) => ({ do: 'flush', selector, perSecond })
  },
  affects: ({ where }) => where === 'retry',
  why: 'it is not deferred',
})
