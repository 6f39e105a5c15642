/** What a table of aliases makes of an address. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { aliasesIn, expanded, isTarget, lineFor, type Aliases } from '../../../src/relay/tables/aliases.js'
import { isWaybillError } from '../../../src/errors.js'

const becoming = (table: Aliases, address: string): readonly string[] | undefined => {
  const became = expanded(table, address)
  return became && [...became.values()]
}

const aliases = aliasesIn(
  [
    '# ours',
    'Info@Example.COM  ada@example.com, Bob@example.net',
    'sales@example.com info@example.com\tcarol@example.com,,ada@EXAMPLE.com.',
    'ada+lists@example.com  archive@example.com',
    'staff@example.com',
    '  # those who are here',
    '  ada@example.com,',
    '',
    '\tstaff@example.com eve@example.net',
    '@old.example @new.example',
    'ada@old.example ada@example.com',
    '@all.example all@all.example, copy@example.com',
    '@kept.example @KEPT.example log@example.com',
    'move@example.com @new.example',
    'grüße@exämple.org  ü@exämple.org u@exämple.org',
    '@exämple.org @xn--exmple-cua.net',
    '"a b"@example.com "c, d"@example.com',
    'x@[192.0.2.1] y@[192.0.2.2]',
    '@both.example ann@both.example, ben@both.example',
  ].join('\r\n'),
  'aliases',
)

test.each<[string, string[]]>([
  ['info@example.com', ['ada@example.com', 'Bob@example.net']],
  ['INFO@example.com', ['ada@example.com', 'Bob@example.net']],
  ['sales@example.com', ['ada@example.com', 'Bob@example.net', 'carol@example.com']],
  ['Staff@example.com', ['ada@example.com', 'staff@example.com', 'eve@example.net']],
  ['Nobody@Elsewhere.example', ['Nobody@Elsewhere.example']],
  ['ada@example.com', ['ada@example.com']],
  ['User@old.example', ['User@new.example']],
  ['ADA@OLD.example', ['ada@example.com']],
  ['user@a.old.example', ['user@a.old.example']],
  ['any@all.example', ['all@all.example', 'copy@example.com']],
  ['Any@kept.example', ['Any@kept.example', 'log@example.com']],
  ['move@example.com', ['move@new.example']],
  ['"a b"@example.com', ['"c, d"@example.com']],
  ['x@[192.0.2.1]', ['y@[192.0.2.2]']],
  // Each of them gets it when the other is written to.
  ['ann@both.example', ['ann@both.example', 'ben@both.example']],
])('%s becomes %j', (address, becomes) => {
  expect(becoming(aliases, address)).toEqual(becomes)
})

test.each<[string, string[]]>([
  // Behind other letters a domain has its own, behind plain ones those of the DNS; both are the
  // same.
  ['Grüße@xn--exmple-cua.org', ['ü@exämple.net', 'u@xn--exmple-cua.net']],
  ['user@exämple.org', ['user@xn--exmple-cua.net']],
  ['größe@exämple.org', ['größe@exämple.net']],
])('names of other letters: %s becomes %j', (address, becomes) => {
  expect(becoming(aliases, address)).toEqual(becomes)
})

test('what stands behind a + belongs to the name, as in Postfix without a recipient_delimiter', () => {
  expect(becoming(aliases, 'info+x@example.com')).toEqual(['info+x@example.com'])
  expect(becoming(aliases, 'ada+lists@example.com')).toEqual(['archive@example.com'])
  expect(becoming(aliases, 'ada+x@old.example')).toEqual(['ada+x@new.example'])
})

test.each<[string, ReturnType<typeof lineFor>]>([
  ['info@example.com', 'own'],
  ['ada@old.example', 'own'],
  ['anybody@old.example', 'same users'],
  ['anybody@kept.example', 'domain'],
  ['anybody@all.example', 'domain'],
  ['anybody@example.com', undefined],
])('%s has a line: %s', (address, line) => {
  expect(lineFor(aliases, address)).toBe(line)
})

test.each<[string, boolean]>([
  ['BOB@example.net', true],
  ['anybody@new.example', true],
  ['carol@example.net', false],
  ['info@example.com', true],
  ['sales@example.com', false],
])('mail for %s may have been for an alias: %s', (address, may) => {
  expect(isTarget(aliases, address)).toBe(may)
})

const chain = (count: number): string =>
  Array.from({ length: count }, (_, i) => `a${i}@x.example a${i + 1}@x.example`).join('\n')
/** Lines of two hundred, as long as one may be. */
const list = (name: string, count: number): string =>
  Array.from(
    { length: count },
    (_, i) => `${i === 0 ? name : i % 200 === 0 ? '\n ' : ''} ${name[0]}${i}@m.example`,
  ).join('')

