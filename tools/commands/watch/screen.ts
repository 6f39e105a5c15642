/** The whole terminal for one command.
 * Invariant: when the command ends, by a key, a signal or an error, the terminal has its former
 * text, cursor and mode. */
import type { ReadStream, WriteStream } from 'node:tty'
import type { FrameLine, FrameSize, LineStyle } from './top-frame.js'

const enter = '\x1b[?1049h\x1b[?25l'
const leave = '\x1b[?25h\x1b[?1049l'
const home = '\x1b[H'
const eraseToEndOfLine = '\x1b[K'
const eraseBelow = '\x1b[J'
const styles: Readonly<Record<LineStyle, string>> = {
  title: '\x1b[1m',
  plain: '',
  head: '\x1b[7m',
  trouble: '\x1b[31m',
}
const reset = '\x1b[0m'

const signalCodes = { SIGTERM: 15, SIGHUP: 1, SIGINT: 2 } as const

export class Screen {
  readonly #input: ReadStream
  readonly #output: WriteStream
  #isOpen = false

  constructor(input: ReadStream, output: WriteStream) {
    this.#input = input
    this.#output = output
  }

  get size(): FrameSize {
    return { columns: this.#output.columns, rows: this.#output.rows }
  }

  /** @param onKey a key was pressed, Ctrl-C among them; @param onResize there is another size */
  open(onKey: (key: string) => void, onResize: () => void): void {
    this.#isOpen = true
    process.once('exit', () => this.close())
    for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT'] as const)
      process.once(signal, () => process.exit(128 + signalCodes[signal]))
    if (this.#input.isTTY) {
      this.#input.setRawMode(true)
      this.#input.on('data', (keys: Buffer) => onKey(keys.toString()))
    }
    this.#output.on('resize', onResize)
    this.#output.write(enter)
  }

  draw(lines: readonly FrameLine[]): void {
    if (!this.#isOpen) return
    const { columns, rows } = this.size
    const body = lines.slice(0, rows).map(({ text, style }) => {
      if (style === 'plain') return text + eraseToEndOfLine
      // The head of a table is a bar from edge to edge.
      const whole = style === 'head' ? text.padEnd(columns) : text
      return styles[style] + whole + reset + eraseToEndOfLine
    })
    this.#output.write(home + body.join('\r\n') + eraseBelow)
  }

  close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#output.write(leave)
    if (!this.#input.isTTY) return
    this.#input.setRawMode(false)
    this.#input.pause()
  }
}
