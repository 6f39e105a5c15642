/** The text of a ZMailer configuration, cut into patterns and components.
 * Invariant: every token has its place. Behind a problem the scan continues at the next blank, or
 * at the next line if a quote is open, so one mistake is reported once and hides no other. */

/** From 1; columns count characters of JavaScript's strings. */
export interface TextPlace {
  readonly line: number
  readonly column: number
}

export interface PatternToken extends TextPlace {
  readonly kind: 'pattern'
  /** Without its quotes. */
  readonly text: string
  /** Where that begins. */
  readonly textColumn: number
}

export interface Component extends TextPlace {
  readonly kind: 'component'
  readonly name: string
  /** undefined for a keyword that stands alone */
  readonly value: string | undefined
  /** Where the value stands; the name, when there is none. */
  readonly valueLine: number
  readonly valueColumn: number
}

export interface ProblemToken extends TextPlace {
  readonly kind: 'problem'
  readonly expected: string
  /** It stands where a clause begins. */
  readonly isPattern: boolean
}

type Token = PatternToken | Component | ProblemToken

/** Blanks of this language. Of others, a hard space is none: it is reported where it stands. */
const skipped = /[ \t\v\f\r]*(?:#[^\n]*)?/y
const pattern = /(?:"((?:[^"\\\n]|\\[^\n])*)"|([^ \t\v\f\r\n#"]+))(?=[ \t\v\f\r\n#]|$)/y
const named = /([a-z][a-z0-9]*)(?:[ \t\v\f\r]*(=)[ \t\v\f\r]*)?/iy
const quoted = /"((?:[^"\\\n]|\\[^\n]|\\\n)*)"/y
const bare = /[^ \t\v\f\r\n"]+/y
const restOfWord = /[^ \t\v\f\r\n]*/y
const restOfLine = /[^\n]*/y

class Scan {
  readonly #text: string
  #at = 0
  #line = 1
  #lineStart = 0

  constructor(text: string) {
    this.#text = text
  }

  *tokens(): Generator<Token, undefined> {
    const text = this.#text
    while (this.#at < text.length) {
      const start = this.#at
      const isFirstColumn = start === this.#lineStart
      this.#take(skipped)
      if (this.#at >= text.length) return
      if (text[this.#at] === '\n') {
        this.#at++
        this.#newLine(this.#at)
      } else if (isFirstColumn && this.#at === start) yield this.#pattern()
      else yield this.#component()
    }
  }

  get #place(): TextPlace {
    return { line: this.#line, column: this.#at - this.#lineStart + 1 }
  }

  #newLine(start: number): void {
    this.#line++
    this.#lineStart = start
  }

  #take(regexp: RegExp): RegExpExecArray | undefined {
    regexp.lastIndex = this.#at
    const found = regexp.exec(this.#text)
    if (found === null) return undefined
    this.#at = regexp.lastIndex
    return found
  }

  #pattern(): Token {
    const place = this.#place
    const found = this.#take(pattern)
    if (found === undefined) {
      const isQuoted = this.#text[this.#at] === '"'
      this.#take(isQuoted ? restOfLine : restOfWord)
      const expected = isQuoted ? 'a pattern, its quotes closed, and white space' : 'no quotes in a pattern'
      return { kind: 'problem', ...place, expected, isPattern: true }
    }
    const [, inQuotes, word = ''] = found
    if (inQuotes !== undefined) {
      const text = inQuotes.replaceAll('\\"', '"')
      return { kind: 'pattern', ...place, text, textColumn: place.column + 1 }
    }
    if (word.includes('=')) {
      this.#take(restOfLine)
      return { kind: 'problem', ...place, expected: 'a pattern; assignments are indented', isPattern: true }
    }
    return { kind: 'pattern', ...place, text: word, textColumn: place.column }
  }

  #component(): Token {
    const place = this.#place
    const found = this.#take(named)
    if (found === undefined) {
      this.#take(restOfWord)
      return { kind: 'problem', ...place, expected: 'a variable or keyword', isPattern: false }
    }
    const [, name = '', assigns] = found
    const { line: valueLine, column: valueColumn } = assigns === undefined ? place : this.#place
    const value = assigns === undefined ? undefined : this.#value()
    const valuePlace = { line: valueLine, column: valueColumn }
    if (assigns !== undefined && value === undefined) {
      this.#take(this.#text[this.#at] === '"' ? restOfLine : restOfWord)
      const expected = `a value after ${name}=, quotes closed`
      return { kind: 'problem', ...valuePlace, expected, isPattern: false }
    }
    const next = this.#text[this.#at]
    if (next !== undefined && !/[ \t\v\f\r\n#]/.test(next)) {
      const behind = this.#place
      this.#take(restOfWord)
      return { kind: 'problem', ...behind, expected: `white space after ${name}`, isPattern: false }
    }
    return { kind: 'component', ...place, name, value, valueLine, valueColumn }
  }

  #value(): string | undefined {
    const start = this.#at
    const inQuotes = this.#take(quoted)?.[1]
    if (inQuotes === undefined) return this.#take(bare)?.[0]
    for (let i = start; i < this.#at; i++) if (this.#text[i] === '\n') this.#newLine(i + 1)
    return inQuotes.replace(/\\(\n|.)/g, (_, escaped) => (escaped === '\n' ? '' : escaped))
  }
}

/** A byte order mark is no part of the text. */
export const scan = (text: string): Generator<Token, undefined> =>
  new Scan(text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n')).tokens()
