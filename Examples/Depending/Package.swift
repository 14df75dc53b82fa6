// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "Notes",
    platforms: [.macOS(.v13), .iOS(.v16)],
    dependencies: [
        // The address that you cloned it from; `from: "1.0.0"` instead of the branch once that is
        // tagged.
        .package(
            url: "https://example.com/SecureStorage", branch: "main", traits: ["SwiftSQLCipher"])
    ],
    targets: [
        .executableTarget(
            name: "Notes",
            dependencies: [.product(name: "SecureStorage", package: "SecureStorage")])
    ]
)
