/* A slower disk, for LD_PRELOAD: every sync (fsync, fdatasync, and each write to a descriptor opened with O_DSYNC or O_SYNC)
 * takes SLOW_SYNC_US microseconds more. The thread that syncs sleeps; nothing else changes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static void delay(void) {
  static long microseconds = -1;
  if (microseconds < 0) {
    const char *text = getenv("SLOW_SYNC_US");
    microseconds = text ? atol(text) : 0;
  }
  struct timespec left = {microseconds / 1000000, microseconds % 1000000 * 1000};
  while (nanosleep(&left, &left) != 0) continue;
}

static int is_synced(int fd) {
  int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && (flags & O_DSYNC) != 0;
}

#define REAL(name, type) ((type)dlsym(RTLD_NEXT, #name))

int fsync(int fd) {
  delay();
  return REAL(fsync, int (*)(int))(fd);
}

int fdatasync(int fd) {
  delay();
  return REAL(fdatasync, int (*)(int))(fd);
}

ssize_t write(int fd, const void *bytes, size_t count) {
  if (is_synced(fd)) delay();
  return REAL(write, ssize_t (*)(int, const void *, size_t))(fd, bytes, count);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
  if (is_synced(fd)) delay();
  return REAL(pwrite, ssize_t (*)(int, const void *, size_t, off_t))(fd, bytes, count, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) {
  if (is_synced(fd)) delay();
  return REAL(pwrite64, ssize_t (*)(int, const void *, size_t, off64_t))(fd, bytes, count, offset);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
  if (is_synced(fd)) delay();
  return REAL(pwritev, ssize_t (*)(int, const struct iovec *, int, off_t))(fd, parts, count, offset);
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) {
  if (is_synced(fd)) delay();
  return REAL(pwritev64, ssize_t (*)(int, const struct iovec *, int, off64_t))(fd, parts, count, offset);
}
