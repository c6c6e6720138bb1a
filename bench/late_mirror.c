// A read-only mirror of a directory through FUSE that waits before every open and every read, as the server of a
// network file system does. Many requests wait at once.
//
//   cc -O2 late_mirror.c -o late_mirror $(pkg-config --cflags --libs fuse3)
//   LATE_READ_MS=5 LATE_OPEN_MS=5 ./late_mirror ROOT MOUNT
//
// LATE_DIRECT=1: nothing that was read is kept in the page cache.
// `getfattr -n user.late MOUNT` says what was read since the last look.
#define FUSE_USE_VERSION 312
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kPathBytes = 8192 };

static char root[4096];
static long read_us, open_us;
static int is_direct;
static atomic_long reads, bytes, in_flight, most;

static void wait_us(long us) {
  const struct timespec time = {us / 1000000, us % 1000000 * 1000};
  if (us > 0) nanosleep(&time, 0);
}

static void resolve(char* out, const char* path) {
  snprintf(out, kPathBytes, "%s%s", root, path);
}

static int do_getattr(const char* path, struct stat* out, struct fuse_file_info* info) {
  char there[kPathBytes];
  (void)info;
  resolve(there, path);
  return lstat(there, out) ? -errno : 0;
}

static int do_open(const char* path, struct fuse_file_info* info) {
  char there[kPathBytes];
  resolve(there, path);
  wait_us(open_us);
  const int fd = open(there, O_RDONLY);
  if (fd < 0) return -errno;
  info->fh = (uint64_t)fd;
  info->keep_cache = !is_direct;
  info->direct_io = is_direct;
  return 0;
}

static int do_read(const char* path, char* out, size_t size, off_t offset, struct fuse_file_info* info) {
  (void)path;
  const long now = atomic_fetch_add(&in_flight, 1) + 1;
  for (long seen = atomic_load(&most); now > seen && !atomic_compare_exchange_weak(&most, &seen, now);) {
  }
  wait_us(read_us);
  const ssize_t got = pread((int)info->fh, out, size, offset);
  atomic_fetch_sub(&in_flight, 1);
  atomic_fetch_add(&reads, 1);
  if (got > 0) atomic_fetch_add(&bytes, got);
  return got < 0 ? -errno : (int)got;
}

static int do_release(const char* path, struct fuse_file_info* info) {
  (void)path;
  close((int)info->fh);
  return 0;
}

static int do_readdir(const char* path, void* out, fuse_fill_dir_t fill, off_t offset, struct fuse_file_info* info,
                      enum fuse_readdir_flags flags) {
  (void)offset, (void)info, (void)flags;
  char there[kPathBytes];
  resolve(there, path);
  DIR* const folder = opendir(there);
  if (!folder) return -errno;
  for (struct dirent* entry; (entry = readdir(folder));) fill(out, entry->d_name, 0, 0, 0);
  closedir(folder);
  return 0;
}

static int do_getxattr(const char* path, const char* name, char* value, size_t size) {
  (void)path;
  if (strcmp(name, "user.late")) return -ENODATA;
  char text[256];
  const int length = snprintf(text, sizeof text, "%ld reads, %ld bytes, %ld at once", atomic_exchange(&reads, 0),
                              atomic_exchange(&bytes, 0), atomic_exchange(&most, 0));
  if (size == 0) return length;
  if ((size_t)length > size) return -ERANGE;
  memcpy(value, text, (size_t)length);
  return length;
}

static void* do_init(struct fuse_conn_info* connection, struct fuse_config* config) {
  connection->max_readahead = 1 << 20;
  connection->max_background = 256;
  connection->congestion_threshold = 200;
  config->kernel_cache = 1;
  config->use_ino = 1;
  config->attr_timeout = config->entry_timeout = 60;
  return 0;
}

static const struct fuse_operations operations = {.getattr = do_getattr,
                                                  .open = do_open,
                                                  .read = do_read,
                                                  .release = do_release,
                                                  .readdir = do_readdir,
                                                  .getxattr = do_getxattr,
                                                  .init = do_init};

static long us_of(const char* name) {
  const char* const text = getenv(name);
  return text ? (long)(1000 * atof(text)) : 0;
}

int main(int argc, char** argv) {
  if (argc != 3 || !realpath(argv[1], root)) return fprintf(stderr, "late_mirror ROOT MOUNT\n"), 2;
  read_us = us_of("LATE_READ_MS");
  open_us = us_of("LATE_OPEN_MS");
  is_direct = getenv("LATE_DIRECT") != 0;
  char* arguments[] = {argv[0], argv[2], "-o", "max_idle_threads=128,max_threads=128,fsname=late_mirror", 0};
  return fuse_main(4, arguments, &operations, 0);
}
