/** The state of the page: the place, the session and the data of each view. Every change passes
 * here.
 * Invariant: one render for all changes of a frame; what a view has begun ends when the
 * reader leaves it. */
import type { ProblemDetails, Session } from '../facts/api.js'
import { addressOf, placeOf, type Place } from '../facts/place.js'
import { Client, errorText } from '../parts/client.js'
import { Destinations } from './destinations.js'
import { Feed } from '../parts/feed.js'
import { LaneCounts } from './lane-counts.js'
import { LogView } from './log.js'
import { MessageList } from './message-list.js'
import { OneMessage } from './one-message.js'
import { Outcomes } from './outcomes.js'
import { QueuesView } from './queues.js'
import { VerbDialog } from './verb-dialog.js'

export class App {
  readonly client: Client = new Client()
  readonly feed: Feed
  readonly messages: MessageList
  readonly one: OneMessage
  readonly destinations: Destinations
  readonly outcomes: Outcomes
  readonly log: LogView
  readonly queues: QueuesView
  readonly lanes: LaneCounts
  readonly dialog: VerbDialog
  place: Place = placeOf(location.hash)
  session: Session | undefined
  /** Why there is no session; undefined while it is asked for. */
  refusal: ProblemDetails | undefined
  /** Why the session cannot be asked for: the relay is away. */
  trouble: string | undefined
  readonly #render: () => void
  readonly #waiting: (() => void)[] = []
  #isDue = false

  constructor(render: (app: App) => void) {
    this.#render = () => render(this)
    this.feed = new Feed(this.client, () => {
      this.outcomes.look()
      this.changed()
    })
    this.outcomes = new Outcomes(this)
    this.messages = new MessageList(this)
    this.one = new OneMessage(this)
    this.destinations = new Destinations(this)
    this.log = new LogView(this)
    this.queues = new QueuesView(this)
    this.lanes = new LaneCounts(this)
    this.dialog = new VerbDialog(this)
  }

  async start(): Promise<void> {
    this.client.takeToken()
    this.client.onRefused = (problem) => this.#refuse(problem)
    addEventListener('hashchange', () => this.#move())
    this.place = placeOf(location.hash)
    await this.enter()
    addEventListener('scroll', () => this.changed(), { passive: true })
    addEventListener('resize', () => this.changed())
    // Relative times go on when nothing else does.
    setInterval(() => this.changed(), 1000)
  }

  /** Asks who the reader is, until the relay answers. */
  async enter(): Promise<void> {
    this.refusal = undefined
    this.changed()
    try {
      this.session = await this.client.session()
      this.trouble = undefined
      this.feed.start()
      this.#show()
    } catch (error) {
      if (this.refusal === undefined) {
        this.trouble = errorText(error)
        setTimeout(() => void this.enter(), 2000)
      }
    }
    this.changed()
  }

  /** The nearest frame shows it. */
  changed(): void {
    if (this.#isDue) return
    this.#isDue = true
    requestAnimationFrame(() => {
      this.#isDue = false
      this.#render()
      for (const tell of this.#waiting.splice(0)) tell()
    })
  }

  /** Settles when the document shows what is so now. */
  rendered(): Promise<void> {
    this.changed()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  go(place: Place): void {
    location.hash = addressOf(place)
  }

  /** To readers of the screen. */
  say(text: string): void {
    const said = document.getElementById('said')
    if (said !== null) said.textContent = text
  }

  may(scope: string): boolean {
    return this.session?.scopes.includes(scope) ?? false
  }

  #refuse(problem: ProblemDetails): void {
    this.feed.stop()
    this.session = undefined
    this.refusal = problem
    this.changed()
  }

  #move(): void {
    const before = this.place
    this.client.takeToken()
    this.place = placeOf(location.hash)
    if (before.view !== this.place.view || before.id !== this.place.id) {
      scrollTo(0, 0)
      // The heading of the view before goes with it, and its focus too.
      void this.rendered().then(() => document.querySelector<HTMLElement>('main h1')?.focus())
    }
    this.#show()
    this.changed()
  }

  #show(): void {
    if (this.session === undefined) return
    const { view, id, filter } = this.place
    this.outcomes.look()
    if (view === 'messages' && id === undefined) this.messages.show(filter)
    if (view === 'messages' && id !== undefined) this.one.show(id)
    if (view === 'destinations') this.destinations.show()
    else this.destinations.leave()
    if (view === 'log') this.log.show()
    else this.log.leave()
    if (view === 'queues') this.queues.show()
    else this.queues.leave()
  }
}
