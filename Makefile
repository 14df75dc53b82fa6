# Commands for developers and for CI; `make help` lists them. Works on Linux and on macOS.

SOURCES := Package.swift Sources Tests Examples Scripts/stand-in Benchmarks/Package.swift Benchmarks/Sources \
	Fuzz/Package.swift Fuzz/Sources

# SwiftPM writes the flags of traits in the order of a `Set`. With random hashes, nearly every plan
# has other flags than the one before, and compiles all modules of this package again.
export SWIFT_DETERMINISTIC_HASHING := 1

# Found out when they are used: after the setup.
FLAGS = $$(Scripts/build-flags)

# With STORES=1, the servers of stores are started for the command.
WITH_STORES := $(if $(STORES),Scripts/stores postgresql s3 --)

# In a campaign, one test may run for hours.
CAMPAIGN := SECURESTORAGE_TESTS=all SECURESTORAGE_STALL=240

# Campaigns that take hours in a debug build, with their files in memory where that is possible.
BUILD_WORLDS = swift build -c release --product SyncWorlds --scratch-path .build/sync
IN_MEMORY = $(if $(wildcard /dev/shm),TMPDIR=/dev/shm)

.DEFAULT_GOAL := help
.PHONY: help setup build demo demo-mirror demo-sync install uninstall test test-all lint format boundary check tsan asan crash faults salvage damage transactions soak fuzz stores mirror service bench bench-mirror bench-sync bench-join bench-check trait engines formats site site-check pictures clean comments browse-check check-static sync-models sync-orders sync-world sync-worlds sync-kills sync-adversary

help: ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

setup: ## install SQLCipher 4 and its headers if they are missing
	@Scripts/setup

build: setup ## build everything
	SECURESTORAGE_TESTS=all && export SECURESTORAGE_TESTS && swift build --build-tests $(FLAGS)

demo: setup ## the main job: an encrypted database of this machine's packages
	swift run $(FLAGS) Quickstart

demo-mirror: setup ## a service's machine is lost, and all it acknowledged comes back (STORE=postgresql, STORE=s3)
	@$(if $(filter-out directory,$(STORE)),Scripts/stores $(STORE) -- )Scripts/demo-mirror $(STORE)

demo-sync: setup ## three devices write the same notes, one of them offline for a while
	swift build $(FLAGS) --product SharedNotes
	@Scripts/demo-sync

install: $(if $(STATIC),,setup) ## the tool, man pages and completions in ~/.local (PREFIX=/usr/local, DESTDIR=, TRAITS=PostgreSQL, STATIC=1)
ifdef STATIC
	@program=$$(TRAITS="$(TRAITS)" Scripts/static-tool) && PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" Scripts/install "$$program"
else
	swift build -c release --product securestorage $(if $(TRAITS),--traits default,$(TRAITS))
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" Scripts/install .build/release/securestorage
endif

check-static: ## the static tool on bare Debian 12 and 13: its libraries, its work, its start; needs root's rights
	Scripts/check-static

uninstall: ## remove what make install has installed (PREFIX, DESTDIR)
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" Scripts/install --remove

test: setup ## the tests that a change needs: those of Tests/*Tests
	Scripts/run-tests

test-all: setup ## all tests (STORES=1: also over a PostgreSQL and an S3 server, started for it; FILTER=ToolTests)
	SECURESTORAGE_TESTS=all $(WITH_STORES) Scripts/run-tests $(if $(FILTER),--filter '$(FILTER)')

sync-models: ## the model of what sync may forget, with spin, and that it finds mistakes (SECONDS_EACH=600)
	Scripts/check-models

lint: ## check the formatting, the rules of folders and comments, and the pictures
	swift format lint --strict --parallel --recursive $(SOURCES)
	@$(MAKE) --no-print-directory boundary comments
	@Scripts/check-layers
	@Scripts/setup-site
	@Scripts/pictures --check

boundary: # only one folder imports the C API, and one file exports the secret bytes
	@! grep -rln --include='*.swift' 'import.*SecureKeys' Sources/SecureStorage | grep -v 'Keys/SecretBytes.swift$$'
	@! grep -rln --include='*.swift' 'import CSQLCipher' Sources Tests Examples \
		| grep -v '^Sources/SecureStorage/SQLite/'

# Not checked by the formatter. A link cannot be wrapped.
comments: # comments are wrapped at 100 columns
	@! git ls-files '*.swift' | LC_ALL=C.UTF-8 xargs grep -nE '^ *//' \
		| LC_ALL=C.UTF-8 grep -E '^[^:]*:[0-9]*:.{101}' | grep -vE '\]\(http|``\w.*``'

format: ## format the sources in place
	swift format --in-place --parallel --recursive $(SOURCES)