test.each<[string, RegExp]>([
  ['', /there is no alias .*option aliases, path \/etc\/aliases/],
  ['# nothing\n\n', /there is no alias/],
  ['info@example.com', /behind info@example\.com there is no address.*line 1/],
  ['a@x.example b@x.example\ninfo@example.com ,\n', /behind info@example\.com.*line 2/],
  ['a@x.example b@x.example\nexample.com anything', /example\.com is no address and no @domain.*line 2/],
  ['info ada@example.com', /info is no address and no @domain: an alias is a line/],
  ['info: ada@example.com', /info: is no address/],
  ['info@example.com -> ada@example.com', /-> is no address and no @domain.*line 1/],
  ['info@example.com ada', /ada is no address/],
  ['info@example.com ada@example.com # the boss', /# is no address/],
  ['info@example.com ada@example.com;bob@example.com', /no address/],
  ['info@example.com |/bin/cat', /\|\/bin\/cat is no address/],
  ['info@example.com "ada@example.com', /"ada@example\.com is no address/],
  ['a@x.example\n  b@x.example\n  c\n', /c is no address.*line 3/],
  ['  ada@example.com', /begins with a blank.*line 1/],
  ['@ ada@example.com', /@ is no address/],
  ['@.example.com ada@example.com', /@\.example\.com is no address/],
  ['@a@example.com ada@example.com', /@a@example\.com is no address/],
  ['@[192.0.2.1] ada@example.com', /no @domain/],
  ['a@x.example @[192.0.2.1]', /no @domain/],
  ['.example.com ada@example.com', /no address/],
  ['* ada@example.com', /\* is no address/],
  ['a@x.example, b@x.example c@x.example', /a@x\.example, is no address.*line 1/],
  [',a@x.example b@x.example', /is no address and no @domain/],
  ['a@x.example b@x.example\nA@X.example c@x.example', /A@X\.example has a line above.*line 2/],
  ['@exämple.org b@x.example\n@xn--exmple-cua.org c@x.example', /has a line above.*line 2/],
  [
    'a@x.example b@x.example\nb@x.example a@x.example',
    /a@x\.example leads back to itself, by way of b@x\.example.*line 1/,
  ],
  [
    'a@x.example b@x.example\nb@x.example c@x.example d@x.example\nc@x.example a@x.example',
    /leads back to itself/,
  ],
  ['@a.example @b.example\n@b.example @a.example', /@a\.example leads back to itself, by way of @b\.example/],
  ['@a.example x@b.example\n@b.example y@a.example', /leads back to itself/],
  [
    'c@x.example a@y.example\n@y.example @x.example\na@x.example a@y.example',
    /@y\.example leads back to itself, by way of a@x\.example.*line 2/,
  ],
  [chain(1001), /leads through more than 1000 lines/],
  [
    chain(1001).split('\n').reverse().join('\n'),
    /a0@x\.example leads through more than 1000 lines.*line 1001/,
  ],
  [list('l@x.example', 1001), /l@x\.example stands for more than 1000 addresses.*line 1\)/],
  [
    `all@x.example b@x.example c@x.example\n${list('b@x.example', 501)}\n${list('c@x.example', 500)}`,
    /all@x\.example stands for more than 1000 addresses/,
  ],
  // Each names himself.
  [
    `a@x.example a@x.example l@x.example\n${list('l@x.example', 1000)}`,
    /a@x\.example stands for more.*line 1\)/,
  ],
  [
    `all@x.example a@x.example c@x.example\na@x.example a@x.example b@x.example\n${list('b@x.example', 500)}\n${list('c@x.example', 500)}`,
    /all@x\.example stands for more than 1000 addresses/,
  ],
])('a table that is wrong is refused with its line: %#', (text, says) => {
  expect(() => aliasesIn(text, '/etc/aliases')).toThrow(says)
  expect(() => aliasesIn(text, '/etc/aliases')).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))
})

test('a thousand lines one behind the other, and a thousand addresses, are not too many', () => {
  expect(becoming(aliasesIn(chain(1000), 'aliases'), 'a0@x.example')).toEqual(['a1000@x.example'])
  expect(becoming(aliasesIn(list('l@x.example', 1000), 'aliases'), 'l@x.example')).toHaveLength(1000)
})

test('an alias may become as many addresses as the operator says, and no more', () => {
  const long = list('l@x.example', 50_000)
  expect(becoming(aliasesIn(long, 'aliases', '', 50_000), 'l@x.example')).toHaveLength(50_000)
  expect(() => aliasesIn(long, 'aliases', '+', 49_999)).toThrow(
    /l@x\.example stands for more than 49999 addresses.*line 1\)/,
  )
  const few = aliasesIn(
    '@a.example @b.example @c.example\n@c.example @d.example @e.example',
    'aliases',
    '',
    3,
  )
  expect(becoming(few, 'u@a.example')).toHaveLength(3)
  expect(() => aliasesIn(list('l@x.example', 4), 'aliases', '', 3)).toThrow(/more than 3 addresses/)
})

