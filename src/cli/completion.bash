# SPDX-License-Identifier: Apache-2.0
# Bash completion for coldprof(1). tests/cli/agree.sh holds it to the option tables.
_coldprof()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]} words i

	for ((i = 1; i < COMP_CWORD; i++)); do
		if [[ ${COMP_WORDS[i]} == -- ]]; then
			_command_offset $((i + 1)) 2>/dev/null
			return
		fi
	done
	case $prev in
	--db | --output | -o)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--user)
		mapfile -t COMPREPLY < <(compgen -u -- "$cur")
		return
		;;
	--tier) words="0 1 2" ;;
	--until) words="http port log: file: exit" ;;
	--format) words="table json csv markdown" ;;
	*)
		case $verb in
		report) words="ledger processes files state imports cuda graphs jit coverage readiness diagnostics
			--run --until --db --format --help" ;;
		diff) words="--db --help" ;;
		list) words="--db --format --help" ;;
		export) words="csv --run --all --output -o --db --help" ;;
		doctor) words="--db --help" ;;
		*)
			words="-n --db --until --timeout --label --tier --cold --as-is --keep-last --user
				--quiet -q --help -h --version --"
			((COMP_CWORD == 1)) && words+=" report diff list export doctor"
			;;
		esac
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -F _coldprof coldprof
