/** The one envelope of this model: to one recipient. Which message it is stands in the
 * state, not in it. */
import { assert } from '../../base/assert.js'
import { isMessageId, type MessageId } from '../../base/message-id.js'
import { untouched, type Envelope } from '../../record/envelope.js'

export const envelope: Envelope = {
  id: idOf('0000000000000000'),
  sender: '',
  acceptedAt: 0,
  smtputf8: false,
  recipientCount: 1,
  recipients: ['r'],
  recipientFrames: [],
  data: { kind: 'before', distanceBytes: 8 },
  dataBytes: 0,
  checksum: 0,
  ...untouched,
}

function idOf(text: string): MessageId {
  assert(isMessageId(text), 'an id is an id')
  return text
}
