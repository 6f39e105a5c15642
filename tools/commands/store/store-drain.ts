/** `waybill store drain`: a node takes no mail any more, and delivers what is in its queue.
 * Invariant: it says that the queue is empty when two listings in a row, both made behind the
 * closing of the door, found nothing: what moves from lane to lane may pass one of them. The door
 * is closed again at each look, for the relay may have been started again, or another have adopted
 * the queue. */
import { setTimeout as sleep } from 'node:timers/promises'
import { countText } from '../../../src/base/text.js'
import { ControlClient } from '../../../src/control/client.js'
import { UsageError, type Command } from '../cli/command.js'
import { withParameters } from '../cli/store-parameters.js'
import { jsonOption } from '../look/inspection.js'
import { Output, processSurroundings } from '../text/output.js'
import { storeOption, storeUrlOf } from './store-place.js'

/** Between two listings: as long as the last one took ten times, and at least this. */
const pauseMsMin = 1000
const pausePerListing = 10

export const storeDrain: Command = {
  synopsis: '--store URL --queue NAME [--json]',
  options: {
    ...storeOption,
    queue: { value: 'NAME', help: 'the queue of the node' },
    ...jsonOption,
  },
  notes:
    'The relay that owns the queue closes its ports for mail, refuses what open sessions bring (451), and delivers on.\n' +
    'This waits until the queue is empty; Ctrl-C ends the waiting alone. Then stop the relay, and `waybill store remove`\n' +
    'takes the queue away. A relay that is started again takes mail again. Exit codes: 0 the queue is empty, 1 no relay\n' +
    'owns it, or the relay has ended, 2 usage.',
  run: async (args) => {
    const url = storeUrlOf(args)
    const name = args.one('queue')
    if (name === undefined) throw new UsageError('--queue names the queue')
    const place = withParameters(url, { queue: name })
    const surroundings = processSurroundings()
    const out = new Output(surroundings)
    const tell = (messageCount: number): void => {
      if (args.isSet('json')) out.json({ queue: name, messageCount })
      else if (messageCount > 0)
        out.line(`queue ${name} takes no mail any more; ${countText(messageCount, 'message')} left`)
      else out.line(`queue ${name} is empty, and takes no mail: stop its relay`)
    }
    const isEmpty = await untilEmpty(place, tell, () => out.flush())
    if (!isEmpty) surroundings.complain(`waybill store drain: ${noOwner(name)}\n`)
    await out.flush()
    return isEmpty ? 0 : 1
  },
}

const noOwner = (name: string): string => `no relay owns queue ${name}: start its node, or another one`

/** @returns false: its relay is gone */
async function untilEmpty(
  place: string,
  tell: (messageCount: number) => void,
  flush: () => Promise<unknown>,
): Promise<boolean> {
  let last: number | undefined
  for (;;) {
    const beganAt = performance.now()
    const count = await messagesIn(place)
    if (count === undefined) return false
    const tookMs = performance.now() - beganAt
    const isEmpty = count === 0 && last === 0
    if (isEmpty || (count > 0 && count !== last)) tell(count)
    await flush()
    if (isEmpty) return true
    last = count
    await sleep(Math.max(pauseMsMin, pausePerListing * tookMs))
  }
}

/** @returns undefined: its relay is gone */
async function messagesIn(place: string): Promise<number | undefined> {
  const owner = await ControlClient.connect(place)
  if (owner === undefined) return undefined
  try {
    await owner.retire()
    let count = 0
    for await (const _ of owner.list({})) count++
    return count
  } finally {
    owner.close()
  }
}
