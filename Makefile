# Fluid. `make` builds build/fluidc, build/fluidrun and build/libfluid.a.
#
#   make                 the commands and the library
#   make check           unit tests, command tests, recordings    make demo|test   installs what is missing, too
#   make asan ubsan tsan the tests with a sanitizer               make fuzz        replay + FUZZ_SECONDS a target
#   make lint            layers, banned words, man pages          make cover       line coverage
#   make golden          testdata anew from the recordings        make bench       scripts/bench
#   make install PREFIX=/usr/local DESTDIR=
#
# Knobs (make KNOB=value):
CC ?= cc
CFLAGS ?= -O2 -g
WERROR ?=
# 1: show commands
V ?=
PREFIX ?= /usr/local
DESTDIR ?=
PROTOC_C ?= protoc-c
PKG_CONFIG ?= pkg-config
FUZZ_SECONDS ?= 10
# objects of each way to build have a folder of their own
MODE ?= release

VERSION := 0.1.0
B := build/$(MODE)
OUT := $(if $(filter release,$(MODE)),build,$(B))
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-6s %s\n' '$(1)' '$(2)')

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wwrite-strings -Wformat=2 -fno-common
override CPPFLAGS += -Ilibfluid -Icmd -I$(B)/proto -D_POSIX_C_SOURCE=200809L -DFLUID_VERSION='"$(VERSION)"' -include libfluid/base/banned.h
override CFLAGS += -std=c11 $(WARN) $(if $(WERROR),-Werror) -pthread $(SAN)
override LDFLAGS += -pthread $(SAN)

# fluidc: neither gRPC nor BLAS (design D11); tests/cmd/links.sh checks it.
LIBS_C := -lprotobuf-c -lcjson -lm
LIBS_RUN := -lgrpc -lgpr -lopenblas -lz $(LIBS_C)

