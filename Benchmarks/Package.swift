// swift-tools-version: 6.1
import PackageDescription

// A package of its own, so that users of the library never fetch what it is compared with. Each
// side is a program of its own: SQLCipher and SQLite have the same symbols, and a process can hold
// one of them.
let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v13)],
    dependencies: [
        .package(name: "SecureStorage", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
    ],
    targets: [
        .systemLibrary(
            name: "SQLCipherLibrary", pkgConfig: "sqlcipher",
            providers: [.apt(["libsqlcipher-dev"]), .brew(["sqlcipher"])]),
        .systemLibrary(
            name: "SQLiteLibrary", pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),

        // What is measured, on all sides.
        .target(name: "Region"),

        // By hand, in C: the same code on SQLCipher and on SQLite.
        .target(name: "CWork", dependencies: ["Region"], cSettings: [.unsafeFlags(["-O2"])]),
        .executableTarget(
            name: "CWorker", dependencies: ["CWork", "SQLCipherLibrary"],
            cSettings: [.unsafeFlags(["-O2"])], linkerSettings: [.linkedLibrary("crypto")]),
        .executableTarget(name: "PlainWorker", dependencies: ["CWork", "SQLiteLibrary"]),

        // In Swift.
        .target(name: "Workers", dependencies: ["Region"]),
        .executableTarget(
            name: "OursWorker",
            dependencies: [
                "Workers", .product(name: "SecureStorage", package: "SecureStorage"),
                .product(name: "Vaults", package: "SecureStorage"),
            ]),
        .executableTarget(
            name: "GRDBWorker",
            dependencies: ["Workers", .product(name: "GRDB", package: "GRDB.swift")]),

        // What a mirror costs, which has no other side.
        .executableTarget(
            name: "MirrorFigures",
            dependencies: [
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "SecureStorage", package: "SecureStorage"),
                .product(name: "SecureMirror", package: "SecureStorage"),
            ]),
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                .product(name: "ArgumentParser", package: "swift-argument-parser")
            ]),
    ],
    swiftLanguageModes: [.v6]
)
