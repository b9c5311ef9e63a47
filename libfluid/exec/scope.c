/* Scopes (scope.h). Each scope's lock guards its map of variables and its list of children. */
#include "exec/scope.h"

#include <pthread.h>

#include "base/map.h"
#include "base/mem.h"

struct fl_scope {
	pthread_mutex_t lock;
	struct fl_map vars;	   /* name -> struct fl_var, owned */
	struct fl_scope *parent;   /* NULL: root */
	struct fl_scope *children; /* first; guarded by lock */
	struct fl_scope *prev, *next; /* siblings; guarded by the parent's lock */
};

struct fl_scope *fl_scope_new(struct fl_scope *parent)
{
	struct fl_scope *s = FL_NEW(struct fl_scope);

	pthread_mutex_init(&s->lock, NULL);
	fl_map_init(&s->vars);
	s->parent = parent;
	if (!parent)
		return s;
	pthread_mutex_lock(&parent->lock);
	s->next = parent->children;
	if (s->next)
		s->next->prev = s;
	parent->children = s;
	pthread_mutex_unlock(&parent->lock);
	return s;
}

static void unlink_from_parent(struct fl_scope *s)
{
	if (!s->parent)
		return;
	pthread_mutex_lock(&s->parent->lock);
	if (s->next)
		s->next->prev = s->prev;
	if (s->prev)
		s->prev->next = s->next;
	else
		s->parent->children = s->next;
	pthread_mutex_unlock(&s->parent->lock);
}

void fl_scope_free(struct fl_scope *scope)
{
	if (!scope)
		return;
	while (scope->children)
		fl_scope_free(scope->children);
	unlink_from_parent(scope);
	FL_MAP_EACH(e, &scope->vars)
		fl_var_free(e->value);
	fl_map_release(&scope->vars);
	pthread_mutex_destroy(&scope->lock);
	fl_free(scope);
}

struct fl_scope *fl_scope_root(struct fl_scope *scope)
{
	while (scope->parent)
		scope = scope->parent;
	return scope;
}

struct fl_var *fl_scope_var(struct fl_scope *scope, const char *name, int kind)
{
	struct fl_var *var;

	pthread_mutex_lock(&scope->lock);
	var = fl_map_get(&scope->vars, name);
	if (!var) {
		var = fl_var_new(name, kind < 0 ? FL_LOD_TENSOR : kind);
		fl_map_put(&scope->vars, name, var);
	}
	pthread_mutex_unlock(&scope->lock);
	return var;
}

struct fl_var *fl_scope_find(struct fl_scope *scope, const char *name)
{
	struct fl_var *var = NULL;

	for (; scope && !var; scope = scope->parent) {
		pthread_mutex_lock(&scope->lock);
		var = fl_map_get(&scope->vars, name);
		pthread_mutex_unlock(&scope->lock);
	}
	return var;
}

/* By position, so that fn may make variables itself. */
void fl_scope_each(struct fl_scope *scope, void (*fn)(void *arg, struct fl_var *var), void *arg)
{
	for (size_t i = 0;; i++) {
		struct fl_var *var = NULL;
		bool end;

		pthread_mutex_lock(&scope->lock);
		end = i >= scope->vars.n;
		if (!end)
			var = scope->vars.entries[i].value;
		pthread_mutex_unlock(&scope->lock);
		if (end)
			return;
		if (var)
			fn(arg, var);
	}
}
