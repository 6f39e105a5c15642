/** Numbered messages, each made of its number and a seed alone, so that a receiver can tell
 * whether a byte is wrong. */
import { below, seededPrng } from '../../src/base/prng.js'

export interface NumberedMail {
  readonly number: number
  /** `s<number>@sender.example`: a report comes back under the number. */
  readonly sender: string
  readonly recipients: readonly string[]
  readonly data: Buffer
}

/** @param recipients as `<kind>-<i>`; the kind tells a sink what to answer */
export function numberedMail(seed: number, number: number, recipients: readonly string[]): NumberedMail {
  const prng = seededPrng(seed * 1_000_003 + number)
  const lines = [
    // A relay adds these where they are missing.
    'Date: Sat, 21 Nov 2026 10:00:00 +0000',
    'From: sender@example.org',
    `Message-ID: <${number}@sender.example>`,
    `Subject: message ${number}`,
    `X-Number: ${number}`,
    '',
  ]
  // Most are small; one in fifty is long enough for a separate file.
  const lineCount = below(prng, 50) === 0 ? 4000 : below(prng, 60)
  for (let i = 0; i < lineCount; i++) {
    const dots = '.'.repeat(below(prng, 3))
    lines.push(
      dots + String.fromCharCode(33 + below(prng, 90), 160 + below(prng, 90)).repeat(below(prng, 38)),
    )
  }
  return {
    number,
    sender: `s${number}@sender.example`,
    recipients: recipients.map((recipient) => `${recipient}.${number}@example.net`),
    data: Buffer.from(`${lines.join('\r\n')}\r\n`, 'latin1'),
  }
}

/** As a queue takes it. */
export const submissionOf = ({
  sender,
  recipients,
  data,
}: NumberedMail): Pick<NumberedMail, 'sender' | 'recipients' | 'data'> => ({ sender, recipients, data })

/** What a relay puts above a message: exactly one Received field.
 * @returns undefined when it does not begin with one */
export function withoutReceived(data: Buffer): Buffer | undefined {
  const match = /^Received: [^\r]*\r\n(?:[ \t][^\r]*\r\n)*/.exec(data.toString('latin1', 0, 4096))
  return match === null ? undefined : data.subarray(match[0].length)
}

export function numberOf(data: Buffer): number | undefined {
  const match = /^X-Number: (\d+)\r$/m.exec(data.toString('latin1', 0, 4096))
  return match === null ? undefined : Number(match[1])
}
