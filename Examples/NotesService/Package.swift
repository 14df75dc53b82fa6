// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that users of the library never fetch an HTTP server. Hummingbird needs
// Swift 6.2.
let swiftSettings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "NotesService",
    platforms: [.macOS(.v14)],
    products: [.executable(name: "notes", targets: ["NotesService"])],
    traits: [
        .trait(name: "PostgreSQL", description: "a mirror in PostgreSQL, which needs libpq")
    ],
    dependencies: [
        .package(
            name: "SecureStorage", path: "../..",
            traits: [
                .defaults, .trait(name: "S3"),
                .trait(name: "PostgreSQL", condition: .when(traits: ["PostgreSQL"])),
            ]),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
    ],
    targets: [
        .executableTarget(
            name: "NotesService",
            dependencies: [
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "SecureKeys", package: "SecureStorage"),
                .product(name: "SecureStorage", package: "SecureStorage"),
                .product(name: "SecureMirror", package: "SecureStorage"),
                .product(name: "S3Store", package: "SecureStorage"),
                .product(
                    name: "PostgreSQLStore", package: "SecureStorage",
                    condition: .when(traits: ["PostgreSQL"])),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "NotesServiceTests",
            dependencies: [
                "NotesService",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "SecureKeys", package: "SecureStorage"),
                .product(name: "SecureStorage", package: "SecureStorage"),
                .product(name: "SecureMirror", package: "SecureStorage"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: swiftSettings),
    ],
    swiftLanguageModes: [.v6]
)
