// swift-tools-version: 6.1
import PackageDescription

// A package of its own, so that this library never depends on what its guides compare it with.
let package = Package(
    name: "GRDBWriter",
    platforms: [.macOS(.v13)],
    dependencies: [.package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0")],
    targets: [
        .executableTarget(
            name: "GRDBWriter",
            dependencies: [.product(name: "GRDB", package: "GRDB.swift")],
            path: "Sources")
    ]
)
