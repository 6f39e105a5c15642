/** A process that has opened all the files it may, and then calls the disk: `few-descriptors DIR`, below a low `ulimit -n`. It tells, as JSON, what each
 * call answered, and what there is once descriptors are free again. */
import fs from 'node:fs'
import { flockByProgram } from '../../dist/src/disk/lock.js'
import { nodeDisk } from '../../dist/src/disk/node-disk.js'

const [directory = ''] = process.argv.slice(2)
const disk = nodeDisk(directory)
const taken = []
try {
  for (;;) taken.push(fs.openSync('/dev/null'))
} catch (error) {
  if (error.code !== 'EMFILE') throw error
}
const answerOf = (call) =>
  call.then(
    () => 'done',
    ({ place }) => `${place.operation} ${place.errno}`,
  )
const answers = [
  await answerOf(disk.open('file', 'create')),
  await answerOf(disk.list('')),
  await answerOf(disk.syncDirectory('')),
  await answerOf(flockByProgram(taken[0])),
]
for (const descriptor of taken) fs.closeSync(descriptor)
process.stdout.write(JSON.stringify({ answers, names: await disk.list('') }))
