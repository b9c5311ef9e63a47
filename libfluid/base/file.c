#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

bool fl_is_dir(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

bool fl_is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && !S_ISDIR(st.st_mode);
}

static enum fl_code os_error(struct fl_err *err, const char *what, const char *path)
{
	return fl_err_set(err, errno == ENOENT ? FL_ENOTFOUND : FL_EIO, "cannot %s '%s': %s", what,
		path, strerror(errno));
}

static enum fl_code read_all(int fd, const char *path, size_t limit, struct fl_buf *out,
	struct fl_err *err)
{
	size_t start = out->len, step = 64 * 1024;
	struct stat st;
	ssize_t n;

	if (!fstat(fd, &st) && S_ISDIR(st.st_mode))
		return fl_err_set(err, FL_EINVAL, "cannot read '%s': it is a folder", path);
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0)
		step = (size_t)st.st_size + 1;
	if (limit && step > limit + 1)
		step = limit + 1;
	for (;;) {
		char *p = fl_buf_reserve(out, step);

		n = read(fd, p, step);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return os_error(err, "read", path);
		out->len += (size_t)n;
		out->data[out->len] = 0;
		if (n == 0)
			return FL_OK;
		if (limit && out->len - start > limit)
			return fl_err_set(err, FL_ELIMIT, "'%s' is larger than %zu bytes", path, limit);
		if ((size_t)n == step && step < (16u << 20))
			step *= 2;
	}
}

enum fl_code fl_file_read(const char *path, size_t limit, struct fl_buf *out, struct fl_err *err)
{
	enum fl_code code;
	int fd;

	if (!strcmp(path, "-"))
		return read_all(0, "standard input", limit, out, err);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return os_error(err, "open", path);
	code = read_all(fd, path, limit, out, err);
	close(fd);
	return code;
}

static enum fl_code write_all(int fd, const char *path, const char *p, size_t len,
	struct fl_err *err)
{
	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return os_error(err, "write", path);
		p += n;
		len -= (size_t)n;
	}
	return FL_OK;
}

enum fl_code fl_file_write(const char *path, const void *data, size_t len, struct fl_err *err)
{
	enum fl_code code;
	struct stat st;
	char *tmp;
	int fd;

	if (!strcmp(path, "-"))
		return write_all(1, "standard output", data, len, err);
	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		return fl_err_set(err, FL_EIO, "cannot write '%s': it is a folder", path);
	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			return os_error(err, "open", path);
		code = write_all(fd, path, data, len, err);
		close(fd);
		return code;
	}
	tmp = fl_xstrfmt("%s.tmp%ld", path, (long)getpid());
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0) {
		code = os_error(err, "create", tmp);
		fl_free(tmp);
		return code;
	}
	code = write_all(fd, path, data, len, err);
	if (close(fd) && code == FL_OK)
		code = os_error(err, "write", path);
	if (code == FL_OK && rename(tmp, path))
		code = os_error(err, "create", path);
	if (code != FL_OK)
		unlink(tmp);
	fl_free(tmp);
	return code;
}

enum fl_code fl_mkdirs(const char *path, struct fl_err *err)
{
	char *p = fl_xstrdup(path), *at;

	for (at = p + 1; *p; at++) {
		char c = *at;

		if (c && c != '/')
			continue;
		*at = 0;
		if (mkdir(p, 0777) && errno != EEXIST) {
			enum fl_code code = os_error(err, "create folder", p);

			fl_free(p);
			return code;
		}
		if (!c)
			break;
		*at = '/';
	}
	fl_free(p);
	if (!fl_is_dir(path))
		return fl_err_set(err, FL_EIO, "cannot create folder '%s': something else has that name",
			path);
	return FL_OK;
}

enum fl_code fl_mkdirs_for(const char *path, struct fl_err *err)
{
	const char *slash = strrchr(path, '/');
	enum fl_code code;
	char *dir;

	if (!slash || slash == path)
		return FL_OK;
	dir = fl_xstrndup(path, (size_t)(slash - path));
	code = fl_mkdirs(dir, err);
	fl_free(dir);
	return code;
}
