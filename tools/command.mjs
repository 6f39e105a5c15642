#!/usr/bin/env node
/** The command `waybill`. It stands beside its build: npm links it once, and a build may come
 * later, or again. */
import { existsSync } from 'node:fs'

const built = new URL('../dist/bundle/waybill.js', import.meta.url)
if (existsSync(built)) await import(built)
else {
  process.stderr.write('waybill: not built yet; `npm run build` builds it, and so does `npm start`\n')
  process.exitCode = 1
}
