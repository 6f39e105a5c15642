/** One message of the queue, found by its id, with its data. */
import { ActiveMessage } from '../../active/active-message.js'
import { nowhere } from '../../base/position.js'
import { checkOptionNames, signalOption } from '../../base/options.js'
import type { Engine } from '../../engine/engine.js'
import type { Parts } from '../../engine/life/parts.js'
import { listedMessage, selected, soonAtLeast, type ListedMessage, type ListOptions } from './listing.js'

export interface StoredMessage {
  readonly message: ListedMessage
  /** The reference, where the data was submitted as `{ ref }`. */
  readonly ref: string | undefined
  /** The data in pieces of at most 256 KiB. The last piece comes when the whole data is verified.
   * The queue does not keep the data for a reader: that of a message which ends may be gone.
   * @throws WaybillError while iterated: DATA_CORRUPT, LOG_CORRUPT, DISK_FAILED, QUEUE_CRASHED;
   * TypeError for a reference */
  data(): AsyncGenerator<Buffer, void>
}

/** @returns undefined when there is none @throws WaybillError as `list` */
export async function storedMessage(
  parts: Parts,
  engine: Engine,
  id: string,
  options: Pick<ListOptions, 'signal'>,
): Promise<StoredMessage | undefined> {
  checkOptionNames(options, { signal: true })
  const { signal } = options
  signalOption(signal)
  await parts.life.orEnd(engine.whenRecovered())
  const trust = (): Promise<void> => soonAtLeast(parts, engine.checkpointer.now())
  for await (const [found] of selected(parts, { id }, { trust, signal })) {
    if (found === undefined) continue
    const message = await parts.life.orEnd(listedMessage(parts, found))
    const stored =
      found.kind === 'active'
        ? found.message
        : new ActiveMessage(found.message.envelope, found.message.place, nowhere, undefined)
    const { data } = stored.envelope
    return {
      message,
      ref: data.kind === 'ref' ? data.ref : undefined,
      data: () => piecesOf(parts, stored),
    }
  }
  return undefined
}

async function* piecesOf({ reader, life }: Parts, message: ActiveMessage): AsyncGenerator<Buffer, void> {
  for await (const piece of reader.pieces(message)) {
    life.check()
    yield piece
  }
}
