// swift-tools-version: 6.1
import PackageDescription

// A package of its own, so that neither users of the library nor its tests build swift-syntax.
let package = Package(
    name: "Mutants",
    platforms: [.macOS(.v13)],
    dependencies: [.package(url: "https://github.com/swiftlang/swift-syntax", from: "603.0.0")],
    targets: [
        .executableTarget(
            name: "Mutants",
            dependencies: [
                .product(name: "SwiftOperators", package: "swift-syntax"),
                .product(name: "SwiftParser", package: "swift-syntax"),
                .product(name: "SwiftSyntax", package: "swift-syntax"),
            ]),
        .testTarget(name: "MutantsTests", dependencies: ["Mutants"]),
    ],
    swiftLanguageModes: [.v6]
)
