/** The contents of attachments of a message that is to be composed.
 * Invariant: each is in the encoding that it names. The composer skips what does not belong there:
 *    1. a browser's client posts `data:application/pdf;base64,JVBERi…` as base64
 *    2. it is answered that the message is accepted
 *    3. the recipient gets a file that no program opens */
import { WaybillError } from '../../errors.js'

/** Line ends between, the padding left out, and the alphabet for URLs are what decoders take. */
const isBase64 = (content: string): boolean => {
  const [, digits] = /^([\w+/-]*)={0,2}$/.exec(content.replace(/\s+/g, '')) ?? []
  return digits !== undefined && digits.length % 4 !== 1
}

const isHex = (content: string): boolean => content.length % 2 === 0 && /^[0-9a-f]*$/i.test(content)

const checks: Readonly<Record<string, (content: string) => boolean>> = { base64: isBase64, hex: isHex }

/** @param attachments as a request has them: what is no list of them is for the composer
 * @throws WaybillError OPTION_INVALID */
export function checkContents(attachments: unknown): void {
  if (!Array.isArray(attachments)) return
  for (const [index, attachment] of attachments.entries()) {
    const { content, encoding } = Object(attachment) as { readonly [member: string]: unknown }
    const isSound =
      typeof encoding === 'string' && Object.hasOwn(checks, encoding) ? checks[encoding] : undefined
    if (typeof content !== 'string' || isSound === undefined || isSound(content)) continue
    throw new WaybillError(
      'OPTION_INVALID',
      `the content of attachment ${index + 1} is not ${String(encoding)}`,
      {
        option: 'attachments',
      },
    )
  }
}
