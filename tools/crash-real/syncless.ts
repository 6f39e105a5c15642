/** A preloaded library that breaks durability: syncs do nothing, and O_DSYNC is dropped. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { missing } from './loop-file-system.js'
import type { Undo } from './undo.js'

const source = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/types.h>

int fsync(int fd) { (void)fd; return 0; }
int fdatasync(int fd) { (void)fd; return 0; }
int syncfs(int fd) { (void)fd; return 0; }
void sync(void) {}

#define WITHOUT_SYNC(flags) ((flags) & ~(O_SYNC | O_DSYNC))
#define OPEN(name) \\
  int name(const char *path, int flags, ...) { \\
    va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); \\
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, #name); \\
    return real(path, WITHOUT_SYNC(flags), mode); \\
  }
#define OPENAT(name) \\
  int name(int at, const char *path, int flags, ...) { \\
    va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); \\
    int (*real)(int, const char *, int, ...) = dlsym(RTLD_NEXT, #name); \\
    return real(at, path, WITHOUT_SYNC(flags), mode); \\
  }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
`

/** Compiles it. */
export function syncless(undo: Undo): { readonly library: string } | { readonly skipped: string } {
  const absent = missing('gcc')
  if (absent !== undefined) return { skipped: absent }
  const directory = mkdtempSync(join(tmpdir(), 'waybill-syncless-'))
  undo.directory(directory)
  const library = join(directory, 'syncless.so')
  writeFileSync(join(directory, 'syncless.c'), source)
  const { status, stderr } = spawnSync(
    'gcc',
    ['-shared', '-fPIC', '-O1', '-o', library, join(directory, 'syncless.c'), '-ldl'],
    { encoding: 'utf8' },
  )
  return status === 0 ? { library } : { skipped: `gcc: ${stderr.trim().split('\n')[0] ?? ''}` }
}
