/** A transport for something that is not SMTP: here a gateway that keeps each text under a key.
 * A crash may come between the gateway's answer and our record of it: then the message is delivered
 * again. So the key names the message and the recipient, and the gateway keeps one text for it.
 * own-transport-crash-test.mjs shows that no crash loses a message, and that none is kept twice. */

/** @param gateway `put(key, text)` rejects when it is out of reach */
export const gatewayTransport = (gateway) => ({
  async deliver(request) {
    const { id, recipients } = request
    const text = await request.data()
    return Promise.all(
      recipients.map(async (recipient) => {
        try {
          // Delivered is what the other side has, not what was sent.
          await gateway.put(`${id} ${recipient}`, text)
          return { kind: 'delivered', response: 'kept' }
        } catch (error) {
          return { kind: 'deferred', status: '4.4.1', reason: error.message }
        }
      }),
    )
  },
})
