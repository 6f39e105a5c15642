/** Finds the length from which zlib beats the loop of `crc32` in src/base/checksum.ts. */
import { crc32 as zlibCrc32 } from 'node:zlib'
import CRC32 from 'crc-32'
import { crc32, zlibFromBytes } from '../src/base/checksum.js'
import type { BenchArguments } from './bench.js'
import type { Row } from './output.js'
import { nanosecondsOf } from './small.js'

const lengths = [16, 32, 64, 96, 128, 192, 256, 320, 400, 480, 640, 1024, 4096, 65_536]

export async function run({ output }: BenchArguments): Promise<void> {
  const rows: Row[] = []
  for (const length of lengths) rows.push(await measured(length))
  output.table('CRC-32, nanoseconds a call', rows)
  output.note(`src/base/checksum.ts goes over to zlib at ${zlibFromBytes} bytes.`)
}

async function measured(length: number): Promise<Row> {
  const bytes = Buffer.alloc(length)
  for (let i = 0; i < length; i++) bytes[i] = (i * 131) & 0xff
  const { table, zlib, ours } = await nanosecondsOf({
    table: () => CRC32.buf(bytes, 7) >>> 0,
    zlib: () => zlibCrc32(bytes, 7),
    ours: () => crc32(bytes, 7),
  })
  const faster = table!.median < zlib!.median ? 'table' : 'zlib'
  return { bytes: length, table: table!, zlib: zlib!, ours: ours!, faster }
}