check: lint test ## what CI runs, with STORES=1
	@$(MAKE) --no-print-directory test-all FILTER='$(NOT_YET)'
	@$(MAKE) --no-print-directory site service

# The tests that `make test` has not run, and those of the mirror, which run over the stores too.
NOT_YET := ExtendedTests[.]|ToolTests[.]|MovingTests[.]|SyncPostgreSQLTests[.]|ExampleTests[.]|DatabaseMirror

tsan: setup ## the tests under ThreadSanitizer
	SECURESTORAGE_TESTS=all Scripts/run-tests --sanitize=thread --scratch-path .build/tsan

crash: setup ## long campaigns of kills, power cuts, failing and full disks, changed bytes (KILLS=500)
	$(CAMPAIGN) SECURESTORAGE_KILLS=$(or $(KILLS),500) SECURESTORAGE_STATES=5000 SECURESTORAGE_DISK_STEP=1 \
	SECURESTORAGE_DISKS=50 SECURESTORAGE_CHANGED_BYTES=60000 \
	Scripts/run-tests --filter 'kill|power cut|BrokenDiskTests|full disk|does not fit|DamageCampaignTests'

faults: setup ## system calls that fail, once and permanently, in each of 31 workloads (STEP=1)
	$(CAMPAIGN) SECURESTORAGE_FAULTS_STEP=$(or $(STEP),1) Scripts/run-tests --filter FaultySystemTests

salvage: setup ## salvage of all kinds of files, damaged and forged (DAMAGES=50, PART=2/8 of the files)
	$(CAMPAIGN) SECURESTORAGE_SALVAGE_FILES=100000 SECURESTORAGE_SALVAGE_PART=$(or $(PART),1/1) SECURESTORAGE_SALVAGE_DAMAGES=$(or $(DAMAGES),50) \
	SECURESTORAGE_FORGERIES=10000 Scripts/run-tests --filter 'SalvageMatrixTests|ForgedPageTests'

damage: setup ## damaged vaults, records, key files and backups (DAMAGES=10000)
	$(CAMPAIGN) SECURESTORAGE_DAMAGES=$(or $(DAMAGES),10000) Scripts/run-tests --filter 'DamageTests'

transactions: setup ## every order of up to five steps of transactions (STEPS=5)
	$(CAMPAIGN) SECURESTORAGE_TRANSACTION_STEPS=$(or $(STEPS),5) Scripts/run-tests --filter TransactionModelTests

soak: setup ## 16 threads of mixed calls, stress tests of every pair of calls (CALLS=10000, TSAN=1)
	$(CAMPAIGN) SECURESTORAGE_CALLS=$(or $(CALLS),10000) SECURESTORAGE_ROUNDS=$(or $(ROUNDS),2000) \
	SECURESTORAGE_STORM_SECONDS=$(or $(SECONDS),1800) SECURESTORAGE_THREADS=3 Scripts/run-tests \
	$(if $(TSAN),--sanitize=thread --scratch-path .build/tsan) \
	--filter '16 threads of calls|StormTests|PoolStateTests'

fuzz: setup ## mutated inputs for all code that reads untrusted data (SECONDS=600 each, FUZZ="sql values")
	FUZZ_SECONDS=$(or $(SECONDS),600) Scripts/fuzz $(FUZZ)

asan: setup ## the tests under AddressSanitizer and LeakSanitizer
	SECURESTORAGE_TESTS=all LSAN_OPTIONS=suppressions=$(CURDIR)/Scripts/lsan.suppressions:print_suppressions=0 Scripts/run-tests --sanitize=address --scratch-path .build/asan

stores: setup ## only the tests of stores and of the mirror, with the servers
	SECURESTORAGE_TESTS=all Scripts/stores postgresql s3 -- Scripts/run-tests --filter 'SecureSync(Extended)?Tests|SyncPostgreSQLTests|MirrorStoreTests'

mirror: setup ## kills and races of mirrors (KILLS=10000, RACES=1000; STORES=1: also with the servers)
	$(CAMPAIGN) SECURESTORAGE_KILLS=$(or $(KILLS),10000) SECURESTORAGE_RACES=$(or $(RACES),1000) \
	SECURESTORAGE_CUTS=300 SECURESTORAGE_COMMITS=2000 $(WITH_STORES) Scripts/run-tests \
	--filter 'MirrorKillTests|MirrorRaceTests|MirrorOutageTests|SharedMirrorTests|PostgreSQLTests/MirrorTests'

sync-world: setup ## groups of devices from seeds: kills, cuts, wrong clocks, copies, snapshots (WORLDS=10000, BEGINNINGS=1000, FIRST=0)
	$(BUILD_WORLDS)
	@$(IN_MEMORY) .build/sync/release/SyncWorlds worlds $(or $(FIRST),0) $(or $(WORLDS),10000)
	@$(IN_MEMORY) .build/sync/release/SyncWorlds beginnings $(or $(FIRST),0) $(or $(BEGINNINGS),1000)

