/** Removes a queue from a store: what `waybill store remove` does at its end.
 * Invariant: one transaction, which holds both rows of the fence and finds the nonce of the life
 * that saw the queue empty. So no mail came in between:
 *    1. A life claims the queue, sees that it is empty, and ends.
 *    2. Another node claims it, and accepts a message.
 *    3. The tables of the queue are dropped, and the message with them. */
import type { Clock } from '../../base/clock.js'
import { WaybillError } from '../../errors.js'
import type { OwnLife } from '../calls.js'
import { refusalError, type Refusal } from '../store.js'
import type { StorePlace } from '../store-url.js'
import { PgStore } from './pg-store.js'

/** @throws WaybillError QUEUE_LOST when another process has claimed the queue meanwhile;
 * STORE_UNREACHABLE, when it may or may not be removed; DISK_FAILED */
export async function removeQueue(place: StorePlace, life: OwnLife, clock: Clock): Promise<void> {
  const connected = await new PgStore(place, clock).connectAny(undefined)
  if (connected.kind === 'unknown') throw connected.error
  if (connected.kind === 'refused') throw refusalOf(place, connected.refusal)
  const { connection } = connected.value
  try {
    const answer = await connection.ask({ text: removalText(life) })
    if (answer.kind === 'unknown') throw answer.error
    if (answer.kind === 'refused') throw refusalOf(place, answer.refusal)
  } finally {
    connection.close()
  }
}

/** A block takes no parameters. */
const removalText = ({ queue, nonce }: OwnLife): string => `
DO $$
DECLARE x record; q int := ${Number(queue)};
BEGIN
  IF (SELECT count(*) FROM (SELECT FROM waybill.fence WHERE queue = q AND nonce = '${nonce.replaceAll(/[^0-9a-f-]/g, '')}'
    FOR UPDATE) f) <> 2 THEN RAISE EXCEPTION 'fenced' USING ERRCODE = 'WB001'; END IF;
  FOR x IN SELECT file FROM waybill.file WHERE queue = q AND has_table LOOP
    EXECUTE format('DROP TABLE IF EXISTS waybill.s%s', x.file);
  END LOOP;
  DELETE FROM waybill.extent WHERE queue = q;
  DELETE FROM waybill.file WHERE queue = q;
  DELETE FROM waybill.changed WHERE queue = q;
  DELETE FROM waybill.beat WHERE queue = q;
  DELETE FROM waybill.fence WHERE queue = q;
  DELETE FROM waybill.member WHERE node = (SELECT home FROM waybill.queue WHERE queue = q)
    AND NOT EXISTS (SELECT FROM waybill.fence WHERE fence.node = member.node)
    AND NOT EXISTS (SELECT FROM waybill.queue o WHERE o.home = member.node AND o.queue <> q);
  DELETE FROM waybill.queue WHERE queue = q;
END $$`

function refusalOf(place: StorePlace, refusal: Refusal): WaybillError {
  if (refusal.kind !== 'fenced') return refusalError(refusal)
  const reason = 'another process has claimed the queue meanwhile: nothing was removed'
  return new WaybillError('QUEUE_LOST', reason, { directory: place.name })
}
