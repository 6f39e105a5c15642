/** Guarantees that can be taken away, one at a time, from a copy of the built engine. Each edit must match exactly once: a change of
 * the source that disarms one is noticed. */
import type { HuntName } from '../../src/sim/hunt.js'

export interface Edit {
  /** Below dist/src. */
  readonly file: string
  readonly find: string
  readonly replace: string
}

export interface Mutation {
  readonly name: string
  /** The rule that is taken away. */
  readonly rule: string
  readonly edits: readonly Edit[]
  /** The hunts that are tried first; then all others. */
  readonly hunts: readonly HuntName[]
}

const one = (
  name: string,
  rule: string,
  file: string,
  find: string,
  replace: string,
  hunts: readonly HuntName[] = [],
): Mutation => ({ name, rule, edits: [{ file, find, replace }], hunts })

export const mutations: readonly Mutation[] = [
  one(
    'journal-not-synced',
    'a batch is synced before its tickets settle',
    'log/segment-pool.js',
    "disk.open(this.#path(spare), 'synced')",
    "disk.open(this.#path(spare), 'write')",
  ),
  one(
    'ticket-joins-sync',
    'a sync in flight proves nothing about bytes appended meanwhile',
    'log/group-commit.js',
    'this.#durableEnd = this.#grid.at(batch.index, batch.offsetBytes + batch.used);',
    'this.#durableEnd = this.end;',
  ),
  one(
    'segment-name-not-synced',
    "the directory is synced before a segment's first batch",
    'log/segment-pool.js',
    'await disk.syncDirectory(directory);\n        return file;',
    'return file;',
  ),
  {
    name: 'checksum-without-place',
    rule: 'a frame of another place or life of the file never verifies',
    edits: [
      {
        file: 'record/frame.js',
        find: '? crc32Of(buffer, at + 4, end, seed)',
        replace: '? crc32Of(buffer, at + 4, end, 0)',
      },
      {
        file: 'record/frame.js',
        find: 'at + frameHeaderBytes, seed), checksum',
        replace: 'at + frameHeaderBytes, 0), checksum',
      },
      {
        file: 'record/frame.js',
        find: 'at + frameHeaderBytes + payloadBytes, seed);',
        replace: 'at + frameHeaderBytes + payloadBytes, 0);',
      },
    ],
    hunts: ['carried'],
  },
  one(
    'half-batch-counts',
    'a batch counts as a whole or not at all',
    'log/segment-scan.js',
    'visit(window, at, offsetBytes, bytes);\n            return false;',
    'visit(window, at, offsetBytes, bytes);\n            last = { start, end: offsetBytes + bytes, previousEnd: last === undefined ? 0 : last.previousEnd };\n            first ??= last;\n            return false;',
  ),
  one(
    'last-batch-not-rewritten',
    'the last batch is rewritten before anything is built on it',
    'engine/open-journal.js',
    'await rewriteLastBatch(options, files, tail);',
    '',
    ['failing'],
  ),
  one(
    'failed-write-retried',
    'a write to the journal that failed is the end of this life',
    'log/journal-writer.js',
    'await this.#file.write(bytes, offsetBytes);',
    'await this.#file.write(bytes, offsetBytes).catch(() => this.#file.write(bytes, offsetBytes));',
    ['failing'],
  ),
  one(
    'lane-sync-retried',
    'a sync of a lane that failed is the end of this life',
    'log/lane-segments.js',
    'await this.#open.get(index).file.sync();',
    'await this.#open.get(index).file.sync().catch(() => this.#open.get(index).file.sync());',
    ['failing'],
  ),
  one(
    'cut-tail-comes-back',
    "a new life's first commit names where the old tail was cut",
    'engine/open-journal.js',
    'previousEnd: tail.end,',
    'previousEnd: grid.at(tail.index, header.segmentBytes),',
  ),
  one(
    'checkpoint-before-envelopes',
    'the checkpoint record comes after the sync of the lanes it vouches for (envelopes)',
    'engine/checkpointer.js',
    'await logs?.envelopes.sync();',
    '',
  ),
  one(
    'checkpoint-before-data',
    'the checkpoint record comes after the sync of the lanes it vouches for (data)',
    'engine/checkpointer.js',
    'await logs?.data.sync();',
    '',
  ),
  one(
    'lane-names-not-synced',
    'the names of lane segments are durable before a checkpoint vouches for them',
    'log/lane-segments.js',
    'await this.#options.disk.syncDirectory(this.#options.directory);',
    '',
  ),
  one(
    'lane-not-padded',
    'no later write touches a block that a checkpoint vouches for',
    'log/lane-log.js',
    'if (used > 0) {',
    'if (used > blockBytes) {',
    ['everything', 'turning', 'random'],
  ),
  one(
    'runner-past-checkpoint',
    'nothing is started behind the checkpointed end of a lane',
    'engine/waiting.js',
    'journal.durableEnd : lane.trustedEnd;',
    'journal.durableEnd : lane.logs.envelopes.end;',
  ),
  one(
    'runner-past-durable',
    'the incoming runner starts only what is durable',
    'engine/waiting.js',
    'journal.durableEnd : lane.trustedEnd;',
    'journal.end : lane.trustedEnd;',
  ),
  one(
    'lane-tail-believed',
    'a lane is believed up to its checkpointed end and no further',
    'recovery/working-set.js',
    'trustedEnd !== undefined && note.targetEnd <= trustedEnd',
    'trustedEnd !== undefined',
  ),
  one(
    'replaced-never-believed',
    'a replacement before the checkpointed end removes its start',
    'recovery/working-set.js',
    'trustedEnd !== undefined && note.targetEnd <= trustedEnd',
    'false',
  ),
  one(
    'report-note-forgotten',
    'what a note says of reports counts even if its target does not',
    'recovery/working-set.js',
    "message.records.push({ kind: 'reported', reported: note.reported, warnings: note.warnings });",
    '',
  ),
  one(
    'carrying-start-adds',
    'a carrying start takes the place of the one that it names',
    'recovery/working-set.js',
    'this.#working.delete(carried.start);',
    ';',
    ['random'],
  ),
  one(
    'carrying-forgets-outcomes',
    'a carrying start carries the outcomes',
    'active/active-message.js',
    'this.#applyNotes(carried.notes);',
    '',
    ['random'],
  ),
  one(
    'carrying-forgets-reports',
    'a carrying start carries what was reported',
    'active/active-message.js',
    'this.#reported = carried.reported;',
    '',
    ['random'],
  ),
  one(
    'outcome-not-recorded',
    'an outcome is appended before the message can settle',
    'engine/dispatch.js',
    "journal.appendAlone(kinds.delivery, message.place.lane, timeMs);\n        message.apply({ kind: 'delivery', notes, finishes });",
    "message.apply({ kind: 'delivery', notes, finishes: false });",
  ),
  one(
    'success-waits-for-sync',
    'a success asks for a prompt sync',
    'engine/dispatch.js',
    'if (isDelivered)\n            this.#parts.journal.want();',
    '',
  ),
  one(
    'recycled-one-checkpoint-early',
    'pins go with a checkpoint captured after the end of the message',
    'garbage/pins.js',
    'this.#of(index).releasedCount++;',
    'const held = this.#of(index);\n        if (--held.heldCount === 0)\n            this.#forget(held);',
    ['random', 'carried', 'turning'],
  ),
  {
    name: 'pins-forgotten',
    rule: 'the segments of an active message are held',
    edits: [
      {
        file: 'garbage/pins.js',
        find: 'this.#of(index).heldCount++;',
        replace: '',
      },
      { file: 'garbage/pins.js', find: 'this.#of(index).releasedCount++;', replace: '' },
    ],
    hunts: ['carried', 'crowded'],
  },
  one(
    'suffix-forgets-active',
    'the suffix begins at the earliest start of an active message',
    'engine/capture.js',
    'const suffix = active.earliestStart ?? journal.end;',
    'const suffix = journal.end;',
  ),
  one(
    'runner-position-is-read-position',
    'a restart position counts only what has a start record',
    'lane/runner.js',
    'return this.#ring.peek()?.position ?? this.#readFrom;',
    'return this.#readFrom;',
    ['crowded', 'everything'],
  ),
  one(
    'checkpoint-during-recovery',
    'no checkpoint is taken before recovery has ended',
    'engine/engine.js',
    'const messages = await recover(',
    'await this.checkpointer.run();\n        const messages = await recover(',
  ),
  one(
    'segment-without-checkpoint',
    'every segment begins with a copy of the newest checkpoint',
    'log/group-commit.js',
    'this.#fit(groupBytes + frameBytes(this.#checkpoint.length));\n        this.append(kinds.checkpoint, 0, timeMs, this.#checkpoint);',
    'this.#fit(groupBytes);',
  ),
  one(
    'stale-checkpoint-copied',
    'restart positions never go back',
    'log/journal-writer.js',
    'this.#commits.rememberCheckpoint(payload);',
    '',
    ['carried', 'turning'],
  ),
  one(
    'finish-before-report',
    'a report and the end that it belongs to are durable together',
    'engine/ending.js',
    "this.#appendReport(message, written, timeMs, 'failed');\n        const at = journal.append(kinds.finish, message.place.lane, timeMs, payload);",
    "const at = journal.append(kinds.finish, message.place.lane, timeMs, payload);\n        journal.open((written?.group.bytes ?? 0) + 8192);\n        setImmediate(() => this.#appendReport(message, written, timeMs, 'failed'));",
  ),
  one(
    'report-written-twice',
    'a report is written once',
    'engine/ending.js',
    'const note = { target, targetEnd, reported,',
    'const note = { target, targetEnd, reported: [],',
  ),
  one(
    'spool-file-not-synced',
    'large data is durable before its envelope is appended',
    'engine/spool.js',
    'await file.sync();',
    '',
  ),
  one(
    'spool-name-not-synced',
    'the name of large data is durable before its envelope is appended',
    'engine/spool.js',
    'await this.#syncDirectory();',
    '',
  ),
  one(
    'spool-unlinked-early',
    'a spool file is unlinked only when the finish is durable',
    'engine/ending.js',
    'await journal.whenDurable(position(at + frameBytes(payload.length)));',
    '',
  ),
  one(
    'spool-holds-no-suffix',
    'a message whose spool file is there holds the suffix',
    'engine/ending.js',
    'active.endHolding(message);',
    'active.end(message);',
    ['failing'],
  ),
  one(
    'spool-names-forgotten',
    'a checkpoint syncs every directory in which a name was removed',
    'engine/checkpointer.js',
    'await spool.syncNames();',
    '',
  ),
  one(
    'incoming-begins-late',
    'mail that is older than the first checkpoint is found',
    'lane/lane-plan.js',
    'newLane(incomingLane, 0, true, born)',
    'newLane(incomingLane, 0, true, journalEnd)',
    ['everything'],
  ),
  one(
    'marker-of-runner-lost',
    'runners go on behind what was started',
    'engine/recover.js',
    'lane.runner.readTo(trace.runner);',
    '',
  ),
  one(
    'mark-forgotten',
    'a runner skips what was started out of order',
    'engine/ending.js',
    'lane.marks.add(place.position);',
    '',
  ),
  one(
    'marks-not-recorded',
    'marks are recorded by the next checkpoint',
    'engine/capture.js',
    'appendMarks(parts, lane, timeMs);',
    'lane.marks.takeFresh(Infinity);',
  ),
  one(
    'marks-of-suffix-forgotten',
    'marks younger than the checkpoint come back from the start records',
    'engine/recover.js',
    'lane.marks.add(marked);',
    'void marked;',
  ),
  one(
    'recorded-marks-forgotten',
    'recovery follows the chain of marks',
    'engine/recover.js',
    'lane.marks.restore(marked);',
    'void marked;',
  ),
  one(
    'ordered-start-apart',
    'what a verb ends where it waits is started in the group that ends it',
    'engine/ending.js',
    'message.start = journal.append(kinds.start, place.lane, timeMs, startOf(message));',
    `message.start = journal.append(kinds.start, place.lane, timeMs, startOf(message));
        journal.open(20_000);`,
    ['redirected'],
  ),
  one(
    'verb-settles-early',
    'a verb settles when what it did is durable',
    'admin/pass.js',
    'await parts.journal.whenDurable(parts.journal.end);\n            await engine.checkpoint();',
    '',
  ),
  one(
    'move-to-incoming-not-believed',
    'a note of a replacement in incoming is always believed',
    'recovery/working-set.js',
    'lane === incomingLane ||',
    '',
  ),
  one(
    'verb-does-not-look-again',
    'a verb acts on what waits in the step in which it acts',
    'engine/waiting.js',
    '!lane.marks.has(place.position) &&',
    '',
  ),
  one(
    'verb-overtakes-attempt',
    'a verb on an active message waits for the attempts under way',
    'engine/dispatch.js',
    'this.#scheduler.withdraw(job);',
    'this.#scheduler.withdraw(job);\n        this.#ready.push(job.message);',
  ),
]
