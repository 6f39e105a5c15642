/** A list through its members, and their table by name, beside arrays, by random commands. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LinkedList, type Linked } from '../../src/base/linked-list.js'
import { NameTable, type Named } from '../../src/base/name-table.js'

class Member implements Linked<Member>, Named<Member> {
  older: Member | undefined = undefined
  newer: Member | undefined = undefined
  sameHash: Member | undefined = undefined
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

const nameCount = 300
/** A member of that name comes, or leaves if it is there. */
const anyChanges = fc.array(fc.nat(nameCount - 1), { maxLength: 1000, size: 'max' })

test('a list holds its members in the order in which they came, and those that left link to nothing', () => {
  fc.assert(
    fc.property(anyChanges, (changes) => {
      const members = Array.from({ length: nameCount }, (_, i) => new Member(`${i}`))
      const list = new LinkedList<Member>()
      let array: Member[] = []
      for (const number of changes) {
        const member = members[number]!
        expect(list.has(member)).toBe(array.includes(member))
        if (list.has(member)) {
          list.remove(member)
          array = array.filter((one) => one !== member)
        } else {
          list.add(member)
          array.push(member)
        }
        expect([list.first, list.last, list.count]).toEqual([array[0], array.at(-1), array.length])
        expect(array.includes(member) || (member.older ?? member.newer) === undefined).toBe(true)
      }
      expect([...list]).toEqual(array)
    }),
  )
})

test('the one that a list gave last may leave, or go to the end', () => {
  const members = ['a', 'b', 'c'].map((name) => new Member(name))
  const list = new LinkedList<Member>()
  for (const member of members) list.add(member)
  const given: string[] = []
  for (const member of list) {
    given.push(member.name)
    list.remove(member)
    if (member.name === 'a') list.add(member)
  }
  expect(given).toEqual(['a', 'b', 'c', 'a'])
})

test('a table finds its members by name, through every growth, and no others', () => {
  fc.assert(
    fc.property(anyChanges, (changes) => {
      const table = new NameTable<Member>()
      const present = new Map<string, Member>()
      for (const number of changes) {
        const name = `${number}.example.net`
        const known = table.get(name)
        expect(known).toBe(present.get(name))
        const member = known ?? new Member(name)
        if (known === undefined) {
          table.add(member)
          present.set(name, member)
        } else {
          table.remove(known)
          present.delete(name)
        }
        expect(present.has(name) || member.sameHash === undefined).toBe(true)
      }
      for (let i = 0; i < nameCount; i++)
        expect(table.get(`${i}.example.net`)).toBe(present.get(`${i}.example.net`))
    }),
  )
})
