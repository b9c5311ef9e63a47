/*
 * Scopes: a tree of named variables. Look-up walks to the root. A scope owns its variables and its
 * children. Creating and finding in one scope from several threads is guarded inside; the values
 * are the callers' to guard.
 */
#ifndef FL_EXEC_SCOPE_H
#define FL_EXEC_SCOPE_H

#include "tensor/var.h"

struct fl_scope;

/* A root scope (parent NULL), or a child that its parent owns. */
struct fl_scope *fl_scope_new(struct fl_scope *parent);
/* Frees the scope, its variables and children, and takes it from its parent. */
void fl_scope_free(struct fl_scope *scope);
struct fl_scope *fl_scope_root(struct fl_scope *scope);

/* The variable in this scope; made (kind -1: a LoDTensor) when absent. Borrowed. */
struct fl_var *fl_scope_var(struct fl_scope *scope, const char *name, int kind);
/* The variable here or in the nearest parent; NULL. */
struct fl_var *fl_scope_find(struct fl_scope *scope, const char *name);
/* Calls fn for each variable of this scope alone, in order of creation. */
void fl_scope_each(struct fl_scope *scope, void (*fn)(void *arg, struct fl_var *var), void *arg);

#endif
