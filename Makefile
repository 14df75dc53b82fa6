# Commands for developers and for CI; `make help` lists them. Works on Linux and on macOS.

SOURCES := Package.swift Sources Tests Examples Scripts/stand-in Benchmarks/Package.swift Benchmarks/Sources \
	Fuzz/Package.swift Fuzz/Sources

# SwiftPM writes the flags of traits in the order of a `Set`. With random hashes, nearly every plan
# has other flags than the one before, and compiles all modules of this package again.
export SWIFT_DETERMINISTIC_HASHING := 1

# Found out when they are used: after the setup.
FLAGS = $$(Scripts/build-flags)

# A package of its own, and so a folder of its own: in .build, SwiftPM would mistake the two.
EXAMPLES := --package-path Examples --scratch-path .build/Examples $(FLAGS)

.DEFAULT_GOAL := help
.PHONY: loop help setup build demo demo-mirror demo-sync install check-static uninstall test test-all test-traits examples lint boundary comments format check test-rest check-rebuilds campaign tsan asan stores service bench bench-mirror bench-sync bench-join bench-check browse-check trait engines formats site site-check pictures clean setup-engine setup-packages

help: ## list the commands; those in parentheses are explained in the Makefile
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

setup: ## install SQLCipher 4 if it is missing, and build the packages that this one depends on
	@$(MAKE) --no-print-directory -j 2 setup-engine setup-packages

setup-engine setup-packages: # at once, since one waits for the network while the other compiles
	@Scripts/$(subst -engine,,$@)

build: setup ## build the package and all its tests
	SECURESTORAGE_TESTS=rest && export SECURESTORAGE_TESTS && swift build --build-tests $(FLAGS)

demo: setup ## the main job: an encrypted database of this machine's packages (demo-mirror, demo-sync)
	@echo "Building the library and the demo (after a change; the first time about 30 seconds on two cores) ..."
	swift run $(FLAGS) Quickstart

demo-mirror: setup # a service's machine is lost, and all it acknowledged comes back (STORE=postgresql, STORE=s3)
	@$(if $(filter-out directory,$(STORE)),Scripts/stores $(STORE) -- )Scripts/demo-mirror $(STORE)

demo-sync: setup # three devices write the same notes, one of them offline for a while
	swift build $(EXAMPLES) --product SharedNotes
	@Scripts/demo-sync

# DESTDIR=: for packagers. TRAITS=S3,PostgreSQL: with these stores.
install: $(if $(STATIC),,setup) ## the tool, man pages and completions in ~/.local (PREFIX=/usr/local, STATIC=1, check-static)
ifdef STATIC
	@program=$$(TRAITS="$(TRAITS)" Scripts/static-tool) && PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" Scripts/install "$$program"
else
	swift build -c release --product securestorage $(if $(TRAITS),--traits default,$(TRAITS))
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" Scripts/install .build/release/securestorage
endif

check-static: # the static tool on bare Debian 12 and 13: its libraries, its work, its start; needs root's rights
	Scripts/check-static

uninstall: ## remove what make install has installed (PREFIX, DESTDIR)
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" Scripts/install --remove

test: setup ## the tests that a change needs: those of Tests/*Tests
	Scripts/run-tests

test-all: setup ## all tests (FILTER=ToolTests; STORES=1: also over PostgreSQL and S3; stores, service)
	SECURESTORAGE_TESTS=$(if $(FILTER),all,rest) Scripts/run-tests $(if $(FILTER),--filter '$(FILTER)')
	@$(if $(FILTER),,$(MAKE) --no-print-directory examples test-traits)

examples: setup ## the examples with their tests, a package of its own (FILTER=TutorialTests)
	Scripts/run-tests --package-path Examples $(if $(SKIP_BUILD),--skip-build) $(if $(FILTER),--filter '$(FILTER)')

test-traits: setup # part of test-all: stores, metrics, traces, PostgreSQL and S3, which compile all modules again
	SECURESTORAGE_TESTS=traits $(if $(STORES),Scripts/stores postgresql s3 --) Scripts/run-tests

