#ifndef HEARTH_CPOSTGRES_SHIM_H
#define HEARTH_CPOSTGRES_SHIM_H
#include <libpq-fe.h>
#endif
