/** Changes of a queue as one statement.
 * Invariant: all that is asked together is one statement, so one transaction and one round trip. A
 * transaction of several would hold the fence while its client is paused between two of them, and
 * nobody could claim the queue. */
import {
  done,
  fenced,
  split,
  type Answer,
  type Extent,
  type Fence,
  type FileRow,
  type Part,
  type Write,
} from '../store.js'
import type { PgConnection } from './pg-connection.js'

const held = 'held AS (SELECT 1 FROM waybill.fence WHERE queue = $1 AND part = $2 AND epoch = $3 FOR SHARE)'

export async function writeAll(
  connection: PgConnection,
  { queue, epoch }: Fence,
  part: Part,
  writes: readonly Write[],
): Promise<Answer<readonly number[]>> {
  const values: unknown[] = [queue, part, epoch]
  const add = (...more: readonly unknown[]): string[] => more.map((value) => `$${values.push(value)}`)
  const inserts = [held]
  const results = writes.map((write) => {
    if (write.verb !== 'append') return callOf(write, add)
    const name = `a${inserts.length}`
    inserts.push(`${name} AS (${insertOf(queue, write.file, write.extents, add)})`)
    return `(SELECT count(*) FROM ${name})`
  })
  const text = `WITH ${inserts.join(', ')} SELECT ${results.join(', ')}`
  const answer = await connection.ask({ text, values })
  if (answer.kind !== 'done') return answer
  const row = (answer.value.rows[0] ?? []).map(Number)
  const isHeld = writes.every((write, i) => write.verb !== 'append' || row[i] === write.extents.length)
  return isHeld ? done(writes.map(({ verb }, i) => (verb === 'create' ? row[i]! : 0))) : fenced
}

type Add = (...values: readonly unknown[]) => string[]

/** Stores nothing when the fence is not held. */
function insertOf(queue: number, { file, hasTable }: FileRow, extents: readonly Extent[], add: Add): string {
  const rows = extents.map(({ at, upto, bytes }) => {
    const [first, second, third] = add(at, upto, bytes)
    return `(${first}::bigint, ${second}::bigint, ${third}::bytea)`
  })
  const into = hasTable
    ? `waybill.s${file} (at, upto, bytes) SELECT`
    : `waybill.extent (queue, file, at, upto, bytes) SELECT ${queue}, ${file},`
  return `INSERT INTO ${into} v.* FROM (VALUES ${rows.join(', ')}) v (at, upto, bytes), held RETURNING 1`
}

/** A function of the schema, which holds the fence itself. */
function callOf(write: Exclude<Write, { readonly verb: 'append' }>, add: Add): string {
  if (write.verb === 'overwrite') {
    const { file, from, upto, extents } = write
    const [first, second] = extents
    const more = add(file.file, file.hasTable, from, upto, ...columns(first), ...columns(second))
    return `waybill.overwrite($1, $2::smallint, $3, ${more.join(', ')})`
  }
  const call = (name: string, ...more: readonly unknown[]): string =>
    `waybill.${name}($1, $3, ${add(write.number, ...more).join(', ')})`
  switch (write.verb) {
    case 'makeDirectory':
      return call('make_directory', ...split(write.path))
    case 'removeDirectory':
      return call('remove_directory', ...split(write.path))
    case 'unlink':
      return call('unlink', ...split(write.path))
    case 'create':
      return call('create_file', ...split(write.path), write.hasTable)
    case 'rename':
      return call('rename', ...split(write.path), ...split(write.to))
    case 'truncate':
    case 'lengthen':
      return call('set_length', write.file, write.lengthBytes, write.verb === 'truncate')
  }
}

const columns = (extent: Extent | undefined): readonly unknown[] =>
  extent === undefined ? [null, null, null] : [extent.at, extent.upto, extent.bytes]
