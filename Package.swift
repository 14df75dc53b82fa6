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

let swiftSettings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

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
        .library(name: "SecureSync", targets: ["SecureSync"]),
        .library(name: "SyncPostgreSQL", targets: ["SyncPostgreSQL"]),
        .library(name: "SyncS3", targets: ["SyncS3"]),
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
            resources: [.copy("PrivacyInfo.xcprivacy")],
            linkerSettings: [.linkedLibrary("m", .when(platforms: [.linux]))]),
        .target(name: "CSecureStoragePlatform"),
        // The parts of the system that every other target needs, for this package only.
        .target(
            name: "SecureStoragePlatform",
            dependencies: ["CSecureStoragePlatform"],
            swiftSettings: swiftSettings),
        // Keys without databases: secret memory, places for keys, envelope encryption.
        .target(
            name: "SecureKeys",
            dependencies: [
                "CSecureStoragePlatform", "SecureStoragePlatform",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ],
            resources: [.copy("PrivacyInfo.xcprivacy")],
            swiftSettings: swiftSettings),
        .target(
            name: "SecureStorage",
            dependencies: [
                "CSecureStoragePlatform", "CSQLCipher", "SecureKeys", "SecureStoragePlatform",
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(
                    name: "CoreMetrics", package: "swift-metrics",
                    condition: .when(traits: ["Metrics"])),
                .product(
                    name: "Tracing", package: "swift-distributed-tracing",
                    condition: .when(traits: ["Tracing"])),
            ],
            resources: [.copy("PrivacyInfo.xcprivacy")],
            swiftSettings: swiftSettings),
        .target(
            name: "Vaults",
            dependencies: [
                "CSecureStoragePlatform", "SecureKeys", "SecureStorage", "SecureStoragePlatform",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: swiftSettings),
        // Stand-ins for tests of apps that have vaults.
        .target(
            name: "VaultsTestKit",
            dependencies: ["SecureStorage", "SecureStoragePlatform", "Vaults"],
            swiftSettings: swiftSettings),
        // Beyond one machine: stores for ciphertext, and the mirror of a file in one.
        .target(
            name: "SecureSync",
            dependencies: [
                "CSecureStoragePlatform", "SecureKeys", "SecureStorage", "SecureStoragePlatform",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: swiftSettings),
        // Objects in PostgreSQL. Without the trait it is empty, and libpq is not looked for.
        .systemLibrary(
            name: "CPostgreSQL",
            pkgConfig: "libpq",
            providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
        .target(
            name: "SyncPostgreSQL",
            dependencies: [
                "SecureStoragePlatform", "SecureSync",
                .target(name: "CPostgreSQL", condition: .when(traits: ["PostgreSQL"])),
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            resources: [.embedInCode("schema.sql")],
            swiftSettings: swiftSettings),
        // Objects in S3: by URLSession on Apple's platforms, elsewhere by what the trait S3 brings.
        .target(
            name: "SyncS3",
            dependencies: [
                "SecureKeys", "SecureStoragePlatform", "SecureSync",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(
                    name: "AsyncHTTPClient", package: "async-http-client", condition: asyncHTTP),
                .product(name: "NIOCore", package: "swift-nio", condition: asyncHTTP),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: asyncHTTP),
                .product(name: "NIOPosix", package: "swift-nio", condition: asyncHTTP),
            ],
            swiftSettings: swiftSettings),
        // What every store has to do, for those who write one, and devices for apps' tests.
        .target(
            name: "SyncTestKit",
            dependencies: ["SecureKeys", "SecureStorage", "SecureStoragePlatform", "SecureSync"],
            swiftSettings: swiftSettings),
        .target(name: "CSecureStorageTool"),
        // The program `securestorage`. Its folder is not named so: where a file system does not
        // tell capitals apart, that would be the library's.
        .executableTarget(
            name: "SecureStorageTool",
            dependencies: [
                "CSecureStoragePlatform", "CSecureStorageTool", "SecureKeys", "SecureStorage",
                "SecureStoragePlatform", "SecureSync",
                .target(name: "SyncPostgreSQL", condition: .when(traits: ["PostgreSQL"])), "SyncS3",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: swiftSettings),
        .executableTarget(
            name: "Quickstart",
            dependencies: ["SecureStorage"],
            path: "Examples/Quickstart",
            resources: [.copy("packages.sample")],
            swiftSettings: swiftSettings),
        // A disk that fails when told to, for tests.
        .target(name: "FaultyDisk", dependencies: ["CSQLCipher"], path: "Tests/FaultyDisk"),
        // What the tests of all products use.
        .target(
            name: "TestSupport",
            dependencies: [
                "SecureKeys", "SecureStorage", "SecureStoragePlatform",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            path: "Tests/Support",
            swiftSettings: swiftSettings),
        // Mirrors over every store: what tests and the program that they kill have in common.
        .target(
            name: "MirrorChecks",
            dependencies: [
                "SecureKeys", "SecureStorage", "SecureStoragePlatform", "SecureSync",
                "SyncPostgreSQL", "SyncS3", "TestSupport",
            ],
            path: "Tests/MirrorChecks",
            swiftSettings: swiftSettings),
        // Members of a group whose rows tell their causes.
        .target(
            name: "SyncChecks",
            dependencies: ["SecureKeys", "SecureStorage", "SecureSync", "TestSupport"],
            path: "Tests/SyncChecks",
            swiftSettings: swiftSettings),
        // Groups of devices that meet everything, from seeds, and stores that lie: thousands of the
        // worlds, and every byte of the objects, need a release build.
        .executableTarget(
            name: "SyncWorlds",
            dependencies: [
                "SecureKeys", "SecureStorage", "SecureStoragePlatform", "SecureSync", "TestSupport",
            ],
            path: "Tests/SyncWorlds",
            swiftSettings: swiftSettings),
    ],
    swiftLanguageModes: [.v6]
)

// The tests that a change needs.
let coreTests: [Target] = [
    .testTarget(
        name: "PlatformTests",
        dependencies: ["CSecureStoragePlatform", "SecureStoragePlatform", "TestSupport"],
        swiftSettings: swiftSettings),
    .testTarget(
        name: "SecureKeysTests",
        dependencies: [
            "SecureKeys", "SecureStorage", "TestSupport", "Vaults",
            .product(name: "Crypto", package: "swift-crypto"),
        ],
        resources: [.copy("Vectors")],
        swiftSettings: swiftSettings),
    .testTarget(
        name: "SecureStorageTests",
        dependencies: [
            "FaultyDisk", "SecureStorage", "TestSupport",
            .product(name: "CryptoExtras", package: "swift-crypto"),
        ],
        resources: [.copy("Fixtures")],
        swiftSettings: swiftSettings),
    .testTarget(
        name: "VaultsTests",
        dependencies: [
            "SecureKeys", "SecureStorage", "SecureStoragePlatform", "TestSupport", "Vaults",
            "VaultsTestKit",
        ],
        swiftSettings: swiftSettings),
    .testTarget(
        name: "SecureSyncTests",
        dependencies: [
            "FaultyDisk", "SecureKeys", "SecureStorage", "SecureStoragePlatform", "SecureSync",
            "SyncS3", "SyncTestKit", "TestSupport", "Vaults",
            .product(name: "Crypto", package: "swift-crypto"),
        ],
        exclude: [
            "S3/sign_with_botocore.py", "Vectors/README.md", "Vectors/batches.py",
            "Vectors/signatures.py",
        ],
        resources: [.copy("Vectors/batches.json"), .copy("Vectors/signatures.json")],
        swiftSettings: swiftSettings),
]

// Tests over stores, and the programs that they kill.
let storeTests: [Target] = [
    .executableTarget(
        name: "MirrorWork",
        dependencies: ["MirrorChecks", "SecureStorage", "SecureSync", "TestSupport"],
        path: "Tests/MirrorWork",
        swiftSettings: swiftSettings),
    .executableTarget(
        name: "SyncWork",
        dependencies: ["MirrorChecks", "SecureSync", "SyncChecks"],
        path: "Tests/SyncWork",
        swiftSettings: swiftSettings),
    // Mirrors and groups over every store, with kills, races and cut connections.
    .testTarget(
        name: "StoreTests",
        dependencies: [
            "MirrorChecks", "SecureKeys", "SecureStorage", "SecureStoragePlatform", "SecureSync",
            "SyncChecks", "TestSupport",
        ],
        path: "Tests/Extended/StoreTests",
        swiftSettings: swiftSettings),
]

// All other tests, and the programs that they start.
let extendedTests: [Target] = [
    // A program whose system calls fail one after the other; see Tests/FaultySystem.
    .executableTarget(
        name: "FaultyWork", dependencies: ["SecureStorage"], path: "Tests/FaultyWork",
        swiftSettings: swiftSettings),
    // What sync costs. Here and not in the package of the other benchmarks, since it calls what
    // other packages cannot.
    .executableTarget(
        name: "SyncFigures",
        dependencies: ["SecureKeys", "SecureStorage", "SecureStoragePlatform", "SecureSync"],
        path: "Benchmarks/Sources/SyncFigures",
        swiftSettings: swiftSettings),
    .testTarget(
        name: "SecureKeysExtendedTests",
        dependencies: [
            "SecureKeys", "SecureKeysTests", "SecureStorage", "TestSupport",
            .product(name: "Crypto", package: "swift-crypto"),
        ],
        path: "Tests/Extended/SecureKeysExtendedTests",
        swiftSettings: swiftSettings),
    .testTarget(
        name: "SecureStorageExtendedTests",
        dependencies: [
            "FaultyDisk", "SecureStorage", "SecureStorageTests", "TestSupport",
            .product(name: "CryptoExtras", package: "swift-crypto"),
        ],
        path: "Tests/Extended/SecureStorageExtendedTests",
        swiftSettings: swiftSettings),
    .testTarget(
        name: "VaultsExtendedTests",
        dependencies: [
            "SecureKeys", "SecureStorage", "SecureStoragePlatform", "TestSupport", "Vaults",
            "VaultsTestKit", "VaultsTests",
        ],
        path: "Tests/Extended/VaultsExtendedTests",
        swiftSettings: swiftSettings),
    .testTarget(
        name: "SecureSyncExtendedTests",
        dependencies: [
            "FaultyDisk", "MirrorChecks", "SecureKeys", "SecureStorage",
            "SecureStoragePlatform", "SecureSync", "SecureSyncTests", "SyncChecks",
            "SyncTestKit", "SyncWorlds", "TestSupport", "Vaults",
            .product(name: "Crypto", package: "swift-crypto"),
        ],
        path: "Tests/Extended/SecureSyncExtendedTests",
        swiftSettings: swiftSettings),
    // What the guides for those who come from elsewhere say, row by row, and real files.
    .testTarget(
        name: "MovingTests",
        dependencies: [
            "SecureStorage", "TestSupport", "Vaults", "VaultsTestKit",
            .product(name: "Logging", package: "swift-log"),
        ],
        path: "Tests/Extended/MovingTests",
        exclude: ["Writers"],
        resources: [.copy("Fixtures")],
        swiftSettings: swiftSettings),
    .testTarget(
        name: "ToolTests",
        dependencies: [
            "SecureStorage", "SecureStorageTool", "TestSupport",
            .product(name: "ArgumentParser", package: "swift-argument-parser"),
        ],
        path: "Tests/Extended/ToolTests",
        exclude: ["Fixtures/README.md"],
        resources: [.copy("Fixtures/statements.json")],
        swiftSettings: swiftSettings),
]

// Tests of what the traits Metrics, Tracing, PostgreSQL and S3 add.
let traitTests: [Target] = [
    .testTarget(
        name: "SyncS3Tests",
        dependencies: [
            "SecureKeys", "SecureStorage", "SecureStoragePlatform", "SecureSync", "SyncS3",
            "SyncTestKit", "TestSupport",
            .product(name: "Crypto", package: "swift-crypto"),
        ],
        path: "Tests/Extended/SyncS3Tests",
        swiftSettings: swiftSettings),
    .testTarget(
        name: "SyncPostgreSQLTests",
        dependencies: [
            "MirrorChecks", "SecureStorage", "SecureStoragePlatform", "SecureSync",
            "SyncPostgreSQL", "SyncTestKit", "TestSupport",
        ],
        path: "Tests/Extended/SyncPostgreSQLTests",
        swiftSettings: swiftSettings),
    .testTarget(
        name: "TraitTests",
        dependencies: [
            "SecureStorage", "TestSupport",
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
        path: "Tests/Extended/TraitTests",
        swiftSettings: swiftSettings),
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
