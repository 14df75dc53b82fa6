// swift-tools-version: 6.1
import PackageDescription

// Which SQLCipher stands behind `CSQLCipher`: swift-sqlcipher's, built from source by SwiftPM, or
// the system's, found with pkg-config (see Scripts/setup). With a trait off, nothing of its
// provider is fetched or looked for.
#if os(macOS)
    let defaultProvider = "SwiftSQLCipher"
#else
    let defaultProvider = "SystemSQLCipher"
#endif

// swift-sqlcipher's options are traits, and its defaults are not for this library: without a
// progress callback no deadline and no cancellation could end a statement (it would not link), and
// with MAX_EXPR_DEPTH_0 the SQL of a hostile file could exhaust the stack. So all are named, those
// of Scripts/setup; `Scripts/check-trait` tries them. Another package of the same graph that asks
// for the defaults adds them to these.
let engineTraits: Set<Package.Dependency.Trait> = [
    "DEFAULT_MEMSTATUS_0", "DQS_0", "ENABLE_COLUMN_METADATA", "ENABLE_DBSTAT_VTAB", "ENABLE_FTS4",
    "ENABLE_FTS5", "ENABLE_MATH_FUNCTIONS", "ENABLE_PREUPDATE_HOOK", "ENABLE_RTREE",
    "ENABLE_SESSION", "ENABLE_SNAPSHOT", "ENABLE_STMTVTAB", "LIKE_DOESNT_MATCH_BLOBS",
    "OMIT_DEPRECATED", "OMIT_SHARED_CACHE", "THREADSAFE_2",
]

// Apple's platforms have URLSession.
let asyncHTTP: TargetDependencyCondition? = .when(platforms: [.linux], traits: ["S3"])

let features: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let platform: [Target.Dependency] = ["CSecureStoragePlatform", "SecureStoragePlatform"]
let library: [Target.Dependency] = ["SecureKeys", "SecureStorage", "SecureStoragePlatform"]
let beyond = library + ["ObjectStores", "SecureMirror", "SecureSync"]
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let cryptoExtras = Target.Dependency.product(name: "CryptoExtras", package: "swift-crypto")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let argumentParser = Target.Dependency.product(
    name: "ArgumentParser", package: "swift-argument-parser")
let privacy = Resource.copy("PrivacyInfo.xcprivacy")
let extended = "Tests/Extended"

extension Target {
    static func swift(
        _ name: String, _ dependencies: [Dependency], path: String? = nil,
        resources: [Resource]? = nil
    ) -> Target {
        .target(
            name: name, dependencies: dependencies, path: path, resources: resources,
            swiftSettings: features)
    }

    static func program(
        _ name: String, _ dependencies: [Dependency], path: String? = nil,
        resources: [Resource]? = nil
    ) -> Target {
        .executableTarget(
            name: name, dependencies: dependencies, path: path, resources: resources,
            swiftSettings: features)
    }

    // `path` is the folder that has the tests' folder.
    static func tests(
        _ name: String, _ dependencies: [Dependency], path: String? = nil,
        exclude: [String] = [], resources: [Resource]? = nil
    ) -> Target {
        .testTarget(
            name: name, dependencies: dependencies, path: path.map { "\($0)/\(name)" },
            exclude: exclude, resources: resources, swiftSettings: features)
    }
}

