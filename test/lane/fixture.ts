/** Candidates and envelopes as tests of lanes need them. */
import type { MessageId } from '../../src/base/message-id.js'
import { position } from '../../src/base/position.js'
import type { Candidate } from '../../src/lane/runner.js'
import { untouched, type Envelope } from '../../src/record/envelope.js'

export const envelopeOf = (recipientCount = 1): Envelope => ({
  id: '1M3250V050000001' as MessageId,
  sender: 'ada@example.org',
  acceptedAt: 1_790_000_000_000,
  smtputf8: false,
  recipientCount,
  recipients: Array.from({ length: recipientCount }, (_, i) => `r${i}@example.net`),
  recipientFrames: [],
  data: { kind: 'ref', ref: 'x' },
  dataBytes: 0,
  checksum: 0,
  ...untouched,
})

/** Frames begin on multiples of eight. */
export const frameLength = 104

export const candidateAt = (at: number, timeMs = 0, data?: Buffer): Candidate => ({
  position: position(at),
  bytes: frameLength,
  timeMs,
  envelope: envelopeOf(),
  data,
  seenAtMs: 0,
})
