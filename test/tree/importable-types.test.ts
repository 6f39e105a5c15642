/** Types that exported signatures name can be imported by a program: it declares variables and
 * functions of them. The signatures are read in the source, from the entries of the package on. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseAst } from 'rolldown/parseAst'
import { expect, test } from 'vitest'
import { root } from './sources.js'

type Node = Readonly<Record<string, unknown>> & { readonly type: string; readonly start: number }
type Named = { readonly name: string }

interface Declared {
  readonly path: string
  readonly name: string
}

interface Module {
  readonly text: string
  readonly declared: Map<string, Node[]>
  /** By the local name, or that under which it is exported: what it is called in `path`. */
  readonly imported: Map<string, Declared>
  readonly exported: Map<string, Declared>
  /** Modules of which everything is exported. */
  readonly whole: string[]
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string'

const modules = new Map<string, Module>()

function moduleAt(path: string): Module {
  const known = modules.get(path)
  if (known !== undefined) return known
  const text = readFileSync(path, 'utf8')
  const read: Module = { text, declared: new Map(), imported: new Map(), exported: new Map(), whole: [] }
  modules.set(path, read)
  for (const node of parseAst(text, { lang: 'ts' }, path).body) note(read, path, node as unknown as Node)
  return read
}

/** What another module of ours calls it; a package's names are not ours. */
function fromElsewhere(path: string, source: unknown, name: string): Declared | undefined {
  const { value } = source as { readonly value: string }
  const other = resolve(dirname(path), value.replace(/\.js$/, '.ts'))
  return value.startsWith('.') && existsSync(other) ? { path: other, name } : undefined
}

function note(module: Module, path: string, node: Node): void {
  const specifiers = (node['specifiers'] ?? []) as readonly Readonly<Record<string, Named>>[]
  const { source } = node
  if (node.type === 'ExportAllDeclaration') module.whole.push(fromElsewhere(path, source, '')?.path ?? path)
  for (const { local, imported, exported } of specifiers) {
    const name = (imported ?? local)!.name
    const found = isNode(source) ? fromElsewhere(path, source, name) : { path, name }
    if (found !== undefined)
      (exported ? module.exported : module.imported).set((exported ?? local)!.name, found)
  }
  const declaration = isNode(node['declaration']) ? node['declaration'] : node
  const declarators = (declaration['declarations'] ?? [declaration]) as readonly Node[]
  for (const declarator of declarators) {
    const name = (declarator['id'] as Named | undefined)?.name
    if (name === undefined) continue
    module.declared.set(name, [...(module.declared.get(name) ?? []), declarator])
    if (node.type === 'ExportNamedDeclaration') module.exported.set(name, { path, name })
  }
}

/** Where it is declared. */
function declarationOf({ path, name }: Declared): Declared | undefined {
  const { declared, imported, exported, whole } = moduleAt(path)
  if (declared.has(name)) return { path, name }
  const next = imported.get(name) ?? exported.get(name)
  if (next !== undefined) return declarationOf(next)
  for (const other of whole) {
    const found = declarationOf({ path: other, name })
    if (found !== undefined) return found
  }
  return undefined
}

/** Members that `openQueue` alone calls are no part of what a program uses. */
const isOurs = (text: string, node: Node): boolean =>
  /\/\*\* (?:Made by `openQueue`|`openQueue` calls it)(?:(?!\*\/)[^])*\*\/\s*$/.test(
    text.slice(0, node.start),
  )

function isHidden(text: string, node: Node, isConstructed: boolean): boolean {
  const { type, key, accessibility } = node
  if (type === 'FunctionBody' || type === 'BlockStatement') return true
  if (type !== 'MethodDefinition' && type !== 'PropertyDefinition') return false
  if ((isNode(key) && key.type === 'PrivateIdentifier') || accessibility === 'private') return true
  return (node['kind'] === 'constructor' && !isConstructed) || isOurs(text, node)
}

/** Names of types in a signature, without what stands in bodies. */
function* namesIn(text: string, value: unknown, isConstructed: boolean): Generator<string> {
  if (Array.isArray(value)) for (const part of value) yield* namesIn(text, part, isConstructed)
  if (!isNode(value) || isHidden(text, value, isConstructed)) return
  const named = value['typeName'] ?? (value.type === 'TSInterfaceHeritage' ? value['expression'] : undefined)
  const first = isNode(named) && named.type === 'TSQualifiedName' ? named['left'] : named
  if (isNode(first) && typeof first['name'] === 'string') yield first['name']
  const parent = value['superClass']
  if (isNode(parent) && typeof parent['name'] === 'string') yield parent['name']
  const isFunction = (part: unknown): boolean => isNode(part) && part.type === 'ArrowFunctionExpression'
  const isBody = (name: string, part: unknown): boolean =>
    name === 'init' || name === 'value'
      ? isNode(part) &&
        /Expression$|Literal$/.test(part.type) &&
        !isFunction(part) &&
        part.type !== 'FunctionExpression'
      : name === 'body' && isFunction(value)
  for (const [name, part] of Object.entries(value))
    if (!isBody(name, part)) yield* namesIn(text, part, isConstructed)
}

/** Sources of the entries, by package.json. */
function entries(): string[] {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, string | { readonly types: string }>>
  }
  return Object.values(exports).flatMap((target) =>
    typeof target === 'string' ? [] : [join(root, target.types.replace(/^\.\/dist\/|\.d\.ts$/g, '') + '.ts')],
  )
}

const keyOf = ({ path, name }: Declared): string => `${path.slice(root.length)}: ${name}`

/** The parts of a simulated disk: a program names the disk, not what is within. */
const isWithinDisk = (path: string): boolean => path.includes('/src/sim/disk/')

test('a type that an exported signature names can be imported', () => {
  const waiting = entries().flatMap((path) =>
    [...moduleAt(path).exported.values()].flatMap((found) => declarationOf(found) ?? []),
  )
  const importable = new Set(waiting.map(keyOf))
  expect(importable.size).toBeGreaterThan(150)
  const seen = new Set(importable)
  const missing: string[] = []
  for (const declared of waiting) {
    const { text, declared: nodes } = moduleAt(declared.path)
    const isConstructed = importable.has(keyOf(declared))
    for (const name of namesIn(text, nodes.get(declared.name), isConstructed)) {
      const found = declarationOf({ path: declared.path, name })
      if (found === undefined || seen.has(keyOf(found)) || isWithinDisk(found.path)) continue
      seen.add(keyOf(found))
      waiting.push(found)
      missing.push(`${keyOf(found)}, in ${declared.name}`)
    }
  }
  expect(missing).toEqual([])
})