let package = Package(
    name: "SecureStorage",
    platforms: [
        .iOS(.v16), .macOS(.v13), .macCatalyst(.v16), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1),
    ],
    products: [
        .library(name: "SecureStorage", targets: ["SecureStorage"]),
        .library(name: "Vaults", targets: ["Vaults"]),
        .library(name: "SecureKeys", targets: ["SecureKeys"]),
        .library(name: "VaultsTestKit", targets: ["VaultsTestKit"]),
        .library(name: "SecureMirror", targets: ["SecureMirror"]),
        .library(name: "SecureSync", targets: ["SecureSync"]),
        .library(name: "ObjectStores", targets: ["ObjectStores"]),
        .library(name: "PostgreSQLStore", targets: ["PostgreSQLStore"]),
        .library(name: "S3Store", targets: ["S3Store"]),
        .library(name: "SyncTestKit", targets: ["SyncTestKit"]),
        .executable(name: "securestorage", targets: ["SecureStorageTool"]),
    ],
    traits: [
        .default(enabledTraits: [defaultProvider]),
        .trait(
            name: "SwiftSQLCipher",
            description: "SQLCipher from the Swift package swift-sqlcipher (default on macOS)"),
        .trait(
            name: "SystemSQLCipher",
            description: "the system's SQLCipher 4, through pkg-config (default elsewhere)"),
        .trait(name: "PostgreSQL", description: "objects in PostgreSQL, through libpq"),
        .trait(name: "S3", description: "objects in S3 on Linux, through AsyncHTTPClient"),
        .trait(name: "Metrics", description: "metrics of databases, through swift-metrics"),
        .trait(
            name: "Tracing", description: "spans of databases, through swift-distributed-tracing"),
    ],
    dependencies: [
        // Of one minor version, since traits, their defaults and the engine change with the next.
        .package(
            url: "https://github.com/skiptools/swift-sqlcipher", .upToNextMinor(from: "1.13.0"),
            traits: engineTraits),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.0.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        // Not fetched without the traits of the same names.
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.30.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.86.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.3.0"),
    ],
    targets: [
        .systemLibrary(
            name: "SystemSQLCipher",
            pkgConfig: "sqlcipher",
            providers: [.apt(["libsqlcipher-dev"]), .brew(["sqlcipher"])]),
        .target(
            name: "CSQLCipher",
            dependencies: [
                .product(
                    name: "SQLCipher", package: "swift-sqlcipher",
                    condition: .when(traits: ["SwiftSQLCipher"])),
                .target(name: "SystemSQLCipher", condition: .when(traits: ["SystemSQLCipher"])),
            ],
            resources: [privacy],
            linkerSettings: [.linkedLibrary("m", .when(platforms: [.linux]))]),
        .target(name: "CSecureStoragePlatform"),
        // The parts of the system that every other target needs, for this package only.
        .swift("SecureStoragePlatform", ["CSecureStoragePlatform"]),
        // Keys without databases: secret memory, places for keys, envelope encryption.
        .swift(
            "SecureKeys", platform + [crypto, cryptoExtras], resources: [privacy]),
        .swift(
            "SecureStorage",
            platform + [
                "CSQLCipher", "SecureKeys", cryptoExtras, logging,
                .product(
                    name: "CoreMetrics", package: "swift-metrics",
                    condition: .when(traits: ["Metrics"])),
                .product(
                    name: "Tracing", package: "swift-distributed-tracing",
                    condition: .when(traits: ["Tracing"])),
            ],
            resources: [privacy]),
        .swift("Vaults", platform + ["SecureKeys", "SecureStorage", crypto]),
        // Stand-ins for tests of apps that have vaults.
        .swift("VaultsTestKit", ["SecureStorage", "SecureStoragePlatform", "Vaults"]),
        // Places for ciphertext beyond this machine.
        .swift("ObjectStores", platform),
        // A database's pages in one.
        .swift(
            "SecureMirror", platform + ["ObjectStores", "SecureKeys", "SecureStorage", crypto]),
        // Tables that are equal on several devices.
        .swift(
            "SecureSync",
            platform + ["ObjectStores", "SecureKeys", "SecureStorage", crypto, logging]),
        // Objects in PostgreSQL. Without the trait it is empty, and libpq is not looked for.
        .systemLibrary(
            name: "CPostgreSQL",
            pkgConfig: "libpq",
            providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
        .swift(
            "PostgreSQLStore",
            [
                "ObjectStores", "SecureStoragePlatform", crypto,
                .target(name: "CPostgreSQL", condition: .when(traits: ["PostgreSQL"])),
            ],
            resources: [.embedInCode("schema.sql")]),
        // Objects in S3: by URLSession on Apple's platforms, elsewhere by what the trait S3 brings.
        .swift(
            "S3Store",
            [
                "ObjectStores", "SecureKeys", "SecureStoragePlatform", crypto,
                .product(
                    name: "AsyncHTTPClient", package: "async-http-client", condition: asyncHTTP),
                .product(name: "NIOCore", package: "swift-nio", condition: asyncHTTP),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: asyncHTTP),
                .product(name: "NIOPosix", package: "swift-nio", condition: asyncHTTP),
            ]),
        // What every store has to do, for those who write one, and devices for apps' tests.
        .swift("SyncTestKit", library + ["ObjectStores", "SecureSync"]),
        .target(name: "CSecureStorageTool"),
        // The program `securestorage`. Its folder is not named so: where a file system does not
        // tell capitals apart, that would be the library's.
        .program(
            "SecureStorageTool",
            beyond + [
                "CSecureStoragePlatform", "CSecureStorageTool", "S3Store",
                .target(name: "PostgreSQLStore", condition: .when(traits: ["PostgreSQL"])),
                argumentParser, logging,
            ]),
        .program(
            "Quickstart", ["SecureStorage"], path: "Examples/Quickstart",
            resources: [.copy("packages.sample")]),
        // A disk that fails when told to, for tests.
        .target(name: "FaultyDisk", dependencies: ["CSQLCipher"], path: "Tests/Support/FaultyDisk"),
        // What the tests of all products use.
        .swift("TestSupport", library + [crypto], path: "Tests/Support/TestSupport"),
        // Mirrors and groups over every store: what tests and the program that they kill have in
        // common.
        .swift(
            "StoreChecks", beyond + ["PostgreSQLStore", "S3Store", "TestSupport"],
            path: "Tests/Support/StoreChecks"),
        // Groups of devices that meet everything, from seeds, and stores that lie: thousands of the
        // simulations, and every byte of the objects, need a release build.
        .program("SyncSimulator", beyond + ["TestSupport"], path: "Tests/Programs/SyncSimulator"),
    ],
    swiftLanguageModes: [.v6]
)

