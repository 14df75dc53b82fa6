// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "Notebook",
    platforms: [.macOS(.v13)],
    dependencies: [
        // The address that you cloned it from.
        .package(url: "https://example.com/SecureStorage", branch: "main")
    ],
    targets: [
        .executableTarget(
            name: "Notebook",
            dependencies: [
                .product(name: "SecureStorage", package: "SecureStorage"),
                // For the fourth and the fifth tutorial.
                .product(name: "Vaults", package: "SecureStorage"),
                .product(name: "SecureSync", package: "SecureStorage"),
            ])
    ]
)
