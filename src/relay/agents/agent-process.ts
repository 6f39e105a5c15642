/** One agent: a child process that is fed requests and listened to.
 * Invariant: its program begins only when the guard knows its process group. It is given up with
 * the first line that is no report, when it is silent for too long, and when it writes without end.
 * Then its group is killed, and work without a report is put off. */
import { spawn, type ChildProcess } from 'node:child_process'
import type { Writable } from 'node:stream'
import { textOf, safeThrownText } from '../../delivery/outcome.js'
import type { AgentAccount } from './agent-account.js'
import { unrefPipe, type AgentGuard } from './agent-guard.js'
import { isComment, lineLengthMax, readReport, requestHead } from './agent-protocol.js'
import type { AgentEnd, AgentWork, WorkTerms } from './agent-work.js'

export interface AgentProgram {
  /** The program, as execvp(3) finds it, and its arguments. */
  readonly words: readonly string[]
  /** undefined: that of this process. */
  readonly account: AgentAccount | undefined
  /** Descriptors that it may have; undefined: as many as this process. */
  readonly fileCountMax: number | undefined
  readonly directory: string | undefined
  readonly environment: Readonly<Record<string, string>>
  /** Without a report for so long, it hangs; milliseconds. */
  readonly timeoutMs: number
}

export interface AgentWitness {
  /** Some of its work is done. */
  readonly onDone: () => void
  /** It has ended. @param left work that another agent may begin */
  readonly onEnd: (left: readonly AgentWork[], end: AgentEnd) => void
}

/** Waits for a word, so that nothing of the program happens before the guard knows of it. */
const wrapper = `IFS= read -r go <&3 || exit 0
exec 3<&-
if [ "$1" != - ]; then ulimit -n "$1" || exit 126; fi
shift
exec "$@"
`
/** Octets without a report. */
const floodBytesMax = 1024 * 1024
const lastWordsMax = 300
/** Data up to this is written in one piece, and verified before. */
const wholeBytesMax = 1024 * 1024
/** A group that was killed may leave its pipes open elsewhere. */
const pipesMsMax = 5000

export class AgentProcess {
  /** What it has been given and has not reported, in order. */
  readonly works: AgentWork[] = []
  /** Since when it has nothing to do, by performance.now(). */
  idleSinceMs: number = performance.now()
  /** Of the work that it was given last. */
  #lastTerms: WorkTerms | undefined
  readonly #program: AgentProgram
  readonly #guard: AgentGuard
  readonly #witness: AgentWitness
  readonly #child: ChildProcess
  #nextTag = 1
  #doneCount = 0
  #line = ''
  #lastWords = ''
  #silentBytes = 0
  #timer: NodeJS.Timeout | undefined
  #feeding: Promise<void> = Promise.resolve()
  /** Why it is killed. */
  #verdict: string | undefined
  #isEnding = false
  /** Its group was killed; the system may give its number to another. */
  #hasExited = false
  #hasEnded = false

