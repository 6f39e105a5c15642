/** `waybill mailq`: lists messages like Postfix's mailq.
 * The queue's owner reads its files, of a running relay as of now; other users ask the relay
 * (mailq-others.ts); `--from` asks any program that speaks ZMailer's format (mailq-from.ts). */
import { includeWanted } from '../../../src/base/mail-address.js'
import { countText } from '../../../src/base/text.js'
import { batchCountMax, Messages } from '../../../src/inspect/messages/messages.js'
import { mayMatch, type QueuedMessage } from '../../../src/inspect/messages/queued-message.js'
import {
  addressesIn,
  readableAddresses,
  readableDsn,
} from '../../../src/inspect/messages/waiting-recipients.js'
import { takeSnapshot } from '../../../src/inspect/queue/snapshot.js'
import { droppedCount } from '../../../src/relay/maildrop/maildrop-file.js'
import { queuePathOf } from '../cli/queue-path.js'
import { processSurroundings } from '../text/output.js'
import {
  complainOf,
  exits,
  inspectCommand,
  jsonOption,
  type InspectCommand,
  type Inspected,
} from './inspection.js'
import { selectionOptions, wishesOf, type Wishes } from './listing-options.js'
import { listFrom } from './mailq-from.js'
import { listForOthers, mayRead } from './mailq-others.js'
import { RelayRoutes, type Found } from './mailq-relay.js'
import { PlainListing } from './mailq-plain.js'
import { Tally, type PlainPiece } from './mailq-text.js'

const ofFiles: InspectCommand = inspectCommand(
  {
    synopsis: '[--queue DIR | --from HOST:PORT] [--json] [SELECTION …] [--limit N]',
    options: {
      ...jsonOption,
      ...selectionOptions,
      limit: { value: 'N', help: 'stop behind so many messages' },
      from: {
        value: 'HOST:PORT',
        help: 'ask there, where `serve --mailq` or a scheduler of ZMailer answers; port 174 where there is none',
      },
    },
    notes:
      'An id is followed by `*` when the message is being delivered, `!` when it is on hold, `?` when damage took the\n' +
      'record that would say whether it was delivered. A queue on which a relay works is listed as of one moment, and each\n' +
      'recipient `via TRANSPORT:NEXTHOP`, of the first 100000. A user that may not read the files is shown the first 10000\n' +
      'messages by the relay (`serve --mailq-users`).\n' +
      'With --json the members are those of `postqueue -j`, and lane, attempts, due_time, recipient_count; transport and\n' +
      'nexthop of a recipient; ret and envid, and notify and orcpt of a recipient, where the sender asked for them (DSN).\n' +
      'With --from ids, channels, hosts and the indexes of recipients are listed: the format has no more.',
  },
  (args, { nowMs }) => wishesOf(args, nowMs()),
  list,
)

export const mailq: InspectCommand = {
  ...ofFiles,
  runIn: async (args, surroundings) => {
    const from = args.one('from')
    if (from !== undefined) return listFrom(from, args, surroundings)
    const path = queuePathOf(args)
    if (await mayRead(path)) return ofFiles.runIn(args, surroundings)
    return listForOthers(path, wishesOf(args, surroundings.nowMs()), surroundings)
  },
  run: (args) => mailq.runIn(args, processSurroundings()),
}

async function list(inspected: Inspected, wishes: Wishes): Promise<number> {
  const { directory, path, out, report, progress } = inspected
  const { selection, limit, json } = wishes
  // Before the snapshot, which then shows what has happened by now.
  const relay = await RelayRoutes.of(path)
  const snapshot = await takeSnapshot(directory)
  for (const finding of snapshot.findings) report(finding)
  const messages = new Messages(directory, snapshot, {
    report,
    lane: selection.lane,
    onProgress: (done, all) => progress.show(done, all),
  })
  const tally = new Tally(out, json)
  try {
    const listing = new Listing(inspected, wishes, messages, tally, relay)
    for await (const batch of listing.batches()) {
      await listing.show(batch)
      if (tally.count >= limit) break
    }
  } finally {
    relay?.close()
  }
  tally.end(inspected.findings.length === 0 ? '' : ', except for damaged mail')
  const dropped = json ? 0 : await droppedCount(path)
  if (dropped > 0) out.line(`${countText(dropped, 'message')} in maildrop/, not yet taken up by a relay`)
  progress.end()
  await out.flush()
  complainOf(inspected)
  return exits.fine
}

/** What is shown, in its order. */
class Listing {
  readonly #inspected: Inspected
  readonly #messages: Messages
  readonly #tally: Tally
  readonly #relay: RelayRoutes | undefined
  readonly #wishes: Wishes

  constructor(
    inspected: Inspected,
    wishes: Wishes,
    messages: Messages,
    tally: Tally,
    relay: RelayRoutes | undefined,
  ) {
    this.#inspected = inspected
    this.#messages = messages
    this.#tally = tally
    this.#relay = relay
    this.#wishes = wishes
  }

  /** What may be shown, apart from the walk. */
  async *batches(): AsyncGenerator<readonly (QueuedMessage | PlainPiece)[]> {
    const { json, limit, selection } = this.#wishes
    // A limit counts messages one by one.
    const plain = limit === Infinity ? new PlainListing(json ? 'json' : 'text') : undefined
    let batch: (QueuedMessage | PlainPiece)[] = []
    const putPlain = (): void => {
      const piece = plain?.take()
      if (piece !== undefined) batch.push(piece)
    }
    const moments = this.#messages.walk((met, queued) => {
      if (!mayMatch(met, selection)) return false
      const isRouted = this.#relay?.isAsked === true
      if (!isRouted && plain?.add(met) === true) return plain.isFull
      const message = queued()
      putPlain()
      batch.push(message)
      return batch.length >= batchCountMax
    })
    for await (const _ of moments) {
      putPlain()
      yield batch
      batch = []
      plain?.reset()
    }
  }

  async show(batch: readonly (QueuedMessage | PlainPiece)[]): Promise<void> {
    const { report } = this.#inspected
    const { limit, selection } = this.#wishes
    let found: Found[] = []
    for (const item of batch) {
      if (this.#tally.count + found.length >= limit) break
      if ('kind' in item) {
        await this.#showFound(found)
        found = []
        await this.#tally.addPlain(item)
        continue
      }
      const addresses = addressesIn(item) ?? (await readableAddresses(item, this.#messages, report)) ?? []
      if (includeWanted(addresses, selection)) found.push({ message: item, addresses })
    }
    await this.#showFound(found)
  }

  async #showFound(found: readonly Found[]): Promise<void> {
    const { out, report } = this.#inspected
    const routes = (await this.#relay?.of(found)) ?? []
    for (const [i, { message, addresses }] of found.entries()) {
      const { dsn } = message.envelope
      const asked = this.#wishes.json
        ? dsn && (await readableDsn(message, this.#messages, report))
        : undefined
      this.#tally.add(message, addresses, { dsn: asked, routes: routes[i] })
      if (out.isFull) await out.flush()
    }
  }
}
