/** One line of a file of secrets, replaced or added.
 * Invariant: the file is replaced as a whole, and nobody else may read the new one. */
import { readFile, rename, writeFile } from 'node:fs/promises'

/** @param beginning of the line that it replaces @throws the system's error */
export async function replaceLine(file: string, beginning: string, line: string): Promise<void> {
  const before = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return ''
  })
  const others = before.split(/(?<=\n)/).filter((other) => other !== '' && !other.startsWith(beginning))
  const kept = others.map((other) => (other.endsWith('\n') ? other : `${other}\n`))
  const unfinished = `${file}.${process.pid}`
  await writeFile(unfinished, `${kept.join('')}${line}\n`, { mode: 0o600, flag: 'wx' })
  await rename(unfinished, file)
}