sync-kills: setup ## four programs that sync through one store and are killed (KILLS=10000; STORES=1: also the servers)
	$(CAMPAIGN) SECURESTORAGE_KILLS=$(or $(KILLS),10000) $(WITH_STORES) Scripts/run-tests --filter SyncKillTests

sync-adversary: setup ## a store that lies: every byte of a group's objects changed, cut, swapped, hidden
	$(BUILD_WORLDS)
	@$(IN_MEMORY) .build/sync/release/SyncWorlds adversary

sync-worlds: setup ## merging members in random worlds, against the definitions (WORLDS=10000, FIRST=1)
	$(CAMPAIGN) SECURESTORAGE_MERGE_WORLDS=$(or $(WORLDS),10000) SECURESTORAGE_MERGE_FIRST=$(or $(FIRST),1) \
	Scripts/run-tests --filter MergeWorldTests

sync-orders: setup ## every order in which three members' transactions can arrive (ORDERS=20, STEPS=3)
	$(CAMPAIGN) SECURESTORAGE_MERGE_ORDERS=$(or $(ORDERS),20) SECURESTORAGE_MERGE_STEPS=$(or $(STEPS),3) \
	Scripts/run-tests --filter MergeOrdersTests

service: setup ## the tests of Examples/NotesService, a package of its own
	swift test --package-path Examples/NotesService --scratch-path .build/service --disable-xctest -Xcxx -O2

bench: setup ## compare with C, GRDB and no encryption (BENCH="--rows 10000 kv-get", COUNT=instructions)
	@Scripts/setup-benchmarks $(if $(COUNT),valgrind)
	swift build --package-path Benchmarks -c release
	swift run --package-path Benchmarks -c release --skip-build Benchmarks $(if $(COUNT),--count) $(BENCH)

bench-mirror: ## what a mirror costs: the writer's rate, how far behind, a restore of 1 GB, memory (FOLDER=/mnt/disk)
	@Scripts/setup-benchmarks
	swift build --package-path Benchmarks -c release --product MirrorFigures
	Benchmarks/.build/release/MirrorFigures $(if $(FOLDER),--folder $(FOLDER))

bench-sync: setup ## what capture costs: writes with triggers and without, bytes of clocks (FOLDER=/mnt/disk)
	SECURESTORAGE_TESTS=all swift build -c release --product SyncFigures --scratch-path .build/sync
	.build/sync/release/SyncFigures $(FOLDER)

bench-join: setup ## what joining a group costs: time and memory of a device that reads all rows (ROWS=1000000)
	SECURESTORAGE_TESTS=all swift build -c release --product SyncFigures --scratch-path .build/sync
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	code=$$(.build/sync/release/SyncFigures found "$$folder" $(or $(ROWS),1000000)) && \
	.build/sync/release/SyncFigures join "$$folder" "$$code"

bench-check: ## fail if a case needs 5 % more instructions than Benchmarks/counts.txt says
	$(MAKE) --no-print-directory bench COUNT=instructions BENCH="--check Benchmarks/counts.txt"

browse-check: setup ## browse a large table in tmux: first screen, memory, nothing left on the screen (ROWS=10000000)
	swift build -c release --product securestorage --scratch-path .build/browse
	Scripts/check-browse .build/browse/release/securestorage $(or $(ROWS),10000000)

trait: setup ## build and run as on macOS, with a stand-in for swift-sqlcipher (TESTS=1: the tests too)
	SECURESTORAGE_TESTS=all Scripts/check-trait $(if $(TESTS),--tests)

engines: setup ## the tests on other builds of SQLCipher (SOURCE=FOLDER: also on that release)
	SECURESTORAGE_TESTS=all SOURCE="$(SOURCE)" Scripts/engines

formats: setup ## files of other programs, SQLCipher 4.5 to 4.19 with 34 settings each, and this library's files there (PACKAGES="sqlcipher3==0.6.4")
	SECURESTORAGE_TESTS=all Scripts/formats $(PACKAGES)

site: setup ## the documentation site, in .build/site (BASE=/path/on/the/server, REPOSITORY=https://where/files/can/be/read)
	SECURESTORAGE_TESTS=all Scripts/site $(if $(BASE),--base $(BASE)) $(if $(REPOSITORY),--repository $(REPOSITORY))

site-check: ## every page of the built site in a headless Chromium, with screenshots
	Scripts/check-site

pictures: ## the pictures of the guides, from the descriptions beside them
	@Scripts/setup-site
	Scripts/pictures

clean: ## remove all build products
	rm -rf .build