test('what only an address that is in no line makes too many, or too long, has no expansion', () => {
  const lists = ['b', 'c'].map((name) => list(`u@${name}.example`, 600).replaceAll('@m.', `@${name}.`))
  const many = aliasesIn(['@a.example @b.example @c.example', ...lists].join('\n'), 'aliases')
  expect(becoming(many, 'u@b.example')).toHaveLength(600)
  expect(becoming(many, 'v@a.example')).toEqual(['v@b.example', 'v@c.example'])
  expect(becoming(many, 'u@a.example')).toBeUndefined()
  const domains = Array.from({ length: 100 }, (_, i) => `@d${i}.example @d${i + 1}.example`).join('\n')
  const way = (count: number): Aliases =>
    aliasesIn(`${domains}\n${list('l@x.example', count).replaceAll('@m.', '@d0.')}`, 'aliases')
  expect(expanded(way(99), 'l@x.example')).toHaveProperty('size', 99)
  expect(expanded(way(100), 'l@x.example')).toBeUndefined()
  const long = aliasesIn(`@a.example @${'b'.repeat(60)}.example`, 'aliases')
  expect(becoming(long, `${'u'.repeat(440)}@a.example`)).toHaveLength(1)
  expect(becoming(long, `${'u'.repeat(490)}@a.example`)).toBeUndefined()
})

const extended = aliasesIn(
  [
    'info@example.com ada@example.com, "Bob B"@example.net, @old.example',
    'ada@example.com ada@example.com log@example.com',
    'info+Lists@example.com archive@example.com',
    '@old.example @new.example',
    'postmaster@example.com ada@example.net',
    'owner-a@example.com carl@example.net',
    'owner@example.com dora@example.net',
    'a@example.com eve@example.net',
    'grüße@exämple.org ü@exämple.org u@exämple.org',
    'x@[192.0.2.1] y@[192.0.2.2]',
  ].join('\n'),
  'aliases',
  '+-',
)

test.each<[string, string[]]>([
  // Also to an address that names itself.
  [
    'Info+Tag@example.com',
    ['ada+Tag@example.com', 'log+Tag@example.com', '"Bob B+Tag"@example.net', 'Info+Tag@new.example'],
  ],
  ['info+lists@example.com', ['archive@example.com']],
  // The first delimiter decides.
  ['info+lists+x@example.com', ['ada+lists+x@example.com']],
  ['info-a+lists@example.com', ['ada-a+lists@example.com']],
  ['info+@example.com', ['ada+@example.com']],
  ['+info@example.com', ['+info@example.com']],
  ['ada+x@old.example', ['ada+x@new.example']],
  ['"info +x"@example.com', ['"info +x"@example.com']],
  ['"info+x"@example.com', ['ada+x@example.com']],
  ['postmaster+x@example.com', ['ada+x@example.net']],
  ['owner-a@example.com', ['carl@example.net']],
  ['owner-b@example.com', ['owner-b@example.com']],
  ['a-request@example.com', ['a-request@example.com']],
  ['-request@example.com', ['-request@example.com']],
  ['grüße+é@xn--exmple-cua.org', ['ü+é@exämple.org', 'u+é@exämple.org']],
  ['x+1@[192.0.2.1]', ['y+1@[192.0.2.2]']],
])('with extensions %s becomes %j', (address, becomes) => {
  expect(becoming(extended, address)?.slice(0, becomes.length)).toEqual(becomes)
})

test.each<[string, ReturnType<typeof lineFor>]>([
  ['info@example.com', 'own'],
  ['info+lists@example.com', 'own'],
  ['info+x@example.com', 'without extension'],
  ['info-request@example.com', undefined],
  ['any+x@old.example', 'same users'],
])('with extensions %s has a line: %s', (address, line) => {
  expect(lineFor(extended, address)).toBe(line)
})

test.each<[string, boolean]>([
  ['ada+x@example.com', true],
  ['log-x+y@example.com', true],
  ['"bob b+x"@example.net', true],
  ['adam+x@example.com', false],
  ['x+ada@example.com', false],
])('with extensions mail for %s may have been for an alias: %s', (address, may) => {
  expect(isTarget(extended, address)).toBe(may)
})

