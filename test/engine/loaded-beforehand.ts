/** Modules that a queue loads when they are first asked for, loaded before. A simulated world does
 * not wait for a module: weeks may pass in it meanwhile. */
import '../../src/backup/back-up.js'
import '../../src/history/history-reader.js'
import '../../src/history/history.js'
import '../../src/inspect/records/journal-ids.js'
