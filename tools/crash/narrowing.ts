/** Builds the engine with windows and bounds so small that simulated queues reach each of them.
 * Examples: the last commit is searched in several pieces, windows cut frames, runners fall behind,
 * marks need many records.
 * Invariant: only sizes change, no guarantee. A failure of such a copy can happen at the usual
 * sizes with more mail or a slower disk. */
import { cp, rm } from 'node:fs/promises'
import { damage } from './sabotage.js'
import type { Edit } from './mutation.js'

const size = (file: string, name: string, usual: string, small: number): Edit => ({
  file,
  find: `const ${name} = ${usual};`,
  replace: `const ${name} = ${small};`,
})

const narrowings: readonly Edit[] = [
  size('log/segment-scan.js', 'windowBytesDefault', '64 * 1024', 1024),
  size('inspect/damage/surviving-frames.js', 'windowBytes', '512 * 1024', 1024),
  size('log/segment-scan.js', 'searchBytes', '256 * 1024', 16_384),
  size('log/read-ahead.js', 'pieceBytes', '128 * 1024', 3000),
  size('log/lane-log.js', 'bufferBytesMin', '64 * 1024', 512),
  size('log/lane-log.js', 'extendBytesMax', '1024 * 1024', 4096),
  size('log/segment-files.js', 'openFilesMax', '8', 1),
  size('log/segment-pool.js', 'fillChunkBytes', '1024 * 1024', 8192),
  size('log/group-commit.js', 'freeBuffersMax', '4', 1),
  size('lane/runner.js', 'readAheadCountMax', '256', 3),
  size('lane/runner.js', 'readAheadBytesMax', '524_288', 700),
  size('lane/runner.js', 'handedOverCountMax', '4096', 6),
  size('lane/runner.js', 'handedOverBytesMax', '32 * 1024 * 1024', 3000),
  size('lane/lane-plan.js', 'laneNumberMax', '0x7fff', 13),
  size('lane/marks.js', 'chunkBytes', '65_536', 512),
  size('record/envelope.js', 'frameRecipientsMax', '1000', 2),
  size('record/outcome-note.js', 'notesMax', '100', 2),
  size('record/marks.js', 'marksPerRecordMax', '100_000', 2),
  size('record/payload-writer.js', 'slabBytes', '64 * 1024', 4096),
  size('active/active-set.js', 'dataBytesMax', '32 * 1024 * 1024', 1500),
  size('active/active-set.js', 'recipientBytesMax', '16 * 1024 * 1024', 60),
  size('active/active-set.js', 'fewRecipients', '10', 1),
  size('engine/recover/open-journal.js', 'batchBytesMax', '2 * 1024 * 1024', 4096),
  size('engine/accept/accept.js', 'stagedBytesMax', '32 * 1024 * 1024', 6000),
  size('engine/accept/plain-mail.js', 'pinnedBytesMax', '8192', 300),
  size('engine/accept/plain-mail.js', 'recipientsMax', '100', 1),
  size('engine/start/intake.js', 'startsPerTurnMax', '1000', 2),
  size('engine/start/lane-reading.js', 'readAheadLow', '32', 1),
  size('engine/start/waiting-messages.js', 'batchCountMax', '256', 2),
  size('engine/start/waiting-messages.js', 'passedBytesMax', '2 * 1024 * 1024', 700),
  size('inspect/messages/messages.js', 'passedBytesMax', '8 * 1024 * 1024', 700),
  size('admin/select/listing.js', 'recipientsReadMax', '1000', 2),
  size('engine/message/message-reader.js', 'pieceBytes', '256 * 1024', 700),
  size('engine/outcomes/outcomes.js', 'copiedMax', '1000', 2),
  size('engine/outcomes/outcomes.js', 'stepBytesMax', '1 << 20', 4096),
  size('engine/outcomes/kept-outcomes.js', 'readMax', '1000', 2),
  size('engine/settle/settle.js', 'workersMax', '64', 1),
  size('engine/message/spool.js', 'numbersPerLife', '2 ** 28', 4),
  size('admin/verbs/pass.js', 'movedMax', '100_000', 2),
  size('scheduler/intake.js', 'batchCountMax', '5000', 2),
]

/** @param dist the build, with `src` and `tools` in it @returns the directory of a copy of both in
 * which all sizes are small */
export async function narrowed(dist: string): Promise<string> {
  const copy = `${dist}/narrow`
  await rm(copy, { recursive: true, force: true })
  for (const part of ['src', 'tools'])
    await cp(`${dist}/${part}`, `${copy}/${part}`, {
      recursive: true,
      filter: (path) => !path.endsWith('.d.ts'),
    })
  for (const edit of narrowings) await damage(`${copy}/src`, `narrow ${edit.find}`, edit)
  return copy
}
