"""What known programs do: tables of their names."""

from collections.abc import Mapping


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


EXTERNAL = _names(
    "curl wget wget2 aria2c ssh scp sftp ftp lftp nc ncat netcat telnet ping ping6 dig nslookup "
    "host whois traceroute tracepath yt-dlp youtube-dl lynx w3m links elinks http https rclone "
    "gh aws gsutil gcloud az kaggle huggingface-cli hf ollama speedtest nmap uvx npx pnpx bunx"
)
"""Programs that reach the network with every use."""

_INSTALL = _names("install download wheel")
_NODE = _names("install i add ci update upgrade create")
EXTERNAL_WITH: Mapping[str, frozenset[str]] = {
    "apt": _names("install update upgrade download source build-dep full-upgrade"),
    "apt-get": _names("install update upgrade download source build-dep dist-upgrade"),
    "aptitude": _names("install update upgrade download"),
    "apk": _names("add update upgrade fetch"),
    "dnf": _names("install update upgrade download"),
    "yum": _names("install update upgrade"),
    "brew": _names("install update upgrade fetch"),
    "pip": _INSTALL,
    "pipx": _names("install run upgrade"),
    "uv": _names("add sync lock install"),
    "poetry": _names("add install update"),
    "conda": _names("install create update"),
    "mamba": _names("install create update"),
    "micromamba": _names("install create update"),
    "npm": _NODE,
    "pnpm": _NODE,
    "yarn": _NODE,
    "bun": _NODE,
    "gem": _names("install update fetch"),
    "bundle": _names("install update"),
    "cargo": _names("install add fetch update"),
    "go": _names("get install"),
    "opam": _names("install update"),
    "cpan": _names("-i install"),
    "cpanm": frozenset(),
    "tlmgr": _names("install update"),
    "composer": _names("install require update"),
    "git": _names("clone fetch pull push ls-remote submodule"),
    "docker": _names("pull push run build"),
}
"""Programs that reach the network with these words; ``cpanm`` with any."""

INSTALLERS = frozenset(EXTERNAL_WITH) - {"git", "docker"}

FILE = _names(
    "ls dir vdir cp mv rm mkdir rmdir touch ln chmod chown chgrp tar unzip zip gunzip gzip "
    "bzip2 bunzip2 xz unxz zstd 7z 7za unrar tree stat file find locate plocate fd fdfind "
    "truncate mktemp install rsync dd du shred split csplit rename realpath readlink pdftotext "
    "pdfinfo pdfimages pdftoppm pdftohtml pdfgrep pdfunite pandoc docx2txt antiword catdoc "
    "unrtf xlsx2csv csvlook in2csv exiftool identify ffprobe mediainfo sha256sum sha1sum "
    "sha512sum md5sum cksum cmp diff colordiff patch comm join less more nano vim vi emacs ed "
    "zcat bzcat xzcat zgrep dos2unix unix2dos libreoffice soffice mount umount sync setfacl "
    "getfacl attr inotifywait dpkg-deb ar"
)
"""Programs whose subject is files."""

DELETING = _names("rm rmdir unlink shred srm wipe trash trash-put")
"""Programs that delete files."""

FILTERS: Mapping[str, tuple[int, str]] = {
    "cat": (0, ""), "tac": (0, ""), "head": (0, "nc"), "tail": (0, "nc"), "wc": (0, ""),
    "sort": (0, "kto"), "uniq": (0, "fsw"), "cut": (0, "dfcb"), "nl": (0, "bdfhilnpsvw"),
    "rev": (0, ""), "fold": (0, "w"), "fmt": (0, "w"), "column": (0, "tsco"), "strings": (0, "n"),
    "xxd": (0, "lscg"), "od": (0, "AtNjw"), "hexdump": (0, "nse"), "base64": (0, "w"),
    "paste": (0, "d"), "shuf": (0, "nieo"), "expand": (0, "t"), "iconv": (0, "fto"),
    "xmllint": (0, ""), "csvcut": (0, "c"), "csvstat": (0, "c"), "csvsql": (0, ""),
    "grep": (1, "efABCm"), "egrep": (1, "efABCm"), "fgrep": (1, "efABCm"), "rg": (1, "efABCmgt"),
    "ag": (1, "ABCmG"), "sed": (1, "ef"), "awk": (1, "Fvf"), "gawk": (1, "Fvf"),
    "mawk": (1, "Fvf"), "jq": (1, "f"), "yq": (1, ""), "sqlite3": (0, ""), "tr": (9, ""),
}  # fmt: skip
"""Programs that read files or stdin: the number of operands before the files, and the short
options that take a value."""

COMPUTE = _names(
    "bc dc factor units qalc octave octave-cli julia R Rscript gp maxima sage ghc runghc "
    "gnuplot matlab wolframscript gcc g++ cc c++ clang clang++ rustc javac java make cmake "
    "ninja tcc gfortran nasm ld ffmpeg sox lame magick convert mogrify montage inkscape "
    "rsvg-convert timidity fluidsynth lilypond pdflatex xelatex lualatex latex latexmk typst dot "
    "neato blender povray gs tesseract whisper espeak openssl hashcat z3 minizinc glpsol cbc "
    "scip obabel node nodejs deno ruby perl php lua luajit ghci scala kotlin swift ocaml guile "
    "racket sbcl clojure elixir erl prolog swipl tsc ts-node pytest"
)
"""Programs that calculate, compile, render, or execute code that is not read."""

NEUTRAL = _names(
    "echo printf cd pwd pushd popd dirs true false : date cal sleep whoami uname env set unset "
    "which whereis type hash id groups ps kill pkill pgrep killall wait jobs fg bg disown nproc "
    "free df uptime test [ [[ clear history alias unalias ulimit umask trap read mapfile exit "
    "return shift seq yes tput stty hostname lscpu lsb_release top htop vmstat nvidia-smi "
    "getconf locale local export declare readonly typeset let break continue printenv basename "
    "dirname logger tty who w arch lsof shopt getopts times expr apt-cache dpkg dpkg-query ldd "
    "ldconfig fc-list fc-cache submit git tee md5 man help info apropos"
)
"""Programs whose use says nothing about the three capabilities."""

WRAPPERS: Mapping[str, str] = {
    "sudo": "ughpCTRDr", "doas": "uC", "env": "uCS", "nice": "n", "nohup": "", "time": "fo",
    "stdbuf": "ioe", "exec": "a", "command": "", "builtin": "", "setsid": "", "ionice": "cn",
    "chroot": "", "unbuffer": "", "xvfb-run": "snef", "strace": "eopsuE", "ltrace": "eop",
    "catchsegv": "", "proot": "", "fakeroot": "", "firejail": "", "chronic": "", "busybox": "",
    "timeout": "ks", "watch": "n", "flock": "wE", "xargs": "nPIdLsEa", "parallel": "jIa",
    "taskset": "", "prlimit": "", "caffeinate": "", "unshare": "", "eatmydata": "", "perf": "e",
    "coproc": "",
}  # fmt: skip
"""Programs that execute another: the short options that take a value."""

OPERANDS: Mapping[str, int] = {"timeout": 1, "chroot": 1, "flock": 1, "taskset": 1, "perf": 1}
"""Operands of a wrapper before the program."""

SHELLS = _names("bash sh dash zsh ksh ash rbash")
LOCAL_HOSTS = ("localhost", "127.", "0.0.0.0", "::1", "[::1]")
