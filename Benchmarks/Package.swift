// swift-tools-version: 6.1
import PackageDescription

// A package of its own, so that users of the library never fetch what it is compared with.
let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v13)],
    dependencies: [
        .package(name: "SecureStorage", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    ],
    targets: [
        .systemLibrary(name: "BaselineSQLCipher", pkgConfig: "sqlcipher"),
        .target(
            name: "CBaseline", dependencies: ["BaselineSQLCipher"],
            cSettings: [.unsafeFlags(["-O2"])]),
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                "CBaseline",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "SecureStorage", package: "SecureStorage"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
