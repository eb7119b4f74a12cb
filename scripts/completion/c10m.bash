# c10m.bash: completion of the command for bash, and for zsh through bashcompinit. Commands, options, kinds of load
# and benchmarks come from what --help prints, keys from `c10m check --help`, paths of the tree from `c10m ls`: what
# is completed is what the installed command takes. `compgen -W` expands its words, $(...) among them: of what a file
# or a server says only plain names get there.

# _c10m_names TEXT: the first words of its indented lines: commands, kinds, benchmarks.
_c10m_names() { printf '%s\n' "$1" | sed -n 's/^  \([a-z]\{1,\}\) \{2,\}[^ ].*/\1/p'; }

# _c10m_rows TEXT: the rows of the doctor: the first words behind "Rows:".
_c10m_rows() { printf '%s\n' "$1" | sed -n '/^Rows:/,$s/^    \([a-z-]\{1,\}\) \{1,\}[^ ].*/\1/p'; }

# _c10m_options TEXT: what begins with - in it, up to the table of keys.
_c10m_options() {
    printf '%s\n' "$1" | sed '/^Every key, /,$d' | grep -oE -- '(^|[^[:alnum:]_-])--[a-z][a-z0-9-]*' | grep -oE -- '--.*' | sort -u
    case $1 in *--help*) ;; *) echo --help ;; esac
}

# _c10m_keys COMMAND FILE: SECTION.KEY= of every key; of named sections with the names that FILE gives them.
_c10m_keys() {
    "$1" check --help 2>/dev/null | awk -v file="$2" '
        BEGIN {
            while (file != "" && (getline line < file) > 0)
                if (match(line, /^[ \t]*\[(port|service)[ \t]+[^] \t]+[ \t]*\]/)) {
                    gsub(/[][]/, "", line)
                    split(line, part, " ")
                    if (part[2] ~ /^[A-Za-z0-9_.-]+$/) names[part[1]] = names[part[1]] " " part[2]
                }
        }
        /^#?\[.*\]$/ { gsub(/[][#]/, ""); section = $1; named = NF > 1; next }
        /^#?[a-z][a-z0-9_]* =/ {
            sub(/^#/, "")
            if (!named) { print section "." $1 "="; next }
            n = split(names[section], name, " ")
            for (i = 1; i <= n; i++) print section "." name[i] "." $1 "="
        }'
}

