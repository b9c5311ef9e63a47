# Completions for three shells, made of the commands' own help: all options of all commands.
set -eu
"$TOP/scripts/completions" made "$FLUIDC" "$FLUIDRUN"
for c in transpile plan show pack diff check prune ops; do
	"$FLUIDC" $c --help | sed -n 's/^  \(-.,\|   \) --\([a-z-]*\).*/\2/p' >options
	test -s options
	while read -r o; do
		grep -q "seen_subcommand_from $c' .*-l $o\( \|$\)" made/fish/fluidc.fish
		grep -q "^		$c) words=.*--$o\( \|\"\)" made/bash/fluidc
	done <options
done
"$FLUIDRUN" --help | sed -n 's/^  \(-.,\|   \) --\([a-z-]*\).*/\2/p' | while read -r o; do
	grep -q -- "-l $o\( \|$\)" made/fish/fluidrun.fish
	grep -q -- "--$o[]=[}]" made/zsh/_fluidrun
done
cat >try <<'END'
. made/bash/fluidc
complete_it() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _fluidc; echo "${COMPREPLY[@]}"; }
complete_it fluidc tr
complete_it fluidc transpile --mo
complete_it fluidc transpile --mode ''
complete_it fluidc transpile -m sy
complete_it fluidc show --format pr
complete_it fluidc show try
END
test "$(bash try)" = 'transpile
--mode
sync async half-async geo
sync
proto
try'
for f in made/bash/*; do bash -n "$f"; done
for f in made/zsh/*; do ! command -v zsh >/dev/null || zsh -n "$f"; done
for f in made/fish/*; do ! command -v fish >/dev/null || fish -n "$f"; done
