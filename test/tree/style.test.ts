/** What can be checked by reading: lengths, names, how a file opens, links that lead somewhere. */
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { deepPatterns, longestTests, mockingTests } from '../../tools/test-tiers.js'
import { oldWords } from './old-words.js'
import { codeOf, filesBelow, root, sourcesBelow } from './sources.js'

const sources = sourcesBelow('src')
const everything = [...sources, ...sourcesBelow('tools'), ...sourcesBelow('bench'), ...sourcesBelow('test')]

const pages = [
  'README.md',
  ...['src', 'test', 'bench', 'tools'].flatMap((folder) => filesBelow(folder, '.md')),
]

/** A noun is not cut to meet a number: this is far above the median of 100. */
const linesMax = 400

test('no file of the source is longer than a reader holds in mind', () => {
  const long = sources
    .filter(({ text }) => text.split('\n').length - 1 > linesMax)
    .map(({ path, text }) => `${path}: ${text.split('\n').length - 1} lines`)
  expect(long).toEqual([])
})

test('every file of the source opens with what always holds', () => {
  const silent = sources
    .filter(({ text }) => !/^(?:#!.*\n)?\/\*\*[\s\S]{40,}?\*\//.test(text))
    .map(({ path }) => path)
  expect(silent).toEqual([])
})

/** The lines of comments, with their numbers. A table's rows are as long as they are. */
function commentLines(text: string): { readonly line: string; readonly number: number }[] {
  let isInside = false
  return text.split('\n').flatMap((line, index) => {
    const bare = line.trim()
    const isComment = isInside || bare.startsWith('//') || bare.startsWith('/*')
    if (bare.startsWith('/*')) isInside = true
    if (bare.includes('*/')) isInside = false
    return isComment && !/^(?:\*|\/\/) *\|/.test(bare) ? [{ line, number: index + 1 }] : []
  })
}

const columnsMax = 100
const headLinesMax = 12

test('no line of a comment is wider than 100 columns', () => {
  const wide = everything.flatMap(({ path, text }) =>
    commentLines(text)
      .filter(({ line }) => line.length > columnsMax)
      .map(({ number }) => `${path}:${number}`),
  )
  expect(wide).toEqual([])
})

test('the head of a file has at most 12 lines', () => {
  const long = everything.flatMap(({ path, text }) => {
    const head = /^(?:#!.*\n)?(\/\*[\s\S]*?\*\/)/.exec(text)?.[1] ?? ''
    const lines = commentLines(head).length
    return lines > headLinesMax ? [`${path}: ${lines} lines`] : []
  })
  expect(long).toEqual([])
})

const cellWordsMax = 15

/** What is longer is a list, or a sentence. */
test('a cell of a table has at most 15 words', () => {
  const long = pages.flatMap((path) =>
    readFileSync(join(root, path), 'utf8')
      .split('\n')
      .flatMap((line, index) => {
        const cells = line.startsWith('|') ? line.split(/(?<!\\)\|/).slice(1, -1) : []
        return cells.some((cell) => cell.trim().split(/\s+/).length > cellWordsMax)
          ? [`${path}:${index + 1}`]
          : []
      }),
  )
  expect(long).toEqual([])
})

test('comments are in plain words', () => {
  const found = everything.flatMap(({ path, text }) => {
    const lines = commentLines(text)
    return lines.flatMap(({ line, number }, index) => {
      const word = oldWords.exec(
        `${line} ${lines[index + 1]?.line.trim().replace(/^(?:\*|\/\/) ?/, '') ?? ''}`,
      )
      return word === null || word.index >= line.length ? [] : [`${path}:${number}: ${word[0]}`]
    })
  })
  expect(found).toEqual([])
})

/** A test is about a thing, not about a person. */
test('names of tests are in plain words', () => {
  // `test('…'`, and `test.each(…)('…'`, whose beginning may be far away.
  const named = /(?:\btest(?:\.\w+)*|\))\(\s*(?:'((?:[^'\\]|\\.)*)'|`([^`]*)`)/g
  const allowed = /^(?:(?:is|are) told|of (?:its|their) own)$/
  const wordsOfNames = new RegExp(`^who|${oldWords.source}`, 'gi')
  const found = filesBelow('test', '.test.ts').flatMap((path) =>
    [...readFileSync(join(root, path), 'utf8').matchAll(named)].flatMap(([, quoted, template]) => {
      const words = [...(quoted ?? template ?? '').matchAll(wordsOfNames)].map(([word]) => word)
      return words.filter((word) => !allowed.test(word)).map((word) => `${path}: ${word}`)
    }),
  )
  expect(found).toEqual([])
})

/** What was done keeps the words of its day. */
const oldPages = new Set(['src/CHANGES.md', 'src/sim/RESULTS.md'])

test('pages are in plain words', () => {
  const found = pages
    .filter((path) => !oldPages.has(path))
    .flatMap((path) => {
      const text = readFileSync(join(root, path), 'utf8').replace(/```[\s\S]*?```/g, (block) =>
        block.replace(/[^\n]/g, ''),
      )
      const lines = text.split('\n')
      return lines.flatMap((line, index) => {
        const word = oldWords.exec(`${line} ${(lines[index + 1] ?? '').trim()}`)
        return word === null || word.index >= line.length ? [] : [`${path}:${index + 1}: ${word[0]}`]
      })
    })
  expect(found).toEqual([])
})

/** A sentence that begins with one of these has no actor: it names neither a thing nor a deed. */
const questionWords =
  /^(?:#!.*\n)?\/\*\*\s+(What|Who|Whose|Whom|Whether|Which|How|Where|When|Why|Is|Are|Do|Does|May|Must|Of)\b/

test('a file opens with a noun or with what it does, not with a question', () => {
  // A test may ask.
  const files = everything.filter(({ path }) => !path.endsWith('.test.ts'))
  const asking = files.flatMap(({ path, text }) => {
    const word = questionWords.exec(text)?.[1]
    return word === undefined ? [] : [`${path}: ${word}`]
  })
  expect(asking).toEqual([])
})

const firstSentenceWordsMax = 25

/** The first sentence, up to a point that ends a word; `e.g.` and file names end none. */
const firstSentence = (head: string): string => /^[\s\S]*?[.](?=\s|$)/.exec(head)?.[0] ?? head

test('the first sentence of a file is short', () => {
  // A test may tell a story.
  const files = everything.filter(({ path }) => !path.startsWith('test/'))
  const long = files.flatMap(({ path, text }) => {
    const head = /^(?:#!.*\n)?\/\*\*([\s\S]*?)\*\//.exec(text)?.[1] ?? ''
    const plain = head.replace(/\n \*/g, '\n').trim()
    const words = firstSentence(plain).split(/\s+/).length
    return words > firstSentenceWordsMax ? [`${path}: ${words} words`] : []
  })
  expect(long).toEqual([])
})

const nothingNames = /(?:utils?|helpers?|managers?|misc|common)/i

test('no file and no class is called by a word that names nothing', () => {
  const files = everything.filter(
    ({ path }) => nothingNames.test(path.replace(/^.*\//, '')) || /\/utils?\//.test(path),
  )
  expect(files.map(({ path }) => path)).toEqual([])
  const names = everything.flatMap((source) =>
    [...codeOf(source).matchAll(/\b(?:class|interface|function|const)\s+(\w+)/g)]
      .filter(([, name]) => /(?:Manager|Helper|Utils?|data2)$/.test(name!))
      .map(([, name]) => `${source.path}: ${name}`),
  )
  expect(names).toEqual([])
})

test('a bound that a constant sets is called Max', () => {
  // Most is the most that something can come to: it is computed, or was seen.
  const set = everything.flatMap((source) =>
    [...codeOf(source).matchAll(/^(?:export )?const (\w*Most)\b(?:: number)? = [\d_ *+-]+$/gm)].map(
      ([, name]) => `${source.path}: ${name}`,
    ),
  )
  expect(set).toEqual([])
})

test('nothing is left to do, in brackets or not', () => {
  const left = /\b(?:TODO|FIXME|XXX|HACK)\b/
  const found = everything.filter(({ path, text }) => path !== 'test/tree/style.test.ts' && left.test(text))
  expect(found.map(({ path }) => path)).toEqual([])
})

test('every link in a page leads to a file that is there, and to a heading of it', () => {
  const broken = pages.flatMap((page) => {
    const text = readFileSync(join(root, page), 'utf8').replace(/```[\s\S]*?```/g, '')
    return [...text.matchAll(/\]\(([^)#\s]*)(?:#([^)]*))?\)/g)]
      .filter(([, target]) => !/^[a-z]+:/.test(target!))
      .filter(([, target, anchor]) => {
        const path = target === '' ? join(root, page) : join(root, dirname(page), target!)
        return !existsSync(path) || (anchor !== undefined && !anchorsOf(path).has(anchor))
      })
      .map(([link]) => `${page}: ${link}`)
  })
  expect(broken).toEqual([])
})

/** The anchors of its headings, as GitHub makes them. */
const anchorsOf = (path: string): ReadonlySet<string> =>
  new Set(
    [...readFileSync(path, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
      title!
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    ),
  )

const filesInFolderMax = 20

/** Until their nouns are merged. */
const largerFolders: Readonly<Record<string, number>> = { 'src/scheduler': 31, bench: 30 }

test('no folder has more files than a reader can choose among', () => {
  const counts = new Map<string, number>()
  for (const { path } of everything)
    if (!path.startsWith('test/')) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1)
  const large = [...counts].filter(([folder, count]) => count > (largerFolders[folder] ?? filesInFolderMax))
  expect(large).toEqual([])
})

const sentenceWordsMax = 15

test('every folder of the source says in one sentence what it is', () => {
  const folders = [...new Set(sources.map(({ path }) => dirname(path)))].filter((folder) => folder !== 'src')
  const silent = folders.filter((folder) => {
    const page = filesBelow(folder, '.md').find((path) => dirname(path) === folder)
    if (page === undefined) return true
    const paragraph = readFileSync(join(root, page), 'utf8').split('\n\n')[1] ?? ''
    const first = /^[^.?!]*(?:[.?!](?=\S)[^.?!]*)*[.?!](?=\s|$)/.exec(paragraph)?.[0] ?? ''
    const words = first.split(/\s+/).length
    return first === '' || words > sentenceWordsMax
  })
  expect(silent).toEqual([])
})

test('every file that a page or a comment names is there', () => {
  const pages = ['README.md', ...['src', 'tools', 'bench'].flatMap((folder) => filesBelow(folder, '.md'))]
  const inPages = pages.flatMap((path) => {
    const text = readFileSync(join(root, path), 'utf8')
    return [...text.matchAll(/`((?:src|test|bench|tools)\/[\w./-]+\.(?:ts|md|json))`/g)]
      .filter(([, file]) => !existsSync(join(root, file!)))
      .map(([, file]) => `${path}: ${file}`)
  })
  // In a comment a name without folder is one of a file anywhere.
  const names = new Set(everything.map(({ path }) => basename(path)))
  const inComments = everything.flatMap(({ path, text }) =>
    [...text.matchAll(/\/\*\*[\s\S]*?\*\/|\/\/ .*/g)].flatMap(([comment]) =>
      [
        ...comment.matchAll(
          /(?<![\w./-])((?:src|test|bench|tools)\/)?((?:[\w-]+\/)*[\w-]+(?:\.test)?\.ts)\b/g,
        ),
      ]
        .filter(([, top, file]) =>
          top === undefined ? !names.has(basename(file!)) : !existsSync(join(root, top + file)),
        )
        .map(([named]) => `${path}: ${named}`),
    ),
  )
  expect([...inPages, ...inComments]).toEqual([])
})

test('no docstring stands before another one, where no editor shows it', () => {
  const hidden = sources.flatMap(({ path, text }) =>
    // The first one of a file is the file's.
    [...text.slice(text.indexOf('*/') + 2).matchAll(/\*\/\n\n? *\/\*\*(.*)/g)].map(
      ([, line]) => `${path}:${line}`,
    ),
  )
  expect(hidden).toEqual([])
})

/** A docstring, and the lines that it stands before, up to an empty one or the next docstring. */
const documented = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*((?:(?!\n\n|\/\*\*)[\s\S])*)/g

test('a parameter that a docstring describes is one of the signature', () => {
  const stale = everything.flatMap(({ path, text }) =>
    [...text.matchAll(documented)].flatMap(([, comment, signature]) =>
      [...comment!.matchAll(/@param\s+(?:\*\s+)?`?(\w+)/g)]
        .filter(([, name]) => !new RegExp(`\\b${name}\\b`).test(signature!))
        .map(([, name]) => `${path}: ${name}`),
    ),
  )
  expect(stale).toEqual([])
})

test('what a queue answers later says with which errors', () => {
  const { text } = sources.find(({ path }) => path === 'src/queue.ts')!
  const later = [
    ...text.matchAll(
      /(\/\*\*(?:(?!\*\/)[\s\S])*\*\/)\n  (?:async )?(\w+)\(.*\): (?:Promise|AsyncIterable)</g,
    ),
  ]
  expect(later.length).toBeGreaterThan(9)
  expect(later.filter(([, comment]) => !comment!.includes('@throws')).map(([, , name]) => name)).toEqual([])
})

/** `{a,b}` and `**` are all that the tiers' patterns have. */
const matched = (pattern: string, path: string): boolean =>
  new RegExp(
    `^${pattern
      .replace(/[.]/g, '\\.')
      .replace(/\{([^}]*)\}/g, (_, names: string) => `(?:${names.replaceAll(',', '|')})`)
      .replaceAll('**', '.*')}$`,
  ).test(path)

test('what replaces modules shares no worker with other files', () => {
  const replacing = filesBelow('test', '.test.ts').filter((path) =>
    /^vi\.mock\(/m.test(readFileSync(join(root, path), 'utf8')),
  )
  const quick = replacing.filter((path) => !deepPatterns.some((pattern) => matched(pattern, path)))
  expect(quick).toEqual(mockingTests)
})

test('no quick test compares elapsed time with a constant', () => {
  const tests = filesBelow('test', '.test.ts')
  const quick = tests.filter((path) => !deepPatterns.some((pattern) => matched(pattern, path)))
  expect(quick.length).toBeGreaterThan(200)
  expect(deepPatterns.filter((pattern) => !tests.some((path) => matched(pattern, path)))).toEqual([])
  const elapsed =
    /expect\([^\n]*(?:performance\.now\(\)|Date\.now\(\)|tookMs)[^\n]*\)\.(?:toBeLess|toBeGreater)/
  expect(quick.filter((path) => elapsed.test(readFileSync(join(root, path), 'utf8')))).toEqual([])
})

test('the tests that begin first are deep ones, each named once', () => {
  const deep = filesBelow('test', '.test.ts').filter((path) =>
    deepPatterns.some((pattern) => matched(pattern, path)),
  )
  expect(longestTests.filter((path) => !deep.includes(path))).toEqual([])
  expect(longestTests.length).toBe(new Set(longestTests).size)
})

/** Modules that programs import by the names in package.json. */
const entries = Object.values(
  (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { exports: Record<string, unknown> })
    .exports,
).map((entry) => JSON.stringify(entry).replace(/.*"\.\/dist\/(src[^"]*)\.d\.ts".*/, '$1.ts'))

test('a value that a file exports is used in another one', () => {
  const userCounts = new Map<string, number>()
  const scripts = ['tools', 'test'].flatMap((folder) => filesBelow(folder, '.mjs'))
  const codes = [...everything.map(codeOf), ...scripts.map((path) => readFileSync(join(root, path), 'utf8'))]
  for (const code of codes)
    for (const word of new Set(code.match(/\w+/g))) userCounts.set(word, (userCounts.get(word) ?? 0) + 1)
  const exported = /^export (?:async |abstract )?(?:const|let|class|function\*?) (\w+)/gm
  const unused = everything
    .filter(({ path }) => !entries.includes(path))
    .flatMap((source) =>
      [...codeOf(source).matchAll(exported)]
        .filter(([, name]) => userCounts.get(name!) === 1)
        .map(([, name]) => `${source.path}: ${name}`),
    )
  expect(unused).toEqual([])
})

test('what may be of another realm is not asked with instanceof', () => {
  const classes = /\binstanceof (?:\w*Error|Promise|Uint8Array|ArrayBuffer|Map|Set|Date|RegExp)\b/
  const ours = new Set(
    sources.flatMap(({ text }) => [...text.matchAll(/class (\w*Error)\b/g)].map(([, name]) => name)),
  )
  const asking = sources
    .filter(({ path }) => path !== 'src/base/realms.ts' && !path.startsWith('src/console/'))
    .flatMap((source) =>
      [...codeOf(source).matchAll(new RegExp(classes, 'g'))]
        .filter(([found]) => !ours.has(found.slice('instanceof '.length)))
        .map(([found]) => `${source.path}: ${found}`),
    )
  // It is only quicker for ours, and right for all.
  expect(asking).toEqual(['src/delivery/attempt.ts: instanceof Promise'])
})
