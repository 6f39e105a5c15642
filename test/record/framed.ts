/** A payload of an envelope in a frame, as a walk finds it. */
import { frameBytes, frameHeaderBytes, kinds, sealFrame } from '../../src/record/frame.js'

/** Where the frame stands. */
export const framedAt = 24

/** In a window, where other bytes follow. */
export function framed(payload: Uint8Array): Buffer {
  const window = Buffer.alloc(framedAt + frameBytes(payload.length) + 64, 0xc1)
  window.set(payload, framedAt + frameHeaderBytes)
  sealFrame(window, framedAt, kinds.envelope, 1, 0, payload.length, 7)
  return window
}