test.each<[string, RegExp]>([
  [
    'ada@x.example ada+lists@x.example',
    /ada@x\.example leads back to itself, by way of ada@x\.example.*line 1/,
  ],
  [
    'a@x.example b@x.example\nb+y@x.example a+y@x.example',
    /b\+y@x\.example leads back to itself, by way of a@x\.example.*line 2/,
  ],
  ['a@x.example a@y.example\n@y.example @x.example', /a@x\.example leads back to itself.*line 1/],
  ['a@x.example a@x.example b@x.example\nb@x.example a+y@x.example', /a@x\.example stands for more.*line 1/],
  ['@a.example @a.example @b.example\nv@b.example v+y@a.example', /@a\.example stands for more.*line 1/],
])(
  'a table that leads back with extensions alone, or in any case, is refused with them: %#',
  (text, says) => {
    expect(() => aliasesIn(text, 'aliases', '+')).toThrow(says)
  },
)

test('an address that is to become a longer one has a line at which that ends', () => {
  const table = aliasesIn('a@x.example b+y@x.example\nb+y@x.example b@x.example', 'aliases', '+')
  expect(becoming(table, 'a@x.example')).toEqual(['b@x.example'])
  expect(becoming(table, 'a+z@x.example')).toEqual(['b+y+z@x.example'])
})

/** As Postfix does it, cleanup_map1n.c and mail_addr_map.c: a list that is rewritten in place; an
 * address that names itself is not looked for again.
 * @returns undefined for a loop */
function asPostfix(
  lines: ReadonlyMap<string, readonly string[]>,
  delimiters: string,
  address: string,
): Set<string> | undefined {
  const all = [address]
  const been = new Set<string>()
  for (let at = 0; at < all.length && all.length <= 1000; at++)
    for (let count = 0; !been.has(all[at]!); count++) {
      if (count >= 100) return undefined
      const [local, domain] = all[at]!.split('@') as [string, string]
      const cut = delimiters === '' ? -1 : local.search(/[+=]/)
      const bare = cut < 1 ? undefined : lines.get(`${local.slice(0, cut)}@${domain}`)
      const extension = lines.has(all[at]!) || bare === undefined ? '' : local.slice(cut)
      const found = lines.get(all[at]!) ?? bare ?? lines.get(`@${domain}`)
      if (found === undefined) break
      const left = all[at]!
      const targets = found.map((target) =>
        target.startsWith('@') ? local + target : target.replace('@', `${extension}@`),
      )
      if (targets.includes(left)) been.add(left)
      all.splice(at, 1, targets[0]!)
      all.push(...targets.slice(1))
    }
  return all.length > 1000 ? undefined : new Set(all)
}

function unlessInvalid<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (isWaybillError(error, 'OPTION_INVALID')) return undefined
    throw error
  }
}

const domain = fc.constantFrom('a.example', 'b.example', 'c.example')

test.each<[delimiters: string, users: string[], others: string[], runCount: number]>([
  ['', ['u', 'v', 'w'], ['x'], 1000],
  [
    '+=',
    ['u', 'v', 'u+1', 'v=1+2'],
    ['v+1', 'v=1', 'x', 'x+1', 'u=9', 'v+9', 'x+9', 'u+1+9', 'v=1+2=9'],
    300,
  ],
])(
  'an address becomes what it becomes in Postfix, and a table is refused when there it would be a loop; delimiters: %j',
  (delimiters, users, others, numRuns) => {
    const user = fc.option(fc.constantFrom(...users), { freq: 2, nil: '' })
    const side = fc.tuple(user, domain).map((parts) => parts.join('@'))
    const table = fc.uniqueArray(fc.tuple(side, fc.array(side, { minLength: 1, maxLength: 3 })), {
      minLength: 1,
      maxLength: 8,
      selector: ([left]) => left,
    })
    let loopCount = 0
    fc.assert(
      fc.property(table, (lines) => {
        const text = lines.map(([left, targets]) => `${left} ${targets.join(', ')}`).join('\n')
        const everybody = [...users, ...others].flatMap((local) =>
          ['a.example', 'b.example', 'c.example', 'd.example'].map((name) => `${local}@${name}`),
        )
        const inPostfix = everybody.map((address) => asPostfix(new Map(lines), delimiters, address))
        const isLoop = inPostfix.includes(undefined)
        if (isLoop) loopCount++
        const read = unlessInvalid(() => aliasesIn(text, 'aliases', delimiters))
        expect(read === undefined).toBe(isLoop)
        const here = everybody.map((address) => read && new Set(becoming(read, address)))
        expect(isLoop ? [] : here).toEqual(isLoop ? [] : inPostfix)
      }),
      { numRuns },
    )
    expect(loopCount).toBeGreaterThan(20)
    expect(numRuns - loopCount).toBeGreaterThan(20)
  },
)
