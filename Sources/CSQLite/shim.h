#ifndef HEARTH_CSQLITE_SHIM_H
#define HEARTH_CSQLITE_SHIM_H
#include <sqlite3.h>
// Not in every C library's own module.
#if defined(__linux__)
#include <sys/inotify.h>
#endif
#endif
