/** A session whose EHLO offers more extensions to clients that may relay. */
import { handlingExtensions } from '../parameters/handling-parameters.js'
import { LoginSession } from './login-session.js'

export abstract class ExtendedSession extends LoginSession {
  #isGreeting = false

  /** Are the extensions of handling-parameters.ts for this client? */
  protected abstract get mayAskHandling(): boolean

  override handler_EHLO(command: Buffer, done: () => void): void {
    this.#isGreeting = true
    try {
      super.handler_EHLO(command, done)
    } finally {
      this.#isGreeting = false
    }
  }

  override send(code: number, data?: string | string[] | null, context?: string | false): void {
    const isOffered = this.#isGreeting && code === 250 && Array.isArray(data) && this.mayAskHandling
    super.send(code, isOffered ? [...data, ...handlingExtensions(Date.now())] : data, context)
  }
}
