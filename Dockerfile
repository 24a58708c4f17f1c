# The image of the models' sandboxes, built without a context. It uses only Debian packages, which
# are signed and need no TLS certificates of the local network.
FROM debian:trixie-slim AS sandbox

ENV LANG=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive \
    PIP_BREAK_SYSTEM_PACKAGES=1 \
    PIP_ROOT_USER_ACTION=ignore \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    MPLBACKEND=Agg

# Do not unpack manuals, translations and the static Python library, now or later. Keep the manual
# folders: the scripts of some packages (Java) fail if they cannot create links there. Unpack
# without waiting for the disk after each file: a container that loses power is not used again.
RUN printf '%s\n' \
        force-unsafe-io \
        'path-exclude=/usr/share/doc/*' \
        'path-include=/usr/share/doc/*/copyright' \
        'path-exclude=/usr/share/man/*' \
        'path-exclude=/usr/share/info/*' \
        'path-exclude=/usr/share/locale/*' \
        'path-exclude=*/libpython3*.a' \
        > /etc/dpkg/dpkg.cfg.d/sandbox \
    && printf '%s\n' \
        'Acquire::Languages "none";' \
        'Acquire::Retries "3";' \
        'APT::Get::Assume-Yes "true";' \
        'DPkg::Use-Pty "0";' \
        > /etc/apt/apt.conf.d/90sandbox \
    && for section in 1 2 3 4 5 6 7 8; do mkdir -p /usr/share/man/man$section; done

RUN apt-get update \
    && apt-get install --no-install-recommends \
        ca-certificates curl wget git file less procps unzip xz-utils \
        gcc libc6-dev make \
        python3 python3-dev python3-pip python3-venv python-is-python3 \
        python3-numpy python3-scipy python3-sympy python3-pandas \
        python3-matplotlib fonts-dejavu \
        python3-pil python3-pypdf poppler-utils \
    && apt-get clean \
    && cd /usr/lib/python3/dist-packages \
    && find scipy sympy matplotlib mpl_toolkits pandas numpy/f2py -type d -name tests \
        -prune -exec rm -r {} + \
    && rm -rf /usr/share/unicode /usr/bin/*lto-dump* \
        /var/lib/apt/lists/* /var/cache/* /var/log/*

# pip refuses to replace Debian's packages. In a virtual environment on top of them it installs
# newer versions that take precedence. The environment is /usr/local, so that every PATH finds it
# first and Debian's python3 sees what pip installs.
RUN rm -rf /usr/local/lib/python3.* \
    && python3 -m venv --system-site-packages --without-pip /usr/local \
    && ln -s site-packages "$(echo /usr/local/lib/python3.*)/dist-packages" \
    && printf '#!/bin/sh\nexec /usr/local/bin/python3 -m pip "$@"\n' > /usr/local/bin/pip \
    && chmod 755 /usr/local/bin/pip \
    && ln -s pip /usr/local/bin/pip3

# Build the font cache, so that the first plot is fast.
RUN python3 -c 'import matplotlib.font_manager' \
    && mkdir /workspace \
    && ln -s /workspace /testbed

WORKDIR /workspace
CMD ["sleep", "infinity"]

# The proxy, the only exit from the sandboxes' networks; see agent/sandbox/network/squid/. It needs
# Python for the helper that decides which hosts a run may reach.
FROM debian:trixie-slim AS proxy

# Squid's packages want Perl for scripts that are not used here, and error pages in all languages.
RUN printf '%s\n' \
        force-unsafe-io \
        'path-exclude=/usr/share/doc/*' \
        'path-include=/usr/share/doc/*/copyright' \
        'path-exclude=/usr/share/man/*' \
        'path-exclude=/usr/share/locale/*' \
        'path-exclude=/usr/share/squid-langpack/*' \
        'path-exclude=/usr/share/perl/*' \
        'path-exclude=/usr/lib/*/perl/*' \
        'path-exclude=/usr/lib/*/libperl.so*' \
        > /etc/dpkg/dpkg.cfg.d/proxy \
    && apt-get update \
    && apt-get install -y --no-install-recommends squid nftables python3-minimal \
    && apt-get clean \
    && rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/squid/*

CMD ["sh", "/opt/studio/proxy/start.sh"]
