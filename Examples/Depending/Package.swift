// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "Notes",
    platforms: [.macOS(.v13), .iOS(.v16)],
    dependencies: [
        .package(
            url: "https://github.com/securestorage/SecureStorage", branch: "main",
            traits: ["SwiftSQLCipher"])
    ],
    targets: [
        .executableTarget(
            name: "Notes",
            dependencies: [.product(name: "SecureStorage", package: "SecureStorage")])
    ]
)