// The tests that a change needs.
let coreTests: [Target] = [
    .tests("PlatformTests", platform + ["TestSupport"]),
    .tests(
        "SecureKeysTests", library + ["TestSupport", "Vaults", crypto],
        resources: [.copy("Vectors")]),
    .tests(
        "SecureStorageTests", library + ["FaultyDisk", "TestSupport", cryptoExtras],
        resources: [.copy("Fixtures")]),
    .tests("VaultsTests", library + ["TestSupport", "Vaults", "VaultsTestKit"]),
    .tests(
        "SecureSyncTests",
        beyond + ["FaultyDisk", "S3Store", "SyncTestKit", "TestSupport", "Vaults", crypto],
        exclude: [
            "S3/sign_with_botocore.py", "Vectors/README.md", "Vectors/batches.py",
            "Vectors/signatures.py",
        ],
        resources: [.copy("Vectors/batches.json"), .copy("Vectors/signatures.json")]),
]

// Tests of mirrors and groups over every store, with kills, races and cut connections.
let storeTests: [Target] = [
    .program(
        "StoreWork", beyond + ["StoreChecks", "TestSupport"], path: "Tests/Programs/StoreWork"),
    .tests("StoreTests", beyond + ["StoreChecks", "TestSupport"], path: extended),
]

// All other tests, and the programs that they start.
let extendedTests: [Target] = [
    // A program whose system calls fail one after the other; see Tests/Preload.
    .program("FaultyWork", ["SecureStorage"], path: "Tests/Programs/FaultyWork"),
    // What sync costs. Here and not in the package of the other benchmarks, since it calls what
    // other packages cannot.
    .program("SyncFigures", beyond, path: "Benchmarks/Sources/SyncFigures"),
    .tests(
        "SecureKeysExtendedTests",
        ["SecureKeys", "SecureKeysTests", "SecureStorage", "TestSupport", crypto],
        path: extended),
    .tests(
        "SecureStorageExtendedTests",
        ["FaultyDisk", "SecureStorage", "SecureStorageTests", "TestSupport", cryptoExtras],
        path: extended),
    .tests(
        "VaultsExtendedTests",
        library + ["TestSupport", "Vaults", "VaultsTestKit", "VaultsTests"], path: extended),
    .tests(
        "SecureSyncExtendedTests",
        beyond + [
            "FaultyDisk", "SecureSyncTests", "StoreChecks", "SyncTestKit", "SyncSimulator",
            "TestSupport", "Vaults", crypto,
        ],
        path: extended),
    // What the guides for those who come from elsewhere say, row by row, and real files.
    .tests(
        "MovingTests", ["SecureStorage", "TestSupport", "Vaults", "VaultsTestKit", logging],
        path: extended, exclude: ["Writers"], resources: [.copy("Fixtures")]),
    .tests(
        "ToolTests", ["SecureStorage", "SecureStorageTool", "TestSupport", argumentParser],
        path: extended, exclude: ["Fixtures/README.md"],
        resources: [.copy("Fixtures/statements.json")]),
]

// Tests of what the traits Metrics, Tracing, PostgreSQL and S3 add.
let traitTests: [Target] = [
    .tests(
        "TraitTests",
        beyond + [
            "PostgreSQLStore", "S3Store", "StoreChecks", "SyncTestKit", "TestSupport", crypto,
            .product(
                name: "CoreMetrics", package: "swift-metrics",
                condition: .when(traits: ["Metrics"])),
            .product(
                name: "MetricsTestKit", package: "swift-metrics",
                condition: .when(traits: ["Metrics"])),
            .product(
                name: "InMemoryTracing", package: "swift-distributed-tracing",
                condition: .when(traits: ["Tracing"])),
            .product(
                name: "Tracing", package: "swift-distributed-tracing",
                condition: .when(traits: ["Tracing"])),
        ],
        path: extended)
]

// SwiftPM builds all tests that a manifest declares, so most are declared where they are asked for:
// see Scripts/build-flags.
switch Context.environment["SECURESTORAGE_TESTS"] {
case "rest": package.targets += coreTests + extendedTests
case "all": package.targets += coreTests + storeTests + extendedTests
case "traits": package.targets += storeTests + traitTests
case "all+traits": package.targets += coreTests + storeTests + extendedTests + traitTests
default: package.targets += coreTests
}
