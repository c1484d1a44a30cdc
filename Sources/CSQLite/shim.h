#ifndef HEARTH_CSQLITE_SHIM_H
#define HEARTH_CSQLITE_SHIM_H
#include <sqlite3.h>
// Swift calls no functions with a variable number of arguments.
static inline int hearth_sqlite3_close_without_checkpoint(sqlite3 *connection) {
  return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}
// Not in every C library's own module.
#if defined(__linux__)
#include <sys/inotify.h>
#endif
#endif
