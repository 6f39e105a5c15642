/** The process that ends agents when this one is killed (README.md, No agent stays behind).
 * Invariant: a group that `watch` has settled for is killed at the latest when this process
 * ends, whatever ends it. The guard has a separate session, so that no signal from a terminal
 * ends it first. */
import { spawn, type ChildProcessByStdio } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'

/** Lines `+GROUP` and `-GROUP`; `+` is answered. At the end of its input it kills what it knows. */
const script = `trap '' HUP INT TERM QUIT PIPE
groups=' '
while IFS= read -r line; do
  group=\${line#?}
  case $line in
    +*) groups="$groups$group "; printf '%s\\n' "$group" ;;
    -*) case $groups in *" $group "*) groups="\${groups%%" $group "*} \${groups#*" $group "}" ;; esac ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group" 2>/dev/null; done
`

export class AgentGuard {
  #child: ChildProcessByStdio<Writable, Readable, null> | undefined
  readonly #waiting = new Map<string, (isWatched: boolean) => void>()
  readonly #onLost: () => void
  #answers = ''

  /** @param onLost the guard has ended: agents that it watched are watched no more */
  constructor(onLost: () => void) {
    this.#onLost = onLost
  }

  /** @returns false when there is no guard for it */
  watch(group: number): Promise<boolean> {
    const child = (this.#child ??= this.#start())
    return new Promise((resolve) => {
      this.#waiting.set(String(group), resolve)
      child.stdin.write(`+${group}\n`)
    })
  }

  /** The group has ended. */
  forget(group: number): void {
    this.#child?.stdin.write(`-${group}\n`)
  }

  /** It kills what it knows, and ends. */
  close(): void {
    this.#child?.stdin.end()
    this.#child = undefined
  }

  #start(): ChildProcessByStdio<Writable, Readable, null> {
    const child = spawn('/bin/sh', ['-c', script, 'waybill-agent-guard'], {
      detached: true,
      stdio: ['pipe', 'pipe', 'ignore'],
      cwd: '/',
      env: {},
    })
    const lost = (): void => {
      if (this.#child !== child) return
      this.#child = undefined
      for (const resolve of this.#waiting.values()) resolve(false)
      this.#waiting.clear()
      this.#onLost()
    }
    child.on('error', lost)
    child.on('exit', lost)
    child.stdin.on('error', () => undefined)
    child.stdout.on('data', (piece: Buffer) => this.#hear(piece.toString('latin1')))
    child.unref()
    unrefPipe(child.stdin)
    unrefPipe(child.stdout)
    return child
  }

  #hear(piece: string): void {
    const lines = (this.#answers + piece).split('\n')
    this.#answers = lines.pop() ?? ''
    for (const group of lines) {
      this.#waiting.get(group)?.(true)
      this.#waiting.delete(group)
    }
  }
}

/** Pipes of child processes are sockets, which keep a process from ending. */
export const unrefPipe = (pipe: unknown): void => (pipe as { unref?: () => void }).unref?.()