  constructor(program: AgentProgram, guard: AgentGuard, witness: AgentWitness) {
    this.#program = program
    this.#guard = guard
    this.#witness = witness
    const { words, account, fileCountMax, directory, environment } = program
    const child = spawn('/bin/sh', ['-c', wrapper, 'waybill-agent', String(fileCountMax ?? '-'), ...words], {
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
      env: environment,
      ...(directory === undefined ? undefined : { cwd: directory }),
      ...(account === undefined ? undefined : { uid: account.uid, gid: account.gid }),
    })
    this.#child = child
    child.on('error', (error) => this.#ended(`it cannot be started: ${safeThrownText(error)}`, false))
    child.on('exit', (code, signal) => this.#exited(code, signal))
    for (const pipe of child.stdio) {
      pipe?.on('error', () => undefined)
      unrefPipe(pipe)
    }
    child.stdout?.on('data', (piece: Buffer) => this.#hear(piece.toString()))
    child.stderr?.on('data', (piece: Buffer) => this.#complain(piece.toString()))
    child.unref()
    void this.#begin()
  }

  get isEnding(): boolean {
    return this.#isEnding
  }

  get isIdle(): boolean {
    return this.works.length === 0
  }

  /** When it is to be ended, if it is given nothing; Infinity while it has something to do. */
  get idleUntilMs(): number {
    return this.isIdle ? this.idleSinceMs + (this.#lastTerms?.idleMs ?? 0) : Infinity
  }

  /** Under which it counts: by what it has to do, else by what it did last. */
  names(): ReadonlySet<string> {
    return new Set(this.#boundsCounted().flatMap((bounds) => Object.keys(bounds)))
  }

  isOf(name: string): boolean {
    return this.#boundsCounted().some((bounds) => name in bounds)
  }

  #boundsCounted(): readonly WorkTerms['bounds'][] {
    return this.isIdle ? [this.#lastTerms?.bounds ?? {}] : this.works.map(({ terms }) => terms.bounds)
  }

  give(work: AgentWork): void {
    const { request, signal } = work.work
    this.#lastTerms = work.terms
    work.firstTag = this.#nextTag
    this.#nextTag += request.recipients.length
    this.works.push(work)
    this.#child.ref()
    this.#wait()
    const abort = (): void => {
      if (!work.isDone) this.kill('the attempt was ended')
    }
    signal.addEventListener('abort', abort, { once: true })
    this.#feeding = this.#feeding.then(() => this.#feed(work))
  }

  /** It has nothing to do: the end of its input ends it, or the guard's kill does. */
  end(): void {
    if (this.#isEnding) return
    this.#isEnding = true
    this.#child.stdin?.end()
    this.#timer = setTimeout(() => this.kill('it did not end'), pipesMsMax).unref()
  }

  kill(reason: string): void {
    this.#verdict ??= reason
    this.#isEnding = true
    if (!this.#hasExited) killGroup(this.#child.pid)
    setTimeout(() => this.#ended(reason, false), pipesMsMax).unref()
  }

  async #begin(): Promise<void> {
    const { pid, stdio } = this.#child
    if (pid === undefined) return
    const isWatched = await this.#guard.watch(pid)
    if (!isWatched) return this.kill('nothing would end it with this process')
    ;(stdio[3] as Writable).end('go\n')
  }

  async #feed(work: AgentWork): Promise<void> {
    if (this.#hasEnded || work.isDone) return
    const { request, channel } = work.work
    try {
      const isWhole = request.dataBytes <= wholeBytesMax
      const data = isWhole ? await request.data() : undefined
      const ref = data !== undefined && 'ref' in data ? data.ref : undefined
      const what = ref === undefined ? { bytes: request.dataBytes } : { ref }
      const head = requestHead({ ...request, channel, data: what, firstTag: work.firstTag })
      if (head === undefined) return this.#refuse(work, 'an address or nexthop has a line end')
      await this.#write(head)
      if (data === undefined) for await (const piece of request.stream()) await this.#write(piece as Buffer)
      else if (Buffer.isBuffer(data)) await this.#write(data)
      work.isWritten = true
    } catch (error) {
      // What was written of it is no message.
      this.kill(`its data cannot be read: ${safeThrownText(error)}`)
    }
  }

  #refuse(work: AgentWork, reason: string): void {
    this.works.splice(this.works.indexOf(work), 1)
    work.giveUp(reason)
    this.#progressed()
  }

  /** Settles when there is room for more. Taking data is progress. */
  async #write(piece: string | Buffer): Promise<void> {
    const { stdin } = this.#child
    if (stdin === null || stdin.destroyed || stdin.write(piece)) return
    await new Promise<void>((resolve) => {
      stdin.once('drain', resolve)
      stdin.once('close', resolve)
    })
    this.#wait()
  }

  #hear(piece: string): void {
    const lines = (this.#line + piece).split('\n')
    this.#line = lines.pop() ?? ''
    for (const line of lines) if (this.#verdict === undefined) this.#read(line.replace(/\r$/, ''))
    this.#count(piece.length)
    if (this.#line.length > lineLengthMax) this.kill(`it writes a line over ${lineLengthMax} characters`)
  }

  #read(line: string): void {
    if (isComment(line)) return
    const report = line.length > lineLengthMax ? undefined : readReport(line)
    const work = report && this.works.find((one) => one.report(report.tag, report.outcome))
    if (work === undefined) return this.kill(`it wrote what is no report: ${textOf(line, 100)}`)
    this.#silentBytes = 0
    if (!work.isDone) return this.#wait()
    this.#doneCount++
    this.works.splice(this.works.indexOf(work), 1)
    this.#progressed()
  }

  #progressed(): void {
    this.#wait()
    if (this.isIdle) {
      this.idleSinceMs = performance.now()
      this.#child.unref()
    }
    this.#witness.onDone()
  }

  #complain(piece: string): void {
    this.#lastWords = (this.#lastWords + piece).slice(-lastWordsMax)
    this.#count(piece.length)
  }

  #count(bytes: number): void {
    this.#silentBytes += bytes
    if (this.#silentBytes > floodBytesMax) this.kill('it writes without end, and reports nothing')
  }

  /** From now on, while there is something to do. */
  #wait(): void {
    if (this.#isEnding) return
    clearTimeout(this.#timer)
    if (this.isIdle) return
    const { timeoutMs } = this.#program
    this.#timer = setTimeout(
      () => this.kill(`it reported nothing for ${timeoutMs / 1000} s`),
      timeoutMs,
    ).unref()
  }

  #exited(code: number | null, signal: NodeJS.Signals | null): void {
    const { pid, stdout, stderr } = this.#child
    this.#isEnding = true
    clearTimeout(this.#timer)
    // What it has started goes with it.
    killGroup(pid)
    this.#hasExited = true
    if (pid !== undefined) this.#guard.forget(pid)
    const how = signal === null ? `it ended with status ${code}` : `it ended by ${signal}`
    const end = (): void => this.#ended(this.#verdict ?? how, code === 0 && this.#verdict === undefined)
    // Reports that it has written stand, and its last words say why it ended.
    const pipes = [stdout, stderr].filter((pipe) => pipe !== null && !pipe.readableEnded && !pipe.destroyed)
    let openCount = pipes.length
    if (openCount === 0) return end()
    for (const pipe of pipes) pipe?.once('close', () => --openCount === 0 && end())
    setTimeout(end, pipesMsMax).unref()
  }

  #ended(reason: string, isQuiet: boolean): void {
    if (this.#hasEnded) return
    this.#hasEnded = this.#isEnding = true
    clearTimeout(this.#timer)
    for (const pipe of this.#child.stdio) pipe?.destroy()
    const words = textOf(this.#lastWords.trim().split('\n').at(-1) ?? '')
    const end = {
      reason: `the agent ${this.#program.words[0]}: ${reason}${words === '' ? '' : `: ${words}`}`,
      isQuiet: isQuiet && this.#doneCount > 0,
    }
    const left = this.works.splice(0)
    const again = end.isQuiet ? left.filter(({ isUntouched }) => isUntouched) : []
    for (const work of left) if (!again.includes(work)) work.giveUp(end.reason)
    this.#witness.onEnd(again, end)
  }

  /** It has finished something in its life. */
  get hasWorked(): boolean {
    return this.#doneCount > 0
  }
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    // It has ended.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