LIB_SRC := $(wildcard libfluid/*.c libfluid/*/*.c)
LIB_OBJ := $(LIB_SRC:%.c=$(B)/%.o) $(B)/proto/framework.pb-c.o
COMMON_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard cmd/common/*.c))
FLUIDC_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard cmd/fluidc/*.c)) $(COMMON_OBJ)
FLUIDRUN_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard cmd/fluidrun/*.c)) $(COMMON_OBJ)
TEST_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard tests/*.c))
RECORD_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard tests/recordings/*.c))
FUZZERS := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))

all: $(OUT)/fluidc $(OUT)/fluidrun $(OUT)/libfluid.a

$(OUT)/libfluid.a: $(LIB_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^
$(OUT)/fluidc: $(FLUIDC_OBJ) $(OUT)/libfluid.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(FLUIDC_OBJ) $(OUT)/libfluid.a $(LIBS_C)
$(OUT)/fluidrun: $(FLUIDRUN_OBJ) $(OUT)/libfluid.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(FLUIDRUN_OBJ) $(OUT)/libfluid.a $(LIBS_RUN)
$(B)/unit: $(TEST_OBJ) $(OUT)/libfluid.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(TEST_OBJ) $(OUT)/libfluid.a $(shell $(PKG_CONFIG) --libs check) $(LIBS_RUN)

$(B)/recordings: $(RECORD_OBJ) $(OUT)/libfluid.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(RECORD_OBJ) $(OUT)/libfluid.a $(LIBS_RUN)

$(B)/fuzz/%: $(B)/tests/fuzz/%.o $(if $(FUZZER),,$(B)/tests/fuzz/replay.o) $(OUT)/libfluid.a
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) $(FUZZER) -o $@ $^ $(LIBS_RUN)

# What is quick and near the cause comes first.
check:
	@$(MAKE) --no-print-directory check-unit
	@$(MAKE) --no-print-directory check-cmd
	@$(MAKE) --no-print-directory check-fuzz
	@$(MAKE) --no-print-directory check-golden
check-unit: $(B)/unit
	$(Q)$(B)/unit $(SUITE)
check-cmd: all
	$(Q)FLUIDC=$(abspath $(OUT)/fluidc) FLUIDRUN=$(abspath $(OUT)/fluidrun) tests/cmd.sh $(CMD)
check-golden: all $(B)/recordings
	$(Q)FLUIDC=$(abspath $(OUT)/fluidc) FLUIDRUN=$(abspath $(OUT)/fluidrun) $(B)/recordings $(GOLDEN)
check-repaired: all
	$(Q)FLUIDC=$(abspath $(OUT)/fluidc) FLUIDRUN=$(abspath $(OUT)/fluidrun) tests/recordings/repaired
check-fuzz: $(FUZZERS:%=$(B)/fuzz/%)
	$(Q)tests/fuzz.sh $(B)/fuzz

# Sanitizers: ThreadSanitizer on what has threads of its own (gRPC is not built with it).
asan:
	$(MAKE) MODE=asan CFLAGS='-O1 -g -fno-omit-frame-pointer' SAN='-fsanitize=address,undefined -fno-sanitize-recover=undefined' check
ubsan:
	$(MAKE) MODE=ubsan CFLAGS='-O1 -g' SAN='-fsanitize=undefined -fno-sanitize-recover=undefined' check
tsan:
	$(MAKE) MODE=tsan CFLAGS='-O1 -g' SAN=-fsanitize=thread SUITE='rpc pserver base' check-unit
fuzz:
	$(MAKE) MODE=fuzz CC=clang CFLAGS='-O1 -g' SAN=-fsanitize=fuzzer-no-link,address,undefined FUZZER=-fsanitize=fuzzer fuzz-run
fuzz-run: $(FUZZERS:%=$(B)/fuzz/%)
	$(Q)tests/fuzz.sh $(B)/fuzz $(FUZZ_SECONDS)
cover:
	$(MAKE) MODE=cover CFLAGS='-O0 -g' SAN=--coverage check
	$(Q)scripts/cover build/cover
lint: all
	$(Q)scripts/lint
golden:
	$(Q)scripts/golden
$(OUT)/bench_program: scripts/bench/program.c $(OUT)/libfluid.a
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $< $(OUT)/libfluid.a $(LDFLAGS) $(LIBS_C)
bench: all
	$(Q)scripts/bench/all
demo:
	$(Q)scripts/demo
test:
	$(Q)scripts/test

completions: all
	$(Q)scripts/completions $(B)/completions $(OUT)/fluidc $(OUT)/fluidrun

install: all completions
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include \
		$(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man7
	install -m 755 build/fluidc build/fluidrun $(DESTDIR)$(PREFIX)/bin
	install -m 644 build/libfluid.a $(DESTDIR)$(PREFIX)/lib
	install -m 644 libfluid/fluid.h $(DESTDIR)$(PREFIX)/include
	install -m 644 man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 man/*.7 $(DESTDIR)$(PREFIX)/share/man/man7
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/bash-completion/completions $(B)/completions/bash/*
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/zsh/site-functions $(B)/completions/zsh/*
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d $(B)/completions/fish/*
	printf '%s\n' 'prefix=$(PREFIX)' 'Name: fluid' 'Description: parameter server training, compatible with Fluid' \
		'Version: $(VERSION)' 'Requires.private: libprotobuf-c libcjson grpc openblas zlib' \
		'Cflags: -I$${prefix}/include' 'Libs: -L$${prefix}/lib -lfluid' 'Libs.private: -pthread -lm' \
		>$(DESTDIR)$(PREFIX)/lib/pkgconfig/fluid.pc

$(B)/%.o: %.c $(B)/proto/framework.pb-c.h
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$(B)/proto/framework.pb-c.o: $(B)/proto/framework.pb-c.c
	$(call say,CC,$<)
	$(Q)$(CC) -I$(B)/proto $(filter-out -W%,$(CFLAGS)) -c -o $@ $<
$(B)/proto/%.pb-c.c $(B)/proto/%.pb-c.h: proto/%.proto
	@mkdir -p $(@D)
	$(call say,PROTO,$<)
	$(Q)$(PROTOC_C) --c_out=$(B)/proto -Iproto $<

# Kernels: loops vectorize; no fused multiply-add, the random initializers must be exact to the bit.
$(B)/libfluid/kernels/%.o: override CFLAGS += -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math
$(B)/tests/%.o: override CPPFLAGS += -Itests -D_XOPEN_SOURCE=700
$(B)/libfluid/base/cpu.o: override CPPFLAGS += -D_GNU_SOURCE

clean:
	rm -rf build

.PHONY: all clean check check-repaired check-unit check-cmd check-golden check-fuzz asan ubsan tsan fuzz fuzz-run cover lint golden bench demo test install completions
.DELETE_ON_ERROR:
.SECONDARY: # keeps the generated headers
-include $(shell find $(B) -name '*.d' 2>/dev/null)