# _c10m_values COMMAND SECTION KEY: the words that a key takes, as its help says: "on or off", "a, b or c".
_c10m_values() {
    "$1" check --help 2>/dev/null | awk -v section="$2" -v key="$3" '
        /^#?\[.*\]$/ { head = $0; gsub(/[][#]/, "", head); split(head, part, " "); at = part[1] }
        /^#   / { expected = $0 }
        at == section && $1 ~ "^#?" key "$" && $2 == "=" {
            sub(/^#   /, "", expected)
            sub(/;.*/, "", expected)
            n = split(expected, word, /, | or /)
            for (i = 1; i <= n; i++) if (word[i] ~ /^[A-Za-z0-9_]+$/) print word[i]
        }'
}

# _c10m_plain: of the lines those that mean themselves to a shell.
_c10m_plain() { LC_ALL=C grep -xE '[A-Za-z0-9_.:@%+,/-]+'; }

# _c10m_paths COMMAND WORD SOCKET-OPTIONS...: entries of the directory that WORD names the beginning of.
_c10m_paths() {
    local c10m=$1 dir= word=$2
    shift 2
    case $word in */*) dir=${word%/*}/ ;; esac
    "$c10m" ls "$@" "/$dir" 2>/dev/null | awk -v dir="$dir" 'NF { print dir $NF }' | _c10m_plain
}

_c10m() {
    local c10m=${COMP_WORDS[0]} words word i command= kind= file= previous= help= cur= tree=()
    # bash breaks words at =, zsh does not: put together again.
    words=()
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [ ${#words[@]} -gt 0 ] && { [ "$word" = = ] || [ "${COMP_WORDS[i - 1]}" = = ]; }; then
            words[${#words[@]} - 1]+=$word
        else
            words+=("$word")
        fi
    done
    local n=${#words[@]}
    cur=${words[n - 1]}
    COMPREPLY=()
    command -v -- "$c10m" >/dev/null 2>&1 || return 0
    if [ "$n" -le 1 ]; then
        COMPREPLY=($(compgen -W "$(_c10m_names "$("$c10m" --help)") --help --version" -- "$cur"))
        return 0
    fi
    command=${words[0]}
    previous=${words[n - 2]}
    for ((i = 1; i < n - 1; i++)); do
        case ${words[i]} in
            -c | --config) file=${words[i + 1]} ;;
            --config=*) file=${words[i]#--config=} ;;
            -s | --socket) tree=(-s "${words[i + 1]}") ;;
        esac
    done
    case $command in
        load | bench) kind=${words[1]} ;;
    esac
    if [ "$n" = 2 ] && [ -n "$kind$command" ] && [ "${cur#-}" = "$cur" ]; then
        case $command in
            load | bench)
                COMPREPLY=($(compgen -W "$(_c10m_names "$("$c10m" "$command" --help 2>/dev/null)")" -- "$cur"))
                return 0
                ;;
        esac
    fi

    case $command:$previous in
        cat:-s | ls:-s | write:-s | watch:-s | *:--socket) COMPREPLY=($(compgen -f -- "$cur")); return 0 ;;
        watch:-n | watch:-c | dump:-c | dump:-s) return 0 ;;
        dump:-i | dump:--interface) COMPREPLY=($(compgen -W "$("$c10m" ls ports 2>/dev/null | tr -d / | _c10m_plain)" -- "$cur")); return 0 ;;
        dump:--direction) COMPREPLY=($(compgen -W "in out both" -- "$cur")); return 0 ;;
        top:-s) COMPREPLY=($(compgen -f -- "$cur")); return 0 ;;
        top:-m | top:--mount) COMPREPLY=($(compgen -d -- "$cur")); return 0 ;;
        top:-[dnw]) return 0 ;;
    esac
    case $previous in
        -c | --config | --svg | -w | --write | --cpuprofile | --memprofile | --trace) COMPREPLY=($(compgen -f -- "$cur")); return 0 ;;
        --adopt) COMPREPLY=($(compgen -W "never auto require" -- "$cur")); return 0 ;;
        --root) COMPREPLY=($(compgen -d -- "$cur")); return 0 ;;
        --order) COMPREPLY=($(compgen -W "random turn" -- "$cur")); return 0 ;;
        --protocol) COMPREPLY=($(compgen -W "echo http" -- "$cur")); return 0 ;;
        --direction) COMPREPLY=($(compgen -W "down up both" -- "$cur")); return 0 ;;
        --closed-by) COMPREPLY=($(compgen -W "client server" -- "$cur")); return 0 ;;
        --hugepage) COMPREPLY=($(compgen -W "auto 1G 2M none" -- "$cur")); return 0 ;;
        --family) COMPREPLY=($(compgen -W "4 6" -- "$cur")); return 0 ;;
        --pages) COMPREPLY=($(compgen -W "auto none 2M 1G" -- "$cur")); return 0 ;;
        -s | --set)
            case $cur in
                *=*)
                    # The part behind = alone is the word for bash, all of it for zsh.
                    local key=${cur%%=*} value=${cur#*=} front=
                    [ -n "${ZSH_VERSION:-}" ] && front=$key=
                    COMPREPLY=($(compgen -P "$front" -W "$(_c10m_values "$c10m" "${key%%.*}" "${key##*.}")" -- "$value"))
                    ;;
                *)
                    COMPREPLY=($(compgen -W "$(_c10m_keys "$c10m" "$file")" -- "$cur"))
                    [ -n "${ZSH_VERSION:-}" ] || compopt -o nospace 2>/dev/null
                    ;;
            esac
            return 0
            ;;
    esac

    case $cur in
        -*)
            if [ "$command" = bench ] && [ "$n" -gt 2 ]; then
                help=$("$c10m" bench "$kind" --help 2>/dev/null)
            else
                help=$("$c10m" "$command" --help 2>/dev/null)
            fi
            COMPREPLY=($(compgen -W "$(_c10m_options "$help")" -- "$cur"))
            return 0
            ;;
    esac
    case $command in
        doctor)
            if [ "$n" = 2 ]; then
                COMPREPLY=($(compgen -W "check fix undo explain" -- "$cur"))
            else
                COMPREPLY=($(compgen -W "$(_c10m_rows "$("$c10m" doctor --help 2>/dev/null)")" -- "$cur"))
            fi
            ;;
        cat | ls | write | watch)
            COMPREPLY=($(compgen -W "$(_c10m_paths "$c10m" "$cur" "${tree[@]}")" -- "$cur"))
            # A directory goes on.
            case ${COMPREPLY[*]} in
                */) [ -n "${ZSH_VERSION:-}" ] || compopt -o nospace 2>/dev/null ;;
            esac
            ;;
    esac
    return 0
}

complete -F _c10m c10m