lint: ## check the formatting, the rules of folders and comments, and the pictures
	swift format lint --strict --parallel --recursive $(SOURCES)
	@$(MAKE) --no-print-directory boundary comments loop
	@Scripts/check-layers
	@Scripts/check-limits
	@Scripts/check-questions
	@Scripts/check-equivalent
	@Scripts/check-words
	@Scripts/setup-site
	@Scripts/pictures --check

boundary: # only one folder imports the C API, two files know key stores or secret bytes, nothing below the stores imports them, and no compiler's file is in git
	@! git ls-files | grep -E '\.(o|d|dia|swiftdeps|swiftmodule)$$'
	@! grep -rln --include='*.swift' 'import.*SecureKeys' Sources/SecureStorage \
		| grep -vE '(Keys/SecretBytes|Opening/OpeningWithKeyStore).swift$$'
	@! grep -rln --include='*.swift' 'import CSQLCipher' Sources Tests Examples \
		| grep -v '^Sources/SecureStorage/SQLite/'
	@! grep -rnE --include='*.swift' --exclude-dir='*.docc' 'import (ObjectStores|SecureMirror|SecureSync)$$' \
		Sources/SecureKeys Sources/SecureStorage Sources/SecureStoragePlatform Sources/Vaults* Tests/Support/TestSupport \
		$$(ls -d Tests/*Tests Tests/Extended/*Tests | grep -vE '/(SecureSync|Store|Trait)')

# Not checked by the formatter. A link cannot be wrapped.
comments: # comments are wrapped at 100 columns
	@! git ls-files -co --exclude-standard '*.swift' | xargs ls -d 2> /dev/null | LC_ALL=C.UTF-8 xargs grep -nE '^ *//' \
		| LC_ALL=C.UTF-8 grep -E '^[^:]*:[0-9]*:.{101}' | grep -vE '\]\(http|``/?\w.*``'

loop: # what would make builds slow again
	@! git grep -nE '#(expect|require)\(.' -- Tests Examples/Tests ':!Tests/Mutants' | grep -vE 'throws:|processExitsWith:'
	@! git grep -nE '@Suite( |$$)' -- Tests Examples/Tests
	@! git grep -lE '^[^#]*swift (build|test|run)' -- Scripts .ci .github | xargs grep -L SWIFT_DETERMINISTIC_HASHING | grep .
	@[ "$$(swift package describe --type json | grep -c '"path" : "Examples/')" = 1 ] || \
		{ echo "examples are in Examples/Package.swift; the root has only Quickstart"; exit 1; }

format: ## format the sources in place
	swift format --in-place --parallel --recursive $(SOURCES)

check: lint test check-rebuilds test-rest examples test-traits service site ## everything that a pull request has to pass (STORES=1)

test-rest: setup # what `make test` has not run (FILTER=ToolTests); SKIP_BUILD=1 after `make build`
	SECURESTORAGE_TESTS=rest Scripts/run-tests $(if $(SKIP_BUILD),--skip-build) \
		--filter '$(or $(FILTER),ExtendedTests[.]|ToolTests[.]|MovingTests[.])'

check-rebuilds: setup # a build compiles only what has changed (TRIES=10)
	@Scripts/check-rebuilds

campaign: setup ## thousands of rounds of what tests try a few times (NAME=crash; without it: the list)
	@COUNT=$(COUNT) SEED=$(SEED) PART=$(PART) STORES=$(STORES) TSAN=$(TSAN) FUZZ="$(FUZZ)" Scripts/campaign $(NAME)

tsan: setup ## the tests under ThreadSanitizer (asan: AddressSanitizer and LeakSanitizer)
	SECURESTORAGE_TESTS=all Scripts/run-tests --sanitize=thread --scratch-path .build/tsan
	Scripts/run-tests --package-path Examples --sanitize=thread --scratch-path .build/tsan/Examples

asan: export LSAN_OPTIONS = suppressions=$(CURDIR)/Scripts/lsan.suppressions:print_suppressions=0
asan: setup # the tests under AddressSanitizer and LeakSanitizer
	SECURESTORAGE_TESTS=all Scripts/run-tests --sanitize=address --scratch-path .build/asan
	Scripts/run-tests --package-path Examples --sanitize=address --scratch-path .build/asan/Examples

stores: setup # only the tests over stores, with the servers
	SECURESTORAGE_TESTS=traits Scripts/stores postgresql s3 -- Scripts/run-tests

service: setup # the tests of Examples/NotesService, a package of its own
	swift test --package-path Examples/NotesService --scratch-path .build/service --disable-xctest $(FLAGS)

# BENCH="--rows 10000 kv-get": other arguments. COUNT=instructions: counted, not timed.
bench: setup ## compare with C, GRDB and no encryption (bench-sync, -join, -mirror, -check, browse-check)
	@Scripts/setup-benchmarks $(if $(COUNT),valgrind)
	swift build --package-path Benchmarks -c release
	swift run --package-path Benchmarks -c release --skip-build Benchmarks $(if $(COUNT),--count) $(BENCH)

bench-mirror: # what a mirror costs: the writer's rate, how far behind, a restore of 1 GB, memory (FOLDER=/mnt/disk)
	@Scripts/setup-benchmarks
	swift build --package-path Benchmarks -c release --product MirrorFigures
	Benchmarks/.build/release/MirrorFigures $(if $(FOLDER),--folder $(FOLDER))

bench-sync: setup # what capture costs: writes with triggers and without, bytes of clocks; a group of 1,000 (FOLDER=/mnt/disk)
	SECURESTORAGE_TESTS=all swift build -c release --product SyncFigures --scratch-path .build/sync
	.build/sync/release/SyncFigures $(FOLDER)
	@folder=$$(mktemp -d) && .build/sync/release/SyncFigures batches "$$folder" 2000; rm -rf "$$folder"
	@folder=$$(mktemp -d) && .build/sync/release/SyncFigures members "$$folder" 1000; rm -rf "$$folder"

bench-join: setup # what joining a group costs: time and memory of a device that reads all rows (ROWS=1000000)
	SECURESTORAGE_TESTS=all swift build -c release --product SyncFigures --scratch-path .build/sync
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	code=$$(.build/sync/release/SyncFigures found "$$folder" $(or $(ROWS),1000000)) && \
	.build/sync/release/SyncFigures join "$$folder" "$$code"

bench-check: # fail if a case needs 5 % more instructions than Benchmarks/counts.txt says
	$(MAKE) --no-print-directory bench COUNT=instructions BENCH="--check Benchmarks/counts.txt"

browse-check: setup # browse a large table in tmux: first screen, memory, nothing left on the screen (ROWS=10000000)
	swift build -c release --product securestorage --scratch-path .build/browse
	Scripts/check-browse .build/browse/release/securestorage $(or $(ROWS),10000000)

trait: setup # build and run as on macOS, with a stand-in for swift-sqlcipher (TESTS=1: the tests too)
	SECURESTORAGE_TESTS=all Scripts/check-trait $(if $(TESTS),--tests)

engines: setup ## the tests on other builds of SQLCipher (SOURCE=FOLDER: that release; trait, formats)
	SECURESTORAGE_TESTS=all SOURCE="$(SOURCE)" Scripts/engines

formats: setup # files of other programs, SQLCipher 4.5 to 4.19 with 34 settings each, and this library's files there (PACKAGES="sqlcipher3==0.6.4")
	Scripts/formats $(PACKAGES)

# BASE=/path/on/the/server, REPOSITORY=https://where/files/can/be/read
site: setup ## the documentation site, in .build/site (site-check, pictures)
	SECURESTORAGE_TESTS=traits Scripts/site $(if $(BASE),--base $(BASE)) $(if $(REPOSITORY),--repository $(REPOSITORY))

site-check: # every page of the built site in a headless Chromium, with screenshots
	Scripts/check-site

pictures: # the pictures of the guides, from the descriptions beside them
	@Scripts/setup-site
	Scripts/pictures

clean: ## remove all build products
	rm -rf .build
