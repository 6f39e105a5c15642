/** Submits mail that programs have left in `maildrop/` while no relay ran. */
import type { Logger } from 'pino'
import { makeMaildrop } from '../../../src/relay/maildrop/maildrop-file.js'
import { Pickup, type PickupOptions } from '../../../src/relay/maildrop/pickup.js'

/** Makes the directory. @returns undefined where that is impossible, and the log says why */
export async function maildropOf(
  options: Omit<PickupOptions, 'onRefusal' | 'onReported' | 'onTrouble'>,
  log: Logger,
): Promise<Pickup | undefined> {
  try {
    await makeMaildrop(options.queue)
  } catch (error) {
    log.warn({ err: error }, 'there is no maildrop')
    return undefined
  }
  return new Pickup({
    ...options,
    onRefusal: (path, error) => log.warn({ path, err: error }, 'mail in maildrop is refused'),
    onReported: (id, refused) =>
      log.warn({ id, refused }, 'mail in maildrop is refused, and its sender gets a report'),
    onTrouble: (error) => log.warn({ err: error }, 'maildrop is looked at again'),
  })
}
